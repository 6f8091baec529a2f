import type { BudgetOptions, Lane, OversightMode, ResourceLimits } from '@ku0/agent-runtime-core'
import type { ProfileSetting } from './profiles.ts'
import type { RateLimitRule } from './rate-limit-rule.ts'
import type { RetrySetting } from './retry-setting.ts'
import type { InputOf, OutputOf, Schema } from './schema.ts'

/**
 * A task type as submissions name it: what `defineTask` or `defineContract` returns. `Input` is what is submitted, `Output` what the
 * result is.
 */
export interface TaskType<Type extends string = string, Input = unknown, Output = unknown> {
  readonly type: Type
  readonly input: Schema
  /** Only there for the compiler. */
  readonly [flow]?: { readonly input: Input; readonly output: Output }
}
declare const flow: unique symbol

/**
 * A task type without a handler: what a program needs to submit it. `defineTask(contract, handler)` adds the handler where the task
 * runs.
 */
export interface TaskContract<
  Type extends string = string,
  Input extends Schema = Schema,
  Output extends Schema | undefined = Schema | undefined,
>
  extends
    TaskDefinitionOptions<Type, Input, Output>,
    TaskType<Type, InputOf<Input>, Output extends Schema ? OutputOf<Output> : unknown> {
  readonly type: Type
  readonly input: Input
}

/** What a task type is, besides its handler. */
export interface TaskDefinitionOptions<
  Type extends string,
  Input extends Schema,
  Output extends Schema | undefined,
> {
  /** Its name in the store, 1 to 255 characters, no lone surrogates. Renaming it strands the tasks that were submitted under the old name. */
  readonly type: Type
  /** Checked at submission (`invalid_payload`) and again at the worker (`schema_mismatch`). Source: `docs/semantics.md 8.8`. */
  readonly input: Input
  /** Checked when the handler has returned (`invalid_output`, which `retry` tries again). The task's result is what comes out of it. */
  readonly output?: Output | undefined
  /** By default `normal`, and `batch` for a submission that is delayed; unless the submission says otherwise. */
  readonly lane?: Lane | undefined
  /**
   * The running time allowed to one pass through the handler; then the try has failed with the kind `timeout`, and `retry` decides whether
   * another one follows. None by default. Source: `docs/semantics.md 8.8`.
   */
  readonly timeoutMs?: number | undefined
  /**
   * What is expected of its work: `LIGHT`, `STANDARD`, `HEAVY`, `EXTREME`, or a `CUSTOM` one with its config. Its lease ends with
   * `budget_exceeded` when the profile's `maxDurationMs`, which heartbeats never extend, or a hard limit is exceeded; one whose profile
   * requires heartbeats sends them with `ctx.heartbeat`. None by default. Source: `docs/semantics.md 10.1`.
   */
  readonly profile?: ProfileSetting | undefined
  /** What an attempt may use: above `soft` it warns, above `hard` it ends. Source: `docs/semantics.md 10.5`. */
  readonly limits?: ResourceLimits | undefined
  /** The model and tools whose quotas its tasks count in. Source: `docs/semantics.md 2.8`. */
  readonly model?: string | undefined
  readonly tools?: readonly string[] | undefined
  /** What one task, and all below it, may use up, unless its submission says otherwise. Source: `docs/semantics.md 11.5`. */
  readonly budget?: BudgetOptions | undefined
  /**
   * Tries in all, and the waits between them, when the handler throws, runs longer than `timeoutMs`, or returns what `output` refuses. Recorded
   * steps answer the next try. By default the first failure is final. Source: `docs/semantics.md 7.7`.
   */
  readonly retry?: RetrySetting | undefined
  /**
   * Whether an error is a provider's refusal for now, and what it limits. Without it a 429 that says when to come back is one, and a 503
   * or 529 with `retry-after`. That of the program by default. Source: `docs/quotas.md`.
   */
  readonly rateLimited?: RateLimitRule | undefined
  /**
   * Whether a memo answers wherever its key is called (`by-key`, the default), or only at the place where it was recorded: then calls
   * that change places park the task. Not for handlers that call steps side by side. Source: `docs/semantics.md 6.4`.
   */
  readonly replay?: 'by-key' | 'strict' | undefined
  /**
   * The program's own classes of errors that its handler tells apart by `instanceof`. What a step failed with is stored by name, message and
   * code; a later pass throws it as the class here of that name. Source: `docs/semantics.md 7.2`.
   */
  readonly errors?: readonly ErrorClass[] | undefined
  /** The mode of `ctx.requestApproval` where a call names none; `autonomous_escalation` by default. Source: `docs/semantics.md 12.1`. */
  readonly oversight?: OversightMode | undefined
}

/** A class of errors: the name that its errors have is its own, or its prototype's. */
export interface ErrorClass {
  readonly name: string
  readonly prototype: Error
}
