/** The largest amount of CPU time or memory that can be set. */
export const MAX_AMOUNT = 9_000_000_000_000_000

/** The classes of work; `CUSTOM` brings a config of its own. Source: rfc-0010-workload-profiles; `docs/semantics.md 10.1`. */
export const workloadProfiles = ['LIGHT', 'STANDARD', 'HEAVY', 'EXTREME', 'CUSTOM'] as const
export type WorkloadProfile = (typeof workloadProfiles)[number]

/** How many agents a swarm may be asked to hold. */
export const MAX_AGENTS = 10_000
