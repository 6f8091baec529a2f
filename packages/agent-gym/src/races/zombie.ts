import type { ExecutionConfigInput } from '@ku0/agent-runtime-core'

/** Leases so short that a process that is stopped for a moment has lost them. Nothing else ends an attempt for good. */
export const zombieConfig: ExecutionConfigInput = {
  leaseTtlMs: 300,
  heartbeatIntervalMs: 60,
  maxCrashes: 1_000_000,
}

/** What a handler says that was stopped in a step past its lease and went on: the name of the error, or `done`, for each thing it tried. */
export interface ZombieTold {
  readonly token: number
  readonly step: string
  readonly nextStep: string
  readonly heartbeat: string
  readonly output: string
  readonly checkpoint: string
  readonly command: string
  /** What its signal was aborted with, or `none`. */
  readonly signal: string
  /** What the store answered to writes under its lease that asked nobody first. */
  readonly writes: Readonly<Record<string, string>>
}

/** What the task came to: the fencing token under which each of its steps was run, and the task completed. */
export interface ZombieEnd {
  readonly before: number
  readonly held: number
  readonly after: number
  readonly by: number
}
