import { allows } from './access/caller.ts'
import { unauthenticated } from './access/gate.ts'
import type { Handler } from './api.ts'
import { refusal } from './problem/problem.ts'
import type { Routing } from './routing.ts'
import type { Serving } from './serving.ts'
import type { Reply } from './wire/messages.ts'

/**
 * The paths for a supervisor: `/health` (the process answers), `/ready` (the store answers, and workers are alive if there should be some) and
 * `/metrics` (Prometheus text). On loopback alone they need no token; a server that is reached from elsewhere wants one that reads. `/health` is
 * open as long as the address is that of loopback, also behind a public name: it says nothing but that the process lives. The header `Host`
 * decides nothing, because a proxy may send any.
 */
export function addProbes(
  routing: Routing<Handler>,
  serving: Serving,
  { exposed, isReached }: { readonly exposed: boolean; readonly isReached: boolean },
): void {
  const guarded =
    (probe: () => Reply | Promise<Reply>, isClosed = isReached): Handler =>
    (_, caller) => {
      if (!isClosed) return probe()
      if (caller === undefined) throw unauthenticated('this path needs a token')
      if (!allows(caller, 'read')) throw refusal('forbidden', 'the token lacks the scope read')
      return probe()
    }
  routing.add(
    'GET',
    '/health',
    guarded(() => json({ status: 'ok' }, 200), exposed),
  )
  routing.add(
    'GET',
    '/ready',
    guarded(() => readiness(serving)),
  )
  routing.add(
    'GET',
    '/metrics',
    guarded(() => metrics(serving)),
  )
}

/** A worker that was not seen for longer is no sign of life. */
const FRESH_MS = 60_000

async function readiness({ runtime, environment }: Serving): Promise<Reply> {
  const [workers] = await Promise.all([runtime.workers(), runtime.stats()])
  const now = environment.clock.now()
  const fresh = workers.filter(({ lastSeenAt }) => now - lastSeenAt < FRESH_MS).length
  const isReady = workers.length === 0 || fresh > 0
  return json({ status: isReady ? 'ready' : 'no live worker', workers: fresh }, isReady ? 200 : 503)
}

async function metrics({ runtime, streams }: Serving): Promise<Reply> {
  const [stats, workers] = await Promise.all([runtime.stats(), runtime.workers()])
  const slots = workers.reduce((sum, { capacity }) => sum + capacity, 0)
  const lines = [
    ...gauge('agent_runtime_queue_depth', 'Tasks that are queued and due', by('lane', stats.depth)),
    ...gauge('agent_runtime_tasks_delayed', 'Tasks that are queued for later', [['', stats.delayed]]),
    ...gauge('agent_runtime_tasks_running', 'Tasks that run', [['', stats.running]]),
    ...gauge('agent_runtime_tasks_waiting', 'Tasks that wait for something', [['', stats.waiting]]),
    ...gauge('agent_runtime_worker_slots', 'Slots of all registered workers', [['', slots]]),
    ...gauge('agent_runtime_http_streams', 'Open streams and long polls of this server', [
      ['', streams.size],
    ]),
    ...counter(
      'agent_runtime_tasks_total',
      'Tasks since the store was made',
      by('became', { ...stats.totals }),
    ),
    ...counter('agent_runtime_stale_writes_total', 'Writes refused because their lease was over', [
      ['', stats.staleWrites],
    ]),
    ...counter('agent_runtime_commits_total', 'Commits of the store', [['', stats.commits]]),
  ]
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: `${lines.join('\n')}\n`,
  }
}

type Sample = readonly [labels: string, value: number]

function by(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => [`{${label}="${name}"}`, value])
}

function gauge(name: string, help: string, samples: readonly Sample[]): string[] {
  return series(name, 'gauge', help, samples)
}

function counter(name: string, help: string, samples: readonly Sample[]): string[] {
  return series(name, 'counter', help, samples)
}

function series(name: string, type: string, help: string, samples: readonly Sample[]): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels} ${value}`),
  ]
}

function json(body: object, status: number): Reply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
