import type { BudgetOptions, Lane } from '@ku0/agent-runtime-core'
import type { TaskType } from './task-type.ts'

/** What a submission may say besides its input. What it leaves out, the task type says. */
export interface SubmitOptions {
  readonly lane?: Lane | undefined
  /** An id of the caller's own, 1 to 255 characters; a second submission of it is refused with `already_exists`. */
  readonly taskId?: string | undefined
  /** The same key with the same type and input gets the first receipt again. Source: `docs/semantics.md 2.7`. */
  readonly idempotencyKey?: string | undefined
  /** On whose behalf. */
  readonly client?: string | undefined
  readonly model?: string | undefined
  readonly tools?: readonly string[] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Not to be started before this time: a Date, or epoch ms. */
  readonly dueAt?: Date | number | undefined
  /** Not to be started before so many ms have passed since the submission was committed, by the wall clock. Source: `docs/semantics.md 4.7`. */
  readonly delayMs?: number | undefined
  /** The running time allowed to one attempt. */
  readonly timeoutMs?: number | undefined
  /** An estimate, counted by `tokensPerWindow`. */
  readonly tokens?: number | undefined
  /** An estimate of what fair shares reckon with: 1 without one, 0 to 1e9, to the millionth. */
  readonly cost?: number | undefined
  /**
   * What the task, and all below it, may use up together. One that is given to a child is not larger than what is left above it. Source:
   * `docs/semantics.md 11.5`.
   */
  readonly budget?: BudgetOptions | undefined
}

/** One submission, as it is made. */
export interface SubmitItem {
  readonly task: TaskType | string
  readonly input: unknown
  readonly options?: SubmitOptions | undefined
}
