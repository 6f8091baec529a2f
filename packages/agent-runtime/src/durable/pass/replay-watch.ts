import type { Divergence, ErrorRecord, HandlerEnd } from '@ku0/agent-runtime-core'
import type { HistoryEnd } from '../../api/replay.ts'

/** Called for what happens in a replay. */
export interface ReplayWatch {
  /** How a step or race without a memo failed for good. */
  failureOf(key: string): ErrorRecord | undefined
  /** The history has answered a call. */
  answered(as: 'step' | 'wait' | 'failure'): void
  /** The answer to a wait is an error, such as the failure of a child. */
  erred(): void
  /**
   * The history has no answer for a call, which never settles. `signal` is the name of the signal that it
   * waits for.
   */
  reached(end: HistoryEnd, trail: ReplayTrail, signal?: string): void
  diverged(divergence: Divergence): void
  ended(end: HandlerEnd, trail: ReplayTrail | undefined): void
}

/** What a replay knows about its pass. */
export interface ReplayTrail {
  readonly unused: number
  /** Number of unused calls that may still come. */
  readonly pending: number
  divergence(certainly: boolean): Divergence | undefined
}
