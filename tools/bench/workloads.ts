import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { arrivals } from './arrivals.ts'
import { clock, type Figures } from './run/messages.ts'
import type { Run } from './runs.ts'
import { median } from './statistics.ts'
import type { System } from './registry.ts'

/** A thing that is measured, for each system that can do it. */
export interface Workload {
  readonly id: string
  /** Which systems it makes no sense for, and why. */
  readonly leavesOut: (system: System) => string | undefined
  /** How often it is run at most, whatever the number of rounds. */
  readonly rounds?: number
  readonly run: (run: Run) => Promise<Figures>
}

export interface Sizes {
  readonly drains: readonly number[]
  readonly steps: readonly (readonly [tasks: number, steps: number])[]
  readonly growth: readonly number[]
  /** How many tasks are picked up when nothing else is to be done: enough for a 99th percentile. */
  readonly pickUps: number
  /** The same beside others. */
  readonly pickUpsAmong: number
  readonly starts: number
  /** How many tasks run while others are picked up. */
  readonly others: number
  /** How many tasks wait. */
  readonly waiting: number
  /** How many of them are woken. */
  readonly wakes: number
  /** How long they may take to come to their waits, and how long they then just wait. */
  readonly waitFillMs: number
  readonly waitIdleMs: number
  /** How much of the replayed minute is played. */
  readonly replaySeconds: number
  /** How long the measured part of one process may take. */
  readonly limitMs: number
  readonly submitMs: number
}

export const whole: Sizes = {
  drains: [20_000, 100_000],
  steps: [
    [200, 10],
    [2_000, 10],
  ],
  growth: [1_000, 10_000, 100_000, 1_000_000],
  pickUps: 1_000,
  pickUpsAmong: 200,
  starts: 5,
  others: 1_000,
  waiting: 100_000,
  wakes: 5_000,
  waitFillMs: 30_000,
  waitIdleMs: 5_000,
  replaySeconds: 60,
  limitMs: 20_000,
  submitMs: 6_000,
}

export const quick: Sizes = {
  drains: [5_000],
  steps: [[200, 10]],
  growth: [1_000, 10_000],
  pickUps: 50,
  pickUpsAmong: 50,
  starts: 2,
  others: 200,
  waiting: 1_000,
  wakes: 200,
  waitFillMs: 5_000,
  waitIdleMs: 1_000,
  replaySeconds: 5,
  limitMs: 10_000,
  submitMs: 1_500,
}

const all = () => undefined
const fillLimitMs = 60_000

export function workloads(sizes: Sizes): readonly Workload[] {
  const { limitMs } = sizes
  return [
    { id: 'submit', leavesOut: all, run: (run) => run.measure({ role: 'submit', limitMs: sizes.submitMs }) },
    ...sizes.drains.map((count) => ({
      id: `drain-${count}`,
      leavesOut: (system: System) =>
        count > 20_000 && system.batch === undefined ? 'it has no call that submits many at once' : undefined,
      run: (run: Run) => filledAndDrained(run, { count, steps: 0, limitMs }),
    })),
    ...sizes.steps.map(([count, steps]) => ({
      id: `steps-${count}x${steps}`,
      leavesOut: ({ steps: has }: System) => (has ? undefined : 'it has no durable steps'),
      run: (run: Run) => filledAndDrained(run, { count, steps, atOnce: 20, limitMs }),
    })),
    {
      id: 'pick-up',
      leavesOut: ({ kind }) => (kind === 'limit' ? 'it does not wait' : undefined),
      run: (run) => run.measure({ role: 'pick-up', warmUp: 50, count: sizes.pickUps, limitMs }),
    },
    {
      id: 'pick-up-across',
      leavesOut: ({ kind }) => (kind === 'limit' ? 'it does not wait' : undefined),
      run: (run) => acrossProcesses(run, sizes.pickUps, limitMs),
    },
    {
      id: 'pick-up-busy',
      leavesOut: ({ kind }) => (kind === 'limit' ? 'it does not wait' : undefined),
      rounds: 1,
      run: (run) => run.measure({ role: 'among', others: sizes.others, count: sizes.pickUpsAmong, limitMs }),
    },
    {
      id: `waiting-${sizes.waiting}`,
      leavesOut: ({ waits }) => (waits === true ? undefined : waits),
      rounds: 1,
      run: (run) => waited(run, sizes),
    },
    {
      id: 'replay',
      leavesOut: ({ lanes }) => (lanes === true ? undefined : 'no priorities are set up for it'),
      rounds: 1,
      run: (run) => replayed(run, sizes.replaySeconds),
    },
    { id: 'recovery', leavesOut: ({ recovery }) => recovery, run: (run) => recovered(run) },
    {
      id: 'start',
      leavesOut: ({ kind }) => (kind === 'limit' ? 'it is no program' : undefined),
      run: (run) => started(run, sizes.starts),
    },
    {
      id: 'growth',
      leavesOut: ({ batch, kind }) =>
        batch === undefined
          ? 'it has no call that submits many at once'
          : kind === 'limit'
            ? 'it is no program'
            : undefined,
      rounds: 1,
      run: (run) => grown(run, sizes.growth, limitMs),
    },
  ]
}

/** Four workers of capacity 16 serve a minute of requests. */
async function replayed(run: Run, seconds: number): Promise<Figures> {
  const file = join(run.folder, 'requests.json')
  const { isRecorded, requests } = arrivals(seconds)
  writeFileSync(file, JSON.stringify(requests))
  const figures = await run.measure({
    role: 'replay',
    requests: file,
    workers: 4,
    atOnce: 16,
    limitMs: 30_000,
  })
  return { ...figures, requests: requests.length, isRecorded: Number(isRecorded) }
}

interface Drain {
  readonly count: number
  readonly steps: number
  readonly atOnce?: number
  readonly limitMs: number
}

async function filledAndDrained(run: Run, { count, ...rest }: Drain): Promise<Figures> {
  if (run.system.runsOnSubmit !== true) await fill(run, 0, count)
  const figures = await run.measure({ role: 'drain', count, among: count, ...rest })
  const { cpuSeconds, handled } = figures
  if (cpuSeconds === undefined || handled === undefined) throw new Error('the process measured nothing')
  return { ...figures, cpuPer10000: (cpuSeconds / handled) * 10_000 }
}

async function fill(run: Run, from: number, count: number): Promise<void> {
  const { filled } = await run.begin({ role: 'fill', from, count, limitMs: fillLimitMs }).result
  if (filled === undefined || filled < count)
    throw new Error(`only ${filled} of ${count} tasks were submitted within ${fillLimitMs / 1000} s`)
}

async function acrossProcesses(run: Run, count: number, limitMs: number): Promise<Figures> {
  const worker = run.begin({ role: 'worker' })
  await worker.heard(({ said }) => said === 'ready')
  const submitter = run.begin({ role: 'submitter', warmUp: 50, count, limitMs })
  worker.hear((said) => {
    if (said.said === 'began' && submitter.child.connected) submitter.child.send(said)
  })
  const figures = await submitter.result
  worker.child.send('stop')
  await worker.result
  return figures
}

/** Twenty tasks are running when their process is killed, and the next process starts at once. */
async function recovered(run: Run): Promise<Figures> {
  const count = 20
  const begun = new Set<number>()
  const first = run.begin({ role: 'hang', count })
  await first.heard((said) => {
    if (said.said === 'began') begun.add(said.task)
    return begun.size === count
  })
  await first.kill()
  const killedAt = clock()
  const next = run.begin({ role: 'begin', count, submits: false, limitMs: 60_000 })
  const times: number[] = []
  next.hear((said) => {
    if (said.said === 'began') times.push(said.at - killedAt)
  })
  await next.result
  if (times.length < count) throw new Error(`${times.length} of ${count} tasks ran again within 60 s`)
  return { firstMs: Math.min(...times), allMs: Math.max(...times) }
}

/** From the start of a process to its first handler, on data that is there. */
async function started(run: Run, times: number): Promise<Figures> {
  const took: number[] = []
  const submits = run.system.runsOnSubmit === true
  for (let n = 0; n < times; n += 1) {
    if (!submits) await fill(run, 0, 1)
    const at = clock()
    const process = run.begin({ role: 'begin', count: 1, submits, limitMs: 20_000 })
    process.hear((said) => {
      if (said.said === 'began') took.push(said.at - at)
    })
    await process.result
    if (took.length <= n) throw new Error('no handler began within 20 s')
  }
  return { startMs: median(took) }
}

/** Tasks that wait in their handlers, and then a process that starts beside those of them that were not woken. */
async function waited(run: Run, sizes: Sizes): Promise<Figures> {
  const { waiting: count, wakes, waitFillMs: fillMs, waitIdleMs: idleMs, pickUps } = sizes
  const limitMs = sizes.limitMs / 2
  const before = run.storeBytes()
  const figures = await run.begin({ role: 'wait', count, wakes, fillMs, idleMs, pickUps, limitMs }).result
  const storeBytes = (run.storeBytes() - before) / (figures['waiting'] ?? Number.NaN)
  // A number that nothing had yet.
  const task = 2 * count
  const submits = run.system.runsOnSubmit === true
  if (!submits) await fill(run, task, 1)
  const at = clock()
  const next = run.begin({ role: 'beside', count, task, submits, limitMs: sizes.limitMs })
  let startMs = Number.NaN
  next.hear((said) => {
    if (said.said === 'began') startMs = said.at - at
  })
  await next.result
  return { ...figures, storeBytes, ...(Number.isNaN(startMs) ? {} : { startMs }) }
}

/** What the first tasks take with ever more of them in the queue. */
async function grown(run: Run, sizes: readonly number[], limitMs: number): Promise<Figures> {
  const figures: Record<string, number> = {}
  const among = 2 * Math.max(...sizes)
  let next = 0
  let queued = 0
  for (const size of sizes) {
    const count = Math.min(5_000, size)
    await fill(run, next, size - queued)
    const drained = await run.measure({ role: 'drain', count, among, steps: 0, limitMs })
    next += size - queued
    // What was running when the drain ended is gone, too: a batch at most.
    queued = size - count
    figures[`perSecondAt${size}`] = drained['perSecondWorking'] ?? Number.NaN
  }
  return figures
}
