// Measures remote workers over one line: a server in one process, a worker in another, both on this machine.
//
//   node tools/bench/remote.ts [--only steps,pick-up,idle] [--rounds 3] [--steps 500] [--tasks 20] [--lines 200] [--local]
//
// `steps`: tasks at once, each with so many durable steps. `pick-up`: from the call of submit over the line to the handler. `idle`: what
// the server needs for processes that wait for work. `--local` runs the same handlers in a process that has the store itself.
// The store is SQLite with durability `full`.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type * as Runtime from '../../packages/agent-runtime/src/index.ts'
import type * as Persistence from '../../packages/agent-runtime-persistence/src/index.ts'
import type * as Server from '../../packages/agent-runtime-server/src/index.ts'
import { Processes } from './run/processes.ts'
import { median } from './statistics.ts'
import { anyNumber, sourcesOf } from './sources.ts'

type Asked =
  | { readonly ask: 'steps'; readonly tasks: number; readonly steps: number }
  | { readonly ask: 'pick-up'; readonly times: number }
  | { readonly ask: 'cpu' }
type Said =
  | { readonly url: string }
  | { readonly ready: true }
  | { readonly perSecond: number }
  | { readonly waitsMs: readonly number[] }

const CAPACITY = 20
const config = {
  queueDepthLimit: 10_000_000,
  batchBackpressureThreshold: 10_000_000,
  maxInFlightPerWorker: CAPACITY,
}
const [role, place = '', more = ''] = process.argv.slice(2)
// A measurement that fails leaves no process behind.
if (process.send !== undefined) process.once('disconnect', () => process.exit(1))
if (role === 'server') await beServer(place)
else if (role === 'worker') await beWorker(place)
else if (role === 'idle') await beIdle(place, Number(more))
else await measure()

function say(said: Said): void {
  process.send?.(said)
}

async function beServer(path: string): Promise<void> {
  const { createClient } = await sourcesOf<typeof Runtime>('agent-runtime')
  const { openStore } = await sourcesOf<typeof Persistence>('agent-runtime-persistence')
  const { serve } = await sourcesOf<typeof Server>('agent-runtime-server')
  const store = await openStore(path, { lines: true, config })
  const client = await createClient({ store, logger: false })
  const { url } = await serve(client, { port: 0, remoteWorkers: store })
  say({ url })
}

async function beWorker(store: string): Promise<void> {
  const { createRuntime, defineTask } = await sourcesOf<typeof Runtime>('agent-runtime')
  let onStart: (() => void) | undefined
  const runtime = await createRuntime({
    store,
    tasks: [
      defineTask({ type: 'steps', input: anyNumber }, async (ctx, steps) => {
        for (let n = 0; n < Number(steps); n += 1) await ctx.step(`step ${n}`, () => n)
      }),
      defineTask({ type: 'start', input: anyNumber }, () => {
        onStart?.()
      }),
    ],
    config,
    workers: { count: 1, capacity: CAPACITY },
    logger: false,
    strict: false,
    telemetry: false,
  })
  process.on('message', (asked: Asked) => {
    if (asked.ask === 'steps') void runSteps(asked)
    if (asked.ask === 'pick-up') void pickUp(asked)
  })
  say({ ready: true })

  async function runSteps({ tasks, steps }: Asked & { readonly ask: 'steps' }): Promise<void> {
    const at = performance.now()
    const all = await runtime.submitMany(
      Array.from({ length: tasks }, () => ({ task: 'steps', input: steps })),
    )
    await Promise.all(all.map(async (task) => runtime.result(task)))
    say({ perSecond: (tasks * steps) / ((performance.now() - at) / 1_000) })
  }

  async function pickUp({ times }: Asked & { readonly ask: 'pick-up' }): Promise<void> {
    const waitsMs: number[] = []
    for (let n = 0; n < times; n += 1) {
      const begun = new Promise<void>((resolve) => void (onStart = resolve))
      const at = performance.now()
      const task = await Promise.all([
        runtime.submit('start', 0),
        begun.then(() => waitsMs.push(performance.now() - at)),
      ])
      await runtime.result(task[0])
      await sleep(5)
    }
    say({ waitsMs })
  }
}

/** So many lines in this process, each with a runtime of its own that waits for work. */
async function beIdle(store: string, lines: number): Promise<void> {
  const { createWorker, defineTask } = await sourcesOf<typeof Runtime>('agent-runtime')
  for (let n = 0; n < lines; n += 1)
    await createWorker({
      store,
      tasks: [defineTask({ type: 'idle', input: anyNumber }, () => null)],
      logger: false,
      telemetry: false,
    })
  say({ ready: true })
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: 'steps,pick-up,idle' },
      rounds: { type: 'string', default: '3' },
      steps: { type: 'string', default: '500' },
      tasks: { type: 'string', default: '20' },
      lines: { type: 'string', default: '200' },
      local: { type: 'boolean', default: false },
    },
  })
  const only = values.only.split(',')
  const home = mkdtempSync(join(tmpdir(), 'bench-remote-'))
  const found = { perSecond: [] as number[], waitsMs: [] as number[] }
  try {
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const folder = join(home, String(round))
      mkdirSync(folder)
      const store = `sqlite:${join(folder, 'it.db')}`
      const server = values.local ? undefined : await started('server', store)
      const worker = await started('worker', server?.url ?? store)
      const children = [...(server === undefined ? [] : [server.child]), worker.child]
      const cpu = () => children.map(({ pid }) => new Processes(pid as number).cpuSeconds())
      try {
        if (only.includes('steps')) {
          const job = { ask: 'steps', tasks: Number(values.tasks), steps: Number(values.steps) } as const
          await askOf(worker.child, { ...job, steps: Math.min(job.steps, 250) })
          const before = cpu()
          const { perSecond } = (await askOf(worker.child, job)) as { readonly perSecond: number }
          const spent = cpu().map((it, n) =>
            (((it - (before[n] ?? 0)) / (job.tasks * job.steps)) * 10_000).toFixed(2),
          )
          found.perSecond.push(perSecond)
          console.log(
            `steps: ${Math.round(perSecond)} a second; CPU s of 10 000: ${spent.join(' and ')}; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
          )
        }
        if (only.includes('pick-up')) {
          await askOf(worker.child, { ask: 'pick-up', times: 50 })
          const { waitsMs } = (await askOf(worker.child, { ask: 'pick-up', times: 200 })) as {
            readonly waitsMs: readonly number[]
          }
          found.waitsMs.push(...waitsMs)
          console.log(
            `pick-up: p50 ${quantile(waitsMs, 0.5)} ms, p99 ${quantile(waitsMs, 0.99)} ms; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
          )
        }
      } finally {
        for (const child of children) await ended(child)
      }
    }
    if (only.includes('idle')) await measureIdle(`sqlite:${join(home, 'idle.db')}`, Number(values.lines))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
  if (found.perSecond.length > 0)
    console.log(`steps, median: ${Math.round(median(found.perSecond))} a second`)
  if (found.waitsMs.length > 0)
    console.log(
      `pick-up, all: p50 ${quantile(found.waitsMs, 0.5)} ms, p99 ${quantile(found.waitsMs, 0.99)} ms`,
    )
}

async function measureIdle(store: string, lines: number): Promise<void> {
  const server = await started('server', store)
  const workers = await Promise.all(
    Array.from({ length: 4 }, async () => started('idle', server.url ?? '', String(lines / 4))),
  )
  try {
    await sleep(5_000)
    const of = new Processes(server.child.pid as number)
    const [before, at] = [of.cpuSeconds(), performance.now()]
    await sleep(20_000)
    const share = ((of.cpuSeconds() - before) / ((performance.now() - at) / 1_000)) * 100
    console.log(
      `idle: ${lines} processes cost the server ${share.toFixed(1)} % of a core and ${Math.round(of.memoryMiB())} MiB`,
    )
  } finally {
    for (const { child } of [...workers, server]) await ended(child)
  }
}

async function started(
  ...args: readonly string[]
): Promise<{ readonly child: ChildProcess; readonly url: string | undefined }> {
  const child = fork(import.meta.filename, args, { env: { ...process.env, NODE_NO_WARNINGS: '1' } })
  const said = (await answered(child)) as { readonly url?: string }
  return { child, url: said.url }
}

async function askOf(child: ChildProcess, it: Asked): Promise<Said> {
  const said = answered(child)
  child.send(it)
  return said
}

async function answered(child: ChildProcess): Promise<Said> {
  const over = new AbortController()
  try {
    const [said] = (await Promise.race([
      once(child, 'message', { signal: over.signal }),
      once(child, 'exit', { signal: over.signal }).then(() => Promise.reject(new Error('a process ended'))),
    ])) as [Said]
    return said
  } finally {
    over.abort()
  }
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

function quantile(values: readonly number[], share: number): string {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(1)
}
