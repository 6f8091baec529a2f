import type { FailureCategory, FailureKind, RecoveryChoice, RecoveryStrategy } from '@ku0/agent-runtime-core'

/**
 * The answer to each category of failure. The defaults are `crash` restart, `timeout` retry_with_backoff,
 * `resource_exhaustion` fallback_agent (fail without `fallbackModels` and `fallback`), `invalid_output` retry_with_backoff, `human_rejection`
 * retry_with_feedback. Source: `docs/semantics.md 14.3`.
 */
export interface RecoverySetting<To = NamedTask> extends Partial<
  Readonly<Record<Exclude<FailureCategory, 'human_rejection'>, RecoveryChoice | undefined>>
> {
  /**
   * A rejection sends the task back with the reviewer's words (`retry_with_feedback`, as often as `maxRetries` of the request says).
   * After that the task fails, or with `human_escalation` a person is asked first. With `fail` the first rejection fails it.
   */
  readonly human_rejection?: 'retry_with_feedback' | 'human_escalation' | 'fail' | undefined
  /** The models that `fallback_agent` goes on with, in this order, each once. */
  readonly fallbackModels?: readonly string[] | undefined
  /** Another agent that `fallback_agent` hands over to, after the last of the models. */
  readonly fallback?: Fallback<To> | undefined
}

/** A task type, as far as its name is needed. */
export interface NamedTask {
  readonly type: string
}

/** Another agent: a task that takes the same input and gives the same output. Source: `docs/semantics.md 14.3`. */
export interface Fallback<To = NamedTask> {
  /** The result of `defineTask` or `defineContract`, or the name of a task type. */
  readonly task: string | To
  /** The model that the other task has, in place of its own. */
  readonly model?: string | undefined
  /** Its estimated cost, as for a submission: 1 without it. Source: `docs/credits.md`. */
  readonly cost?: number | undefined
}

/** How the try before this one failed. Source: `docs/semantics.md 14.3`. */
export interface TaskFailure {
  readonly category: FailureCategory
  /** The answer to it; `restart` also where a supervisor started the task again. */
  readonly strategy: RecoveryStrategy
  /** The id of that supervisor. Source: `docs/semantics.md 14.2`. */
  readonly restartedBy?: string
  readonly kind: FailureKind
  /** The error as it was stored, without its stack. */
  readonly error: { readonly name: string; readonly message: string; readonly code?: string }
  /** The attempt that failed. */
  readonly attempt: number
  /**
   * Advice for the next try, for a prompt: the words of the person who was asked or who rejected the work, or with `retry_with_feedback` the
   * error's message.
   */
  readonly feedback?: string
}

/** A kind of work, with what is done about failures in it. Source: `docs/semantics.md 14.3`. */
export interface Domain<Name extends string = string> {
  /** 1 to 255 characters. */
  readonly name: Name
  /** The table of each task type of this domain. */
  readonly recovery: RecoverySetting
}
