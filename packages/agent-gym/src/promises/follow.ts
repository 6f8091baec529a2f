import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type RuntimeEvent } from '@ku0/agent-runtime'
import { isFinal } from '@ku0/agent-runtime-core'
import { startProgram } from '../host/program.ts'
import { seededRandom } from '../work/random.ts'
import type { Figure, Measured } from './figures.ts'
import type { Means } from './scenario-runs.ts'

/** Each so many reconnects the reader closes its store, too, and opens it anew. */
const perRuntime = 10
/** What the reader waits for at most: an event that never comes is one that is missing. */
const patienceMs = 60_000

/** An event as its reader was given it. */
export type Seen = Pick<RuntimeEvent, 'seq' | 'type' | 'hash'>

/**
 * Follows the events of a task in another process while it writes them, and leaves and comes back after the last one it has seen, so often, at
 * moments drawn from the seed. Source: `docs/semantics.md` 9.1, 9.2.
 */
export async function measureFollowing(reconnects: number, means: Means): Promise<Measured> {
  const random = seededRandom(means.seed, 'reconnects')
  const folder = mkdtempSync(join(tmpdir(), 'gym-follow-'))
  const store = `sqlite:${folder}/runtime.db`
  const writer = startProgram('@ku0/agent-gym/writer', [store], means)
  const open = () => createRuntime({ store, tasks: [], workers: 0, logger: false })
  const signal = AbortSignal.any([means.signal, AbortSignal.timeout(patienceMs + reconnects * 500)])
  const seen: Seen[] = []
  let runtime: Awaited<ReturnType<typeof open>> | undefined
  try {
    const taskId = (await writer.said('task ')).slice('task '.length)
    runtime = await open()
    // Its queueing and its start, then what it is told to write.
    let written = 2
    let live = 0
    for (let n = 0; n < reconnects; n += 1) {
      const more = random.int(1, 20)
      written += more
      writer.tell(String(more))
      if (n % perRuntime === perRuntime - 1) {
        await runtime.stop()
        runtime = await open()
      }
      let left = random.int(1, Math.max(1, written - (seen.at(-1)?.seq ?? 0)))
      const { state } = (await runtime.status(taskId)) ?? {}
      if (state !== undefined && !isFinal(state)) live += 1
      for await (const event of runtime.events(taskId, { after: seen.at(-1)?.seq ?? 0, signal })) {
        seen.push(event)
        left -= 1
        if (left === 0) break
      }
    }
    writer.tell('end')
    for await (const event of runtime.events(taskId, { after: seen.at(-1)?.seq ?? 0, signal }))
      seen.push(event)
    await writer.succeeded()
    const stored: Seen[] = []
    for await (const event of runtime.events(taskId)) stored.push(event)
    return judgeFollowing({ reconnects, live, seen, stored })
  } finally {
    await runtime?.stop()
    writer.signal('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Holds what a reader was given against what is stored. */
export function judgeFollowing({
  reconnects,
  live,
  seen,
  stored,
}: {
  readonly reconnects: number
  /** Reconnects at which the task was not over. */
  readonly live: number
  readonly seen: readonly Seen[]
  readonly stored: readonly Seen[]
}): Measured {
  const given = new Map(seen.map((event) => [event.seq, event]))
  const last = stored.at(-1)
  const count = (what: string, value: number, equals?: number): Figure => ({
    what,
    value,
    unit: '',
    ...(equals !== undefined && { bar: { equals } }),
  })
  return {
    promise: 'R9 following',
    figures: [
      count('reconnects while the task was not over', live, reconnects),
      count('events stored', stored.length),
      count('numbers left out of them', (last?.seq ?? 0) - stored.length, 0),
      count('events that the reader was not given', stored.filter(({ seq }) => !given.has(seq)).length, 0),
      count('events that it was given again', seen.length - given.size, 0),
      count(
        'events that it was given out of their order',
        seen.filter(({ seq }, i) => seq < (seen[i - 1]?.seq ?? 0)).length,
        0,
      ),
      count(
        'events that it was given otherwise than they are stored',
        stored.filter(({ seq, type, hash }) => {
          const event = given.get(seq)
          return event !== undefined && (event.type !== type || event.hash !== hash)
        }).length,
        0,
      ),
    ],
    faults: last?.type === 'task.completed' ? [] : [`the last event that is stored is ${last?.type}`],
  }
}
