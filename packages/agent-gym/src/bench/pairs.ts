import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { medianOf, round } from '../measure/statistics.ts'

/** One measured run: its rate, and what processor time it took, the store's thread included. */
export interface Run {
  readonly perSec: number
  readonly cpuMs: number
}

/** Two runs, one right after the other: whatever else the machine does slows both. */
export interface Pair {
  /** With what is measured, and without. */
  readonly on: Run
  readonly off: Run
}

/** With divided by without: the median of the pairs, and between which two values the true one lies, 95 times of 100. */
export interface Share {
  readonly median: number
  readonly low: number
  readonly high: number
}

export interface Cost {
  readonly rate: Share
  readonly cpu: Share
  /** The median rates with and without. */
  readonly perSec: readonly [on: number, off: number]
  readonly met: boolean
}

/** `leastShare`: what has to be left of the rate; `mostCpu`: the most that the processor time may grow to. */
export function costOf(pairs: readonly Pair[], leastShare: number, mostCpu = Number.POSITIVE_INFINITY): Cost {
  const rate = shareOf(pairs.map(({ on, off }) => on.perSec / off.perSec))
  const cpu = shareOf(pairs.map(({ on, off }) => on.cpuMs / off.cpuMs))
  const medianRate = (runs: readonly Run[]) => Math.round(medianOf(runs.map((it) => it.perSec)) ?? Number.NaN)
  const perSec = [medianRate(pairs.map(({ on }) => on)), medianRate(pairs.map(({ off }) => off))] as const
  return { rate, cpu, perSec, met: rate.median >= leastShare && cpu.median <= mostCpu }
}

/**
 * Runs with and without in turn; which one of a pair is first changes as well, so that a machine that slows down favours neither.
 * Each run has a new file, synced at every commit, and a store in a thread of its own.
 */
export async function measurePairs(
  pairs: number,
  run: (on: boolean, file: string) => Promise<Run>,
  signal: AbortSignal,
  onPair: (pair: Pair, number: number) => void,
): Promise<readonly Pair[]> {
  const folder = mkdtempSync(join(tmpdir(), `gym-cost-${process.pid}-`))
  const runNext = async (on: boolean) => {
    signal.throwIfAborted()
    const place = mkdtempSync(join(folder, 'run-'))
    try {
      return await run(on, join(place, 'runtime.db'))
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  }
  try {
    // The first runs compile the code, and count for nobody.
    for (const on of [true, false, false, true]) await runNext(on)
    const measured: Pair[] = []
    for (let number = 1; number <= pairs; number += 1) {
      const onFirst = number % 2 === 1
      const first = await runNext(onFirst)
      const second = await runNext(!onFirst)
      const pair = onFirst ? { on: first, off: second } : { on: second, off: first }
      measured.push(pair)
      onPair(pair, number)
    }
    return measured
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Measures `work`, which does `count` of something. */
export async function timed(count: number, work: () => Promise<unknown>): Promise<Run> {
  const cpu = process.cpuUsage()
  const began = performance.now()
  await work()
  const tookMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  return { perSec: (count * 1000) / tookMs, cpuMs: (user + system) / 1000 }
}

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
