import type { BudgetOptions, Lane, OversightMode, ResourceLimits } from '@ku0/agent-runtime-core'
import type { Exchange } from './exchange.ts'
import type { ProfileSetting } from './profiles.ts'
import type { RateLimitRule } from './rate-limit-rule.ts'
import type { Domain, NamedTask, RecoverySetting } from './recovery.ts'
import type { RetrySetting } from './retry-setting.ts'
import type { InputOf, OutputOf, Schema } from './schema.ts'

/**
 * A task type for submissions: what `defineTask` or `defineContract` returns. `Input` is what is submitted,
 * `Output` is the type of the result.
 */
export interface TaskType<
  Type extends string = string,
  Input = unknown,
  Output = unknown,
  X extends Exchange = Exchange,
> {
  readonly type: Type
  readonly input: Schema
  /** Exists only for the compiler. */
  readonly [flow]?: { readonly input: Input; readonly output: Output; readonly exchange: X }
}
declare const flow: unique symbol

/**
 * A task type without a handler, for programs that only submit it. `defineTask(contract, handler)` adds the
 * handler where the task runs.
 */
export interface TaskContract<
  Type extends string = string,
  Input extends Schema = Schema,
  Output extends Schema | undefined = Schema | undefined,
  X extends Exchange = Exchange,
>
  extends
    TaskDefinitionOptions<Type, Input, Output, X>,
    TaskType<Type, InputOf<Input>, Output extends Schema ? OutputOf<Output> : unknown, X> {
  readonly type: Type
  readonly input: Input
}

/**
 * A task type that another one, with these schemas, can be handed over to: it takes the same input, and what it gives fits the output schema. For one
 * that does not fit, it is a type that says in words why.
 */
type Fits<To, Input extends Schema, Output extends Schema | undefined> =
  To extends TaskType<string, infer Takes, infer Gives>
    ? To &
        ([unknown, unknown] extends [Takes, Gives]
          ? unknown
          : Output extends Schema
            ? [InputOf<Input>] extends [Takes]
              ? [Gives] extends [InputOf<Output>]
                ? unknown
                : DoesNotFit<'what it gives does not fit the output schema of this task'>
              : DoesNotFit<'it does not take the input of this task'>
            : DoesNotFit<'this task needs an output schema, which checks what the other gives'>)
    : To

/** A task type that another one cannot be handed over to. `Because` says why. */
interface DoesNotFit<Because extends string> {
  readonly 'this task type is no fallback': Because
}

/** Options of a task type, besides its handler. */
export interface TaskDefinitionOptions<
  Type extends string,
  Input extends Schema,
  Output extends Schema | undefined,
  X extends Exchange = Exchange,
  To = NamedTask,
> {
  /** Its name in the store, 1 to 255 characters, no lone surrogates. Renaming it strands the tasks that were submitted under the old name. */
  readonly type: Type
  /** Checked at submission (`invalid_payload`) and again at the worker (`schema_mismatch`). Source: `docs/semantics.md 8.8`. */
  readonly input: Input
  /**
   * Checked after the handler has returned (`invalid_output`, which `retry` tries again). The task's result
   * is what the schema returns.
   */
  readonly output?: Output | undefined
  /**
   * The schemas of its signals, by name: `{ reply: z.object({ text: z.string() }) }`. `runtime.signal` refuses a value that does not fit, and
   * `ctx.waitForSignal` checks what is stored and returns what the schema returns. Other names are refused at both ends. A name that ends in
   * `*` stands for all names that begin so. The schemas may not be asynchronous. By default any signal may be sent. Source:
   * `docs/semantics.md 12.4`.
   */
  readonly signals?: X['signals']
  /**
   * The schemas of the values that reviewers pass with an approval, by the key of the request: as {@link signals}, for
   * `runtime.approvals.approve` and `ctx.requestApproval`. An approval without a value fits. A rejection's value is feedback, and not checked.
   * Source: `docs/semantics.md 12.1`.
   */
  readonly approvals?: X['approvals']
  /**
   * The schema of what it emits: checked by `ctx.emit`, and again when a program that knows the type reads `runtime.output`. It may not be
   * asynchronous. Anything that can be stored by default. Source: `docs/semantics.md 9`.
   */
  readonly emits?: X['emits']
  /**
   * The lane of its tasks, unless a submission names one. By default `normal`, and `batch` for a delayed
   * submission.
   */
  readonly lane?: Lane | undefined
  /**
   * The time limit of one pass through the handler. After it the try fails with the kind `timeout`, and
   * `retry` decides whether another one follows. None by default. Source: `docs/semantics.md 8.8`.
   */
  readonly timeoutMs?: number | undefined
  /**
   * How long its handler may take to stop, once its signal has aborted: then it counts as leaked or, in {@link isolation}, is ended. A
   * supervised child has the `shutdownMs` of its supervisor instead, if there is one. `abortGraceMs` of the configuration by default. Source: `docs/semantics.md 5.4`.
   */
  readonly abortGraceMs?: number | undefined
  /**
   * The usage that is expected of its work: `LIGHT`, `STANDARD`, `HEAVY`, `EXTREME`, or a `CUSTOM` profile with its
   * config. Its lease ends with `budget_exceeded` after the profile's `maxDurationMs`, which heartbeats never
   * extend, or above a hard limit. If the profile requires heartbeats, send them with `ctx.heartbeat`. None
   * by default. Source: `docs/semantics.md 10.1`.
   */
  readonly profile?: ProfileSetting | undefined
  /**
   * The amounts that an attempt may use: above `soft` a warning is logged, above `hard` the attempt ends. Source:
   * `docs/semantics.md 10.5`.
   */
  readonly limits?: ResourceLimits | undefined
  /**
   * Where the handler runs: in the worker's own event loop (`inline`, the default), in a thread, or in a process. In a thread or process of
   * its own, a handler that ignores its signal is ended after `abortGraceMs`, and a crash, a full memory or `process.exit` ends only
   * this task. Source: `docs/isolation.md`.
   */
  readonly isolation?: 'inline' | 'thread' | 'process' | undefined
  /** The module that exports the task, as a file: URL: `import.meta.url`. A thread or process loads it to run the task. */
  readonly module?: string | undefined
  /** The size of the heap of its thread or process, MiB. A handler that fills it fails with `hard_limit`. That of the platform by default. */
  readonly memoryMb?: number | undefined
  /** The model and tools whose quotas its tasks use. Source: `docs/semantics.md 2.8`. */
  readonly model?: string | undefined
  readonly tools?: readonly string[] | undefined
  /**
   * The amounts that one task, and all tasks below it, may use up, unless its submission names a budget. Source:
   * `docs/semantics.md 11.5`.
   */
  readonly budget?: BudgetOptions | undefined
  /**
   * The number of tries, and the waits between them, if the handler throws, runs longer than `timeoutMs`, or
   * returns what `output` refuses. Recorded steps return their stored results in the next try. By default the
   * first failure is final. Source: `docs/semantics.md 7.7`.
   */
  readonly retry?: RetrySetting | undefined
  /**
   * The answer to each category of failure: a table from category to strategy. `retry` says how often and with which waits (3 tries
   * without it), and `ctx.failure` tells the next try what happened. Without a table, `retry` alone decides. Source:
   * `docs/recovery.md`.
   */
  readonly recovery?: RecoverySetting<Fits<To, Input, Output>> | undefined
  /**
   * The kind of work, or several: what {@link defineDomain} returns. Its table counts for each category that `recovery` does not name; of several
   * domains the strongest answer counts. Source: `docs/recovery.md`.
   */
  readonly domain?: Domain | readonly Domain[] | undefined
  /**
   * Whether an error is a provider's refusal for now, and what it limits. Without it a 429 that says when to come back is one, and a 503
   * or 529 with `retry-after`. That of the program by default. Source: `docs/quotas.md`.
   */
  readonly rateLimited?: RateLimitRule | undefined
  /**
   * Whether a stored result is returned wherever its key is called (`by-key`, the default), or only at the
   * place where it was recorded (`strict`): then calls that change places park the task. `strict` is not for
   * handlers that call steps side by side. Source: `docs/semantics.md 6.4`.
   */
  readonly replay?: 'by-key' | 'strict' | undefined
  /**
   * Your own error classes that the handler checks with `instanceof`. A step's error is stored with its name,
   * message and code; a later pass throws it as the listed class of that name. Source: `docs/semantics.md
   * 7.2`.
   */
  readonly errors?: readonly ErrorClass[] | undefined
  /**
   * The default mode of `ctx.requestApproval`; `autonomous_escalation` by default. Source: `docs/semantics.md
   * 12.1`.
   */
  readonly oversight?: OversightMode | undefined
}

/** A class of errors. The name of its errors is the name of the class, or the one of its prototype. */
export interface ErrorClass {
  readonly name: string
  readonly prototype: Error
}
