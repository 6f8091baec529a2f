import { z } from 'zod'
import { duration, wholeNumber } from './setting.ts'

/** The classes of work; `CUSTOM` brings a config of its own. Source: rfc-0010-workload-profiles; `docs/semantics.md 10.1`. */
export const workloadProfiles = ['LIGHT', 'STANDARD', 'HEAVY', 'EXTREME', 'CUSTOM'] as const
export type WorkloadProfile = (typeof workloadProfiles)[number]

/** The largest amount of CPU time or memory that can be set. */
const MAX_AMOUNT = 9_000_000_000_000_000

/**
 * What is expected of work of a profile (`baseline…`), and how long a lease of it lasts at most, whatever its heartbeats.
 * With `heartbeatRequired` its holder reports by heartbeats of its own.
 */
export const ProfileConfig = z.strictObject({
  baselineLatencyMs: duration(),
  /** Microseconds of CPU time. */
  baselineComputeUs: wholeNumber(1, MAX_AMOUNT, 'microseconds'),
  baselineMemoryBytes: wholeNumber(1, MAX_AMOUNT, 'bytes'),
  maxDurationMs: duration(),
  heartbeatRequired: z.boolean({ error: 'true or false' }),
})
export type ProfileConfig = z.infer<typeof ProfileConfig>

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

/** Amounts that a lease may use; what is not named is not limited. */
export const ResourceLimit = z.strictObject({
  cpuTimeUs: wholeNumber(1, MAX_AMOUNT, 'microseconds').optional(),
  memoryBytes: wholeNumber(1, MAX_AMOUNT, 'bytes').optional(),
  durationMs: duration().optional(),
})
export type ResourceLimit = z.infer<typeof ResourceLimit>

/** Above `soft` there is one warning and the resistance of the route rises; above `hard` the lease ends. Source: `docs/semantics.md 10.5`. */
export const ResourceLimits = z.strictObject({
  soft: ResourceLimit.optional(),
  hard: ResourceLimit.optional(),
})
export type ResourceLimits = z.infer<typeof ResourceLimits>

/** The amounts that can be limited. */
export const limitedAmounts = ['cpuTimeUs', 'memoryBytes', 'durationMs'] as const
export type LimitedAmount = (typeof limitedAmounts)[number]

/** The soft limits that are above the hard one of their kind: those would never warn. */
export function softAboveHard({ soft = {}, hard = {} }: ResourceLimits): readonly LimitedAmount[] {
  return limitedAmounts.filter((name) => (soft[name] ?? 0) > (hard[name] ?? Number.POSITIVE_INFINITY))
}

/** What a lease is held to: plain data, as it is kept with its task. */
export const ProfileTerms = z.strictObject({
  profile: z.enum(workloadProfiles),
  config: ProfileConfig,
  /** How long the lease lasts at most, in ms; heartbeats never extend it. */
  grantedMs: duration(),
  limits: ResourceLimits,
})
export type ProfileTerms = z.infer<typeof ProfileTerms>

/** What a lease has left: CPU time and memory are `Infinity` where nothing limits them, `remainingMs` is whole and never negative. */
export interface ResourceBudget {
  readonly cpuTimeUs: number
  readonly memoryBytes: number
  readonly remainingMs: number
}

/** What is reported of work: by a heartbeat, or by whoever measured it. `computeUs` is the sum of all passes so far, `memoryBytes` what it holds now. */
export interface UsageSample {
  readonly computeUs?: number
  readonly memoryBytes?: number
  /** 0 to 1. */
  readonly errorRate?: number
  /** 0 to 1. */
  readonly saturation?: number
}

/** Telemetry of one piece of work. Source: rfc-0010-workload-profiles, Observability; `docs/semantics.md 10.7`. */
export interface WorkTelemetry extends UsageSample {
  readonly latencyMs?: number
  /** 0 to 1. */
  readonly progress?: number
  /** Ms since the last heartbeat. */
  readonly heartbeatAge?: number
}

/** How many agents a swarm may be asked to hold. */
export const MAX_AGENTS = 10_000

/** What the agents of a swarm share. Source: rfc-0010-workload-profiles, AI Swarm; `docs/semantics.md 10.6`. */
export const SwarmTerms = z.strictObject({
  route: z.string(),
  terms: ProfileTerms,
  maxAgents: wholeNumber(1, MAX_AGENTS, 'agents'),
  sharedBudget: z.strictObject({
    totalCpuTimeUs: wholeNumber(1, MAX_AMOUNT, 'microseconds').optional(),
    totalMemoryBytes: wholeNumber(1, MAX_AMOUNT, 'bytes').optional(),
  }),
  /** A mean pressure above this is overload; above 0, at most 1. */
  threshold: z.number().gt(0).max(1),
})
export type SwarmTerms = z.infer<typeof SwarmTerms>
