import type { ProfileConfig, ResourceLimits } from './schema.ts'
import { type WorkloadProfile } from './classes.ts'

/** The table of the RFC. Source: rfc-0010-workload-profiles, Profile Definitions; `docs/semantics.md 10.1`. */
export const profileConfigs: Readonly<Record<Exclude<WorkloadProfile, 'CUSTOM'>, ProfileConfig>> = {
  LIGHT: {
    baselineLatencyMs: 10,
    baselineComputeUs: 100,
    baselineMemoryBytes: 1_000,
    maxDurationMs: 1_000,
    heartbeatRequired: false,
  },
  STANDARD: {
    baselineLatencyMs: 100,
    baselineComputeUs: 10_000,
    baselineMemoryBytes: 10_000_000,
    maxDurationMs: 30_000,
    heartbeatRequired: false,
  },
  HEAVY: {
    baselineLatencyMs: 5_000,
    baselineComputeUs: 1_000_000,
    baselineMemoryBytes: 100_000_000,
    maxDurationMs: 300_000,
    heartbeatRequired: true,
  },
  EXTREME: {
    baselineLatencyMs: 60_000,
    baselineComputeUs: 30_000_000,
    baselineMemoryBytes: 8_000_000_000,
    maxDurationMs: 3_600_000,
    heartbeatRequired: true,
  },
}

/** Whether work of a profile brings something that can stop it. Source: rfc-0010-workload-profiles, Appendix B. */
export function needsAbortController(profile: WorkloadProfile): boolean {
  return profile === 'HEAVY' || profile === 'EXTREME'
}

/** The amounts that can be limited. */
export const limitedAmounts = ['cpuTimeUs', 'memoryBytes', 'durationMs'] as const
export type LimitedAmount = (typeof limitedAmounts)[number]

/** The soft limits that are above the hard one of their kind: those would never warn. */
export function softAboveHard({ soft = {}, hard = {} }: ResourceLimits): readonly LimitedAmount[] {
  return limitedAmounts.filter((name) => (soft[name] ?? 0) > (hard[name] ?? Number.POSITIVE_INFINITY))
}

/**
 * The amounts that a lease has left: CPU time and memory are `Infinity` without a limit, `remainingMs` is whole and never
 * negative.
 */
export interface ResourceBudget {
  readonly cpuTimeUs: number
  readonly memoryBytes: number
  readonly remainingMs: number
}

/**
 * Reported usage of work: by a heartbeat, or by a measurement. `computeUs` is the sum of all passes so far,
 * `memoryBytes` the memory in use now.
 */
export interface UsageSample {
  readonly computeUs?: number | undefined
  readonly memoryBytes?: number | undefined
  /** 0 to 1. */
  readonly errorRate?: number | undefined
  /** 0 to 1. */
  readonly saturation?: number | undefined
}

/** Telemetry of one piece of work. Source: rfc-0010-workload-profiles, Observability; `docs/semantics.md 10.7`. */
export interface WorkTelemetry extends UsageSample {
  readonly latencyMs?: number | undefined
  /** 0 to 1. */
  readonly progress?: number | undefined
  /** Ms since the last heartbeat. */
  readonly heartbeatAge?: number | undefined
}

/**
 * The rest of the amounts that a lease may use; null without a limit. Source: `docs/semantics.md 10.6`.
 */
export interface ResourcesLeft {
  readonly cpuTimeUs: number | null
  readonly memoryBytes: number | null
}
