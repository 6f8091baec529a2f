import type {
  ProfileConfig,
  ProfileTerms,
  ResourceLimits,
  UsageSample,
  WorkloadProfile,
} from '@ku0/agent-runtime-core'

/**
 * Measures what a lease uses. The runtime calls it every `heartbeatIntervalMs`, and its result counts against
 * the limits. It does not count as a heartbeat of the holder. It returns undefined if it has no measurement
 * now. Source: `docs/semantics.md 10.5`.
 */
export type UsageProbe = () => UsageSample | undefined | PromiseLike<UsageSample | undefined>

/**
 * A profile by its name, or with limits, and with a config for `CUSTOM`. Source: rfc-0010-workload-profiles;
 * `docs/semantics.md 10.1, 10.5`.
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

/** A profile that was checked. */
export type TaskProfile = Omit<ProfileTerms, 'grantedMs'>

/**
 * The report of a holder. `progress` is stored with the lease for people to see: a number is a share of the
 * work, from 0 to 1; anything else is shown as it is. `computeUs` is the CPU time so far, of all passes of
 * the task together; `memoryBytes` is the memory in use now.
 */
export interface Heartbeat extends UsageSample {
  readonly progress?: unknown
}
