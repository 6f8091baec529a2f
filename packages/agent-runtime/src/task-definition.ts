import {
  type Backoff,
  type BudgetOptions,
  budgetProblems,
  RESERVED,
  ConfigError,
  type ConfigProblem,
  defaultOversightMode,
  functionRule,
  isName,
  isOneOf,
  isRecord,
  lanes,
  limitRule,
  nameRule,
  namesRule,
  type OversightMode,
  oversightModes,
  problemsIn,
  type ResourceLimits,
  type RetryPolicy,
  type Rule,
  type Rules,
} from '@ku0/agent-runtime-core'
import { Lane } from '@ku0/agent-runtime-core/schemas'
import { isPolicy, policyOf, retryProblems, retryRule } from './retry-policy.ts'
import type { InputOf, OutputOf, Schema } from './schema.ts'
import type { TaskContext } from './task-context.ts'
import {
  isTaskProfile,
  profileOf,
  profileProblems,
  type ProfileSetting,
  type TaskProfile,
} from './workload/profile-setting.ts'

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
  /** Checked when the handler has returned (`invalid_output`). The task's result is what comes out of it. */
  readonly output?: Output
  /** By default `normal`, and `batch` for a submission that is delayed; unless the submission says otherwise. */
  readonly lane?: Lane
  /** The running time allowed to one attempt; then the task fails with the kind `timeout`. None by default. */
  readonly timeoutMs?: number
  /**
   * What is expected of its work: `LIGHT`, `STANDARD`, `HEAVY`, `EXTREME`, or a `CUSTOM` one with its config. Its lease ends with
   * `budget_exceeded` when the profile's `maxDurationMs`, which heartbeats never extend, or a hard limit is exceeded; one whose profile
   * requires heartbeats sends them with `ctx.heartbeat`. None by default. Source: `docs/semantics.md 10.1`.
   */
  readonly profile?: ProfileSetting
  /** What an attempt may use: above `soft` it warns, above `hard` it ends. Source: `docs/semantics.md 10.5`. */
  readonly limits?: ResourceLimits
  /** The model and tools whose quotas its tasks count in. Source: `docs/semantics.md 2.8`. */
  readonly model?: string
  readonly tools?: readonly string[]
  /** What one task, and all below it, may use up, unless its submission says otherwise. Source: `docs/semantics.md 11.5`. */
  readonly budget?: BudgetOptions
  /** Tries in all when the handler throws, and the waits between them. By default an error is final. */
  readonly retry?: { readonly attempts: number; readonly backoff?: Partial<Backoff> }
  /**
   * Whether a memo answers wherever its key is called (`by-key`, the default), or only at the place where it was recorded: then calls
   * that change places park the task. Not for handlers that call steps side by side. Source: `docs/semantics.md 6.4`.
   */
  readonly replay?: 'by-key' | 'strict'
  /**
   * The program's own classes of errors that its handler tells apart by `instanceof`. What a step failed with is stored by name, message and
   * code; a later pass throws it as the class here of that name. Source: `docs/semantics.md 7.2`.
   */
  readonly errors?: readonly ErrorClass[]
  /** The mode of `ctx.requestApproval` where a call names none; `autonomous_escalation` by default. Source: `docs/semantics.md 12.1`. */
  readonly oversight?: OversightMode
}

/** A class of errors: the name that its errors have is its own, or its prototype's. */
export interface ErrorClass {
  readonly name: string
  readonly prototype: Error
}

/** A task type: its schemas, its defaults and its handler. `Input` is what is submitted, `Output` what the result is. */
export interface TaskDefinition<Type extends string = string, Input = unknown, Output = unknown> {
  readonly type: Type
  readonly input: Schema
  readonly output: Schema | undefined
  readonly lane: Lane
  /** Of submissions with a `dueAt` or `delayMs`. */
  readonly delayedLane: Lane
  readonly timeoutMs: number | undefined
  readonly profile: TaskProfile | undefined
  readonly model: string | undefined
  readonly budget: BudgetOptions | undefined
  readonly tools: readonly string[] | undefined
  readonly retry: RetryPolicy | undefined
  readonly replay: 'by-key' | 'strict'
  readonly errors: readonly ErrorClass[]
  readonly oversight: OversightMode
  readonly handler: (ctx: TaskContext, input: never) => unknown
  /** Only there for the compiler. */
  readonly [flow]?: { readonly input: Input; readonly output: Output }
}
declare const flow: unique symbol

/** A task's result: what its output schema gives, or else what its handler returns. */
export type ResultOf<Output extends Schema | undefined, Returned> = Output extends Schema
  ? OutputOf<Output>
  : Awaited<Returned>

/**
 * Defines a task type. Throws {@link ConfigError} naming every field that is wrong.
 *
 *     const greet = defineTask({ type: 'greet', input: z.object({ name: z.string() }) }, async (ctx, { name }) => `Hello ${name}`)
 */
export function defineTask<
  const Type extends string,
  Input extends Schema,
  Returned extends (Output extends Schema ? InputOf<Output> | Promise<InputOf<Output>> : unknown),
  Output extends Schema | undefined = undefined,
>(
  definition: TaskDefinitionOptions<Type, Input, Output>,
  handler: (ctx: TaskContext, input: OutputOf<Input>) => Returned,
): TaskDefinition<Type, InputOf<Input>, ResultOf<Output, Returned>> {
  const problems = findProblems(definition, handler)
  if (problems.length === 0 && definition.type.startsWith(RESERVED)) {
    const allowed = `a type that does not begin with '${RESERVED}', which is the runtime's own`
    problems.push({ path: 'task: type', allowed, given: definition.type })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return madeOf(definition, handler)
}

/** A task type of the runtime's own, whose name is reserved. */
export function defineOwnTask<Input extends Schema>(
  definition: TaskDefinitionOptions<string, Input, undefined>,
  handler: (ctx: TaskContext, input: OutputOf<Input>) => unknown,
): TaskDefinition {
  return madeOf(definition, handler) as TaskDefinition
}

function madeOf<Type extends string, Input extends Schema, Output extends Schema | undefined, Handler>(
  definition: TaskDefinitionOptions<Type, Input, Output>,
  handler: Handler,
) {
  const { type, input, output, timeoutMs, model, budget, tools, retry } = definition
  const { lane = 'normal', lane: delayedLane = 'batch' } = definition
  const { replay = 'by-key', errors = [], oversight = defaultOversightMode } = definition
  const profile = definition.profile && profileOf(definition.profile, definition.limits)
  const limits = { lane, delayedLane, timeoutMs, model, budget, tools, retry: retry && policyOf(retry) }
  return Object.freeze({ type, input, output, ...limits, profile, replay, errors, oversight, handler })
}

/** Whether a value is what {@link defineTask} gives, its defaults filled in. */
export function isDefinition(value: unknown): value is TaskDefinition {
  if (!isRecord(value)) return false
  const { handler, delayedLane, profile, ...options } = value
  const { lane, retry } = options
  return (
    findProblems(options, handler).length === 0 &&
    lane !== undefined &&
    delayedLane !== undefined &&
    (retry === undefined || isPolicy(retry)) &&
    (profile === undefined || isTaskProfile(profile))
  )
}

function findProblems(given: unknown, handler: unknown): ConfigProblem[] {
  const path = isRecord(given) && isName(given['type']) ? `task '${given['type']}': ` : 'task: '
  const problems = functionRule[1](handler)
    ? []
    : [{ path: `${path}handler`, allowed: 'a function (ctx, input) => result', given: handler }]
  if (!isRecord(given)) {
    const allowed = `an object of ${Object.keys(definitionRules).join(', ')}`
    return [{ path: 'task', allowed, given }, ...problems]
  }
  const { retry, budget, profile, limits } = given
  const own = problemsIn(given, definitionRules, { path, required: ['type', 'input'] })
  return [
    ...own,
    ...(budget === undefined ? [] : budgetProblems(`${path}budget`, budget)),
    ...retryProblems(retry, `${path}retry.`),
    ...profileProblems(profile, limits, path),
    ...problems,
  ]
}

const typeName: Rule = [`a name of ${nameRule[0]}`, nameRule[1]]

const definitionRules: Rules<TaskDefinitionOptions<string, Schema, Schema | undefined>> = {
  type: typeName,
  input: ['a schema, such as z.object({ … })', isSchema],
  output: ['a schema', isSchema],
  lane: [lanes.join(' | '), (value) => Lane.safeParse(value).success],
  timeoutMs: limitRule,
  // What is wrong with them is found by profileProblems.
  profile: ['', () => true],
  limits: ['', () => true],
  model: typeName,
  budget: ['an object of limits', () => true],
  tools: namesRule,
  retry: retryRule,
  replay: isOneOf(['by-key', 'strict']),
  errors: ['a list of classes of errors', (value) => Array.isArray(value) && value.every(isErrorClass)],
  oversight: isOneOf(oversightModes),
}

function isErrorClass(value: unknown): boolean {
  return typeof value === 'function' && (value === Error || value.prototype instanceof Error)
}

function isSchema(value: unknown): value is Schema {
  const standard: unknown = (value as Partial<Schema> | null | undefined)?.['~standard']
  return typeof (standard as Schema['~standard'] | undefined)?.validate === 'function'
}
