import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, definePipeline, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import { medianOf } from '../measure/statistics.ts'

/** The promises of a pipeline that a machine can keep or not. Source: `docs/pipelines.md`, How fast it is. */
export const streamBars = {
  /** Events that go through three stages in a second, at the least. */
  perSec: 5_000,
  /** The memory with all events, divided by that with a fifth of them, at the most. */
  growth: 1.25,
  /** Until a stage has the first event, at the most; ms. */
  startMs: 20,
} as const

/** What was measured. */
export interface StreamFigures {
  readonly perSec: number
  /** The most memory that a process had, in MB: one with a fifth of the events, and one with all. */
  readonly fifthMb: number
  readonly allMb: number
  /** Medians from the call of `publish` to the event in the handler: of a stage that holds its slot, and of one that waits without. */
  readonly readyMs: number
  readonly waitingMs: number
}

/** Streams a fifth of so many events, and then all of them; then one event at a time, `rounds` times each way. */
export async function measureStreams(
  events: number,
  rounds: number,
  signal: AbortSignal,
): Promise<StreamFigures> {
  const folder = mkdtempSync(join(tmpdir(), `gym-streams-${process.pid}-`))
  try {
    signal.throwIfAborted()
    const fifth = await streamed(join(folder, 'fifth.db'), Math.ceil(events / 5), signal)
    const all = await streamed(join(folder, 'all.db'), events, signal)
    const readyMs = await firstEvents(join(folder, 'ready.db'), rounds, 20, signal)
    const waitingMs = await firstEvents(join(folder, 'waiting.db'), rounds, 300, signal)
    return { perSec: all.perSec, fifthMb: fifth.mb, allMb: all.mb, readyMs, waitingMs }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In a process of its own: the heap of one that has streamed before has room for garbage already. */
async function streamed(
  file: string,
  events: number,
  signal: AbortSignal,
): Promise<{ readonly perSec: number; readonly mb: number }> {
  const child = fork(join(import.meta.dirname, 'streamed.ts'), [file, String(events)], { signal })
  let figures: { readonly perSec: number; readonly mb: number } | undefined
  child.once('message', (message) => {
    figures = message as typeof figures
  })
  await Promise.all([once(child, 'disconnect', { signal }), once(child, 'exit', { signal })])
  if (figures === undefined) throw new Error(`streamed.ts has ended with ${child.exitCode}`)
  return figures
}

/** `afterMs`: the stage before publishes so long after its start. A stage holds its slot for 50 ms. */
async function firstEvents(
  file: string,
  rounds: number,
  afterMs: number,
  signal: AbortSignal,
): Promise<number> {
  const took: number[] = []
  // Of each round when it called `publish`: the step before it takes a commit of its own, which is not part of that.
  const calledAt = new Map<number, number>()
  const Moment = z.object({ round: z.int() })
  const says = defineTask({ type: 'says', input: Moment }, async (ctx, moment) => {
    await ctx.step('wait', () => new Promise<void>((resolve) => setTimeout(resolve, afterMs)))
    calledAt.set(moment.round, performance.now())
    await ctx.publish('moment', moment)
  })
  const hears = defineTask({ type: 'hears', input: z.undefined() }, async (ctx) => {
    for (;;) {
      const [event] = await ctx.receive({ moment: Moment })
      if (event === undefined) return
      const began = calledAt.get(event.data.round)
      // A later pass gets it again.
      calledAt.delete(event.data.round)
      if (began !== undefined) took.push(performance.now() - began)
    }
  })
  const pipeline = definePipeline({
    name: 'moments',
    input: Moment,
    stages: [
      { name: 'says', task: says, input: (moment) => moment, publishes: { moment: Moment } },
      { name: 'hears', task: hears, subscribes: ['moment'] },
    ],
  })
  await using runtime = await createRuntime({
    store: `sqlite:${file}`,
    tasks: [pipeline, says, hears],
    logger: false,
    telemetry: false,
    strict: false,
  })
  for (let round = 1; round <= rounds; round += 1) {
    signal.throwIfAborted()
    await runtime.result(await runtime.submit(pipeline, { round }))
  }
  return medianOf(took) ?? Number.NaN
}
