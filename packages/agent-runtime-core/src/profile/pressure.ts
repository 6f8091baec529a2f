import type { WorkTelemetry } from './profile.ts'
import type { ProfileConfig } from './schema.ts'

/** How far work is from what its profile expects, in each dimension: 0 as expected, towards 1 far above it, below 0 under it. */
export interface PressureVector {
  readonly latency: number
  readonly compute: number
  readonly memory: number
}

/**
 * The deviation of `actual` from `baseline`. An invalid baseline, or a value that is not a number, gives 0.
 * Source: `docs/semantics.md 10.2`.
 */
export function normalize(actual: number, baseline: number): number {
  if (!(baseline > 0)) return 0
  const deviation = Math.tanh((actual - baseline) / baseline)
  return Number.isNaN(deviation) ? 0 : deviation
}

/** The pressure of work on its profile; what was not measured presses nothing. Source: rfc-0010-workload-profiles; `docs/semantics.md 10.2`. */
export function pressureOf(
  actual: Pick<WorkTelemetry, 'latencyMs' | 'computeUs' | 'memoryBytes'>,
  config: ProfileConfig,
): PressureVector {
  return {
    latency: normalize(actual.latencyMs ?? Number.NaN, config.baselineLatencyMs),
    compute: normalize(actual.computeUs ?? Number.NaN, config.baselineComputeUs),
    memory: normalize(actual.memoryBytes ?? Number.NaN, config.baselineMemoryBytes),
  }
}

/** One number from 0 to 1 of it: the length of its positive parts, over that of the largest there is. Source: `docs/semantics.md 10.6`. */
export function scalarPressure({ latency, compute, memory }: PressureVector): number {
  return Math.hypot(Math.max(0, latency), Math.max(0, compute), Math.max(0, memory)) / Math.sqrt(3)
}

/** How much a route's resistance rises while one of its leases is above a soft limit. */
const SOFT_PENALTY = 1

/**
 * How unwilling a route is: its pressure, its scar, and a penalty for soft limits. It is shown, and refuses nothing by itself.
 * Source: rfc-0010-workload-profiles, Soft Limits; `docs/semantics.md 10.3`.
 */
export function resistanceOf(it: {
  readonly pressure: number
  readonly scar: number
  readonly overSoft: boolean
}): number {
  return it.pressure + it.scar + (it.overSoft ? SOFT_PENALTY : 0)
}
