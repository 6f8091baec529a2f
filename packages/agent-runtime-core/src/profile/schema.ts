import { z } from 'zod'
import { MAX_AGENTS, MAX_AMOUNT, workloadProfiles } from './classes.ts'
import { duration, wholeNumber } from '../config/setting-schema.ts'

/**
 * The usage that is expected of the work of a profile (`baseline…`), and how long a lease lasts at most, whatever its
 * heartbeats. With `heartbeatRequired` its holder must send heartbeats itself.
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

/** The terms of a lease: plain data, as it is stored with its task. */
export const ProfileTerms = z.strictObject({
  profile: z.enum(workloadProfiles),
  config: ProfileConfig,
  /** How long the lease lasts at most, in ms; heartbeats never extend it. */
  grantedMs: duration(),
  limits: ResourceLimits,
})
export type ProfileTerms = z.infer<typeof ProfileTerms>

/**
 * The limits that the agents of a swarm share. Source: rfc-0010-workload-profiles, AI Swarm; `docs/semantics.md 10.6`.
 */
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
