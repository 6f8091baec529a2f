import type { Agreement } from './agreements.ts'
import type { BudgetOptions, Lane } from '@ku0/agent-runtime-core'
import type { TaskType } from './task-type.ts'

/** Options of a submission besides its input. The task type supplies what is left out. */
export interface SubmitOptions {
  readonly lane?: Lane | undefined
  /**
   * Your own id for the task, 1 to 255 characters. A second submission with the same id is refused with
   * `already_exists`.
   */
  readonly taskId?: string | undefined
  /**
   * A second submission with the same key, type and input returns the first receipt. Source:
   * `docs/semantics.md 2.7`.
   */
  readonly idempotencyKey?: string | undefined
  /** The client on whose behalf the task runs. */
  readonly client?: string | undefined
  readonly model?: string | undefined
  readonly tools?: readonly string[] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The task starts at this time or later: a Date, or epoch ms. */
  readonly dueAt?: Date | number | undefined
  /**
   * The task starts this many ms after the submission was committed, or later, by the store's clock: the machine's wall clock on SQLite, the
   * server's clock on PostgreSQL. Source: `docs/semantics.md 4.7`.
   */
  readonly delayMs?: number | undefined
  /** The time limit of one pass; it starts again after each wait, crash and retry. Source: `docs/semantics.md 8.8`. */
  readonly timeoutMs?: number | undefined
  /** Estimated tokens, counted by `tokensPerWindow`. */
  readonly tokens?: number | undefined
  /** Estimated cost for fair shares: 0 to 1e9, to the millionth; 1 by default. */
  readonly cost?: number | undefined
  /**
   * The amounts that the task, and all tasks below it, may use up together. A child's budget cannot be larger than what
   * is left above it. Source: `docs/semantics.md 11.5`.
   */
  readonly budget?: BudgetOptions | undefined
  /**
   * The agreement that it comes under: what `defineAgreement` returns, or the name of one that the client or runtime was given as `agreements`.
   * Options of the call win over its terms, except for the client and the oversight. Source: `docs/credits.md`.
   */
  readonly agreement?: Agreement | string | undefined
  /**
   * The answer to a submission that is refused (queue full, quota, unknown type, an input that does not fit): `return`, the default, gives a
   * receipt with `accepted: false`, and `throw` throws a `TaskRejected` with the `reason`. The rejection is recorded either way. Source:
   * `docs/semantics.md 1.5`.
   */
  readonly onReject?: 'return' | 'throw' | undefined
}

/** One submission, as it is made. */
export interface SubmitItem {
  readonly task: TaskType | string
  readonly input: unknown
  readonly options?: SubmitOptions | undefined
}
