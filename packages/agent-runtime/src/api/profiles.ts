import type {
  ProfileConfig,
  ProfileTerms,
  ResourceLimits,
  UsageSample,
  WorkloadProfile,
} from '@ku0/agent-runtime-core'

/**
 * Measures what a lease uses, where something can: it is asked every `heartbeatIntervalMs`, and what it says counts against the limits. It
 * is no heartbeat of the holder's. Undefined: nothing is known just now. Source: `docs/semantics.md 10.5`.
 */
export type UsageProbe = () => UsageSample | undefined | PromiseLike<UsageSample | undefined>

/**
 * A profile as it is named: by its word, or with limits, and with a config where it is `CUSTOM`. Source:
 * rfc-0010-workload-profiles; `docs/semantics.md 10.1, 10.5`.
 */
export type ProfileSetting =
  | Exclude<WorkloadProfile, 'CUSTOM'>
  | {
      readonly profile: Exclude<WorkloadProfile, 'CUSTOM'>
      readonly limits?: ResourceLimits | undefined
    }
  | {
      readonly profile: 'CUSTOM'
      readonly config: ProfileConfig
      readonly limits?: ResourceLimits | undefined
    }

/** A profile, once nothing is wrong with it. */
export type TaskProfile = Omit<ProfileTerms, 'grantedMs'>

/**
 * What a holder reports. `progress` is kept with the lease for people to see: a number is a share of the work, from 0 to 1; anything else
 * is shown as it is.
 * `computeUs` is the CPU time so far, of all passes of the task together; `memoryBytes` what it holds now.
 */
export interface Heartbeat extends UsageSample {
  readonly progress?: unknown
}
