import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'

/** What a process of fixtures/at-once.ts does. */
export type Part = 'submit' | 'work' | 'back-up' | 'verify'

/** What it has done. */
export interface AtOnce {
  readonly ready?: true
  readonly tookMs?: readonly number[]
  readonly accepted?: readonly string[]
  readonly completed?: number
  /** What it held and could not end. */
  readonly stale?: readonly string[]
  readonly good?: readonly boolean[]
}

/** Of rejected submissions few are kept: the others are thrown away all the time. */
export const atOnceSettings = { maxRejectedKept: 5, leaseTtlMs: 5_000, heartbeatIntervalMs: 1_000 } as const
export const { config: atOnceConfig } = parseExecutionConfig(atOnceSettings)
