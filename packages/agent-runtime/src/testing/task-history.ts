import {
  type ErrorRecord,
  type EventType,
  type TaskState,
  type WaitKind,
  type WaitOutcome,
} from '@ku0/agent-runtime-core'

/** The history of a task so far. */
export interface TaskHistory {
  readonly taskId: string
  readonly type: string
  readonly state: TaskState
  /** The current attempt, from 1. A crash, and a retry of the task, begin a new one. */
  readonly attempts: number
  /** How often its handler was started: once per attempt, and once more after each wait. */
  readonly passes: number
  /** In the order in which they were first recorded, including races and `ctx.all`. */
  readonly steps: readonly HistoryStep[]
  /** In the order in which they began, without the back-offs of steps. */
  readonly waits: readonly HistoryWait[]
  /** The types of its events, in their order. */
  readonly events: readonly EventType[]
  /**
   * The hash of what the task did, without times and ids: equal for equal behaviour. Source:
   * `docs/semantics.md 6.2`.
   */
  readonly orderHash: string
  /** A line per event, with the time since the submission. */
  toString(): string
}

/** A step that was recorded, or failed. */
export interface HistoryStep {
  readonly key: string
  /** Its decoded result; absent until it has one. */
  readonly result?: unknown
  /** The error of its last try; absent after it returned. */
  readonly error?: ErrorRecord
  /** The attempt of the task that recorded this. */
  readonly attempt: number
  /**
   * How often its function was started, in all processes of the test; 0 for a race, for `ctx.all`, and for a
   * step that a fork kept.
   */
  readonly runs: number
}

/** A sleep, or a wait for a signal. */
export interface HistoryWait {
  readonly key: string
  readonly kind: WaitKind
  /** The name of the signal. */
  readonly name?: string
  /** How it ended; absent if it has not ended, or was dropped with its branch. */
  readonly outcome?: WaitOutcome
  /** The value of the signal. */
  readonly value?: unknown
}
