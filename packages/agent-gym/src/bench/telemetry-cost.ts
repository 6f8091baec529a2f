import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import { medianOf, round } from '../measure/statistics.ts'

/** The least share of the rate without telemetry that is left with it, while no SDK is registered. */
export const leastShare = 0.98

/** One drain: its rate, and what processor time it took, the store's thread included. */
interface Drain {
  readonly perSec: number
  readonly cpuMs: number
}

/** Two drains, one right after the other: whatever else the machine does slows both. */
export interface Pair {
  readonly on: Drain
  readonly off: Drain
}

/** With telemetry divided by without: the median of the pairs, and between which two values the true one lies, 95 times of 100. */
export interface Share {
  readonly median: number
  readonly low: number
  readonly high: number
}

export interface Cost {
  readonly rate: Share
  readonly cpu: Share
  readonly met: boolean
}

export function costOf(pairs: readonly Pair[]): Cost {
  const rate = shareOf(pairs.map(({ on, off }) => on.perSec / off.perSec))
  const cpu = shareOf(pairs.map(({ on, off }) => on.cpuMs / off.cpuMs))
  return { rate, cpu, met: rate.median >= leastShare }
}

/**
 * Drains tasks that do nothing, with telemetry and without in turn; which one of a pair is first changes as well, so that a machine
 * that slows down favours neither. Each drain has a new file, synced at every commit, and a store in a thread of its own.
 */
export async function measurePairs(
  pairs: number,
  tasks: number,
  signal: AbortSignal,
  onPair: (pair: Pair, number: number) => void,
): Promise<readonly Pair[]> {
  const folder = mkdtempSync(join(tmpdir(), `gym-cost-${process.pid}-`))
  const drainNext = async (telemetry: boolean) => {
    signal.throwIfAborted()
    return drain(folder, tasks, telemetry)
  }
  try {
    // The first drains compile the code, and count for nobody.
    for (const telemetry of [true, false, false, true]) await drainNext(telemetry)
    const measured: Pair[] = []
    for (let number = 1; number <= pairs; number += 1) {
      const onFirst = number % 2 === 1
      const first = await drainNext(onFirst)
      const second = await drainNext(!onFirst)
      const pair = onFirst ? { on: first, off: second } : { on: second, off: first }
      measured.push(pair)
      onPair(pair, number)
    }
    return measured
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** From the start of the workers to the last task's handler: nothing listens, as that would cost more than what is measured. */
async function drain(folder: string, tasks: number, telemetry: boolean): Promise<Drain> {
  const place = mkdtempSync(join(folder, 'drain-'))
  const drained = Promise.withResolvers<void>()
  let left = tasks
  const noOp = defineTask({ type: 'no-op', input: z.object({}) }, () => {
    left -= 1
    if (left === 0) drained.resolve()
    return null
  })
  const runtime = await createRuntime({
    store: `sqlite:${join(place, 'runtime.db')}`,
    tasks: [noOp],
    config: { maxInFlightPerWorker: capacity, queueDepthLimit: tasks, batchBackpressureThreshold: tasks },
    workers: { count: 1, capacity },
    start: false,
    onFailure: drained.reject,
    ...(telemetry ? {} : { telemetry: false }),
  })
  try {
    await runtime.submitMany(Array.from({ length: tasks }, () => ({ task: noOp, input: {} })))
    const cpu = process.cpuUsage()
    const began = performance.now()
    await runtime.start()
    await drained.promise
    const tookMs = performance.now() - began
    const { user, system } = process.cpuUsage(cpu)
    return { perSec: (tasks * 1000) / tookMs, cpuMs: (user + system) / 1000 }
  } finally {
    await runtime.stop()
    rmSync(place, { recursive: true, force: true })
  }
}

const capacity = 200

/** The median, and the values whose ranks bound it by the binomial distribution. */
function shareOf(ratios: readonly number[]): Share {
  const sorted = ratios.toSorted((a, b) => a - b)
  const reach = 0.98 * Math.sqrt(sorted.length)
  const at = (rank: number) => round(sorted[Math.min(Math.max(rank, 0), sorted.length - 1)] ?? Number.NaN)
  return {
    median: round(medianOf(sorted) ?? Number.NaN),
    low: at(Math.floor(sorted.length / 2 - reach) - 1),
    high: at(Math.ceil(sorted.length / 2 + reach)),
  }
}
