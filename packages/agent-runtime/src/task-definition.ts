import {
  type Backoff,
  ConfigError,
  type ConfigProblem,
  defaultBackoff,
  Lane,
  lanes,
  type RetryPolicy,
} from '@ku0/agent-runtime-core'
import type { InputOf, OutputOf, Schema } from './schema.ts'
import type { TaskContext } from './task-context.ts'

/** What a task type is, besides its handler. */
export interface TaskDefinitionOptions<
  Type extends string,
  Input extends Schema,
  Output extends Schema | undefined,
> {
  /** Its name in the store, 1 to 255 characters. Renaming it strands the tasks that were submitted under the old name. */
  readonly type: Type
  /** Checked at submission (`invalid_payload`) and again at the worker (`schema_mismatch`). Source: `docs/semantics.md 8.8`. */
  readonly input: Input
  /** Checked when the handler has returned (`invalid_output`). The task's result is what comes out of it. */
  readonly output?: Output
  /** `normal` unless the submission says otherwise. */
  readonly lane?: Lane
  /** The running time allowed to one attempt; then the task fails with the kind `timeout`. None by default. */
  readonly timeoutMs?: number
  /** The model and tools whose quotas its tasks count in. Source: `docs/semantics.md 2.8`. */
  readonly model?: string
  readonly tools?: readonly string[]
  /** Tries in all when the handler throws, and the waits between them. By default an error is final. */
  readonly retry?: { readonly attempts: number; readonly backoff?: Partial<Backoff> }
}

/** A task type: its schemas, its defaults and its handler. `Input` is what is submitted, `Output` what the result is. */
export interface TaskDefinition<Type extends string = string, Input = unknown, Output = unknown> {
  readonly type: Type
  readonly input: Schema
  readonly output: Schema | undefined
  readonly lane: Lane
  readonly timeoutMs: number | undefined
  readonly model: string | undefined
  readonly tools: readonly string[] | undefined
  readonly retry: RetryPolicy | undefined
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
  if (problems.length > 0) throw new ConfigError(problems)
  const { type, input, output, lane = 'normal', timeoutMs, model, tools, retry } = definition
  const policy = retry && { attempts: retry.attempts, backoff: { ...defaultBackoff, ...retry.backoff } }
  return Object.freeze({ type, input, output, lane, timeoutMs, model, tools, retry: policy, handler })
}

function findProblems(
  definition: TaskDefinitionOptions<string, Schema, Schema | undefined>,
  handler: unknown,
): ConfigProblem[] {
  const { type, input, output, lane, timeoutMs, model, tools, retry } = definition
  const backoff: Backoff = { ...defaultBackoff, ...retry?.backoff }
  const problems: ConfigProblem[] = []
  const require = (holds: boolean, path: string, allowed: string, given: unknown) => {
    if (!holds)
      problems.push({ path: `task ${typeof type === 'string' ? `'${type}'` : ''}: ${path}`, allowed, given })
  }
  require(isName(type), 'type', 'a name of 1 to 255 characters', type)
  require(isSchema(input), 'input', 'a schema, such as z.object({ … })', input)
  require(output === undefined || isSchema(output), 'output', 'a schema', output)
  require(lane === undefined || Lane.safeParse(lane).success, 'lane', lanes.join(' | '), lane)
  require(timeoutMs === undefined || isPositive(timeoutMs), 'timeoutMs', 'a number of ms above 0', timeoutMs)
  require(model === undefined || isName(model), 'model', 'a name of 1 to 255 characters', model)
  require(tools === undefined ||
    (Array.isArray(tools) && tools.every(isName)), 'tools', 'a list of names', tools)
  require(retry === undefined ||
    (Number.isSafeInteger(retry.attempts) &&
      retry.attempts >= 1), 'retry.attempts', 'a whole number, 1 or more', retry?.attempts)
  require(isAmount(
    backoff.initialMs,
  ), 'retry.backoff.initialMs', 'a number of ms, 0 or more', backoff.initialMs)
  require(Number.isFinite(backoff.factor) &&
    backoff.factor >= 1, 'retry.backoff.factor', 'a number, 1 or more', backoff.factor)
  require(isAmount(backoff.maxMs), 'retry.backoff.maxMs', 'a number of ms, 0 or more', backoff.maxMs)
  require(isAmount(backoff.jitter) &&
    backoff.jitter <= 1, 'retry.backoff.jitter', 'a number from 0 to 1', backoff.jitter)
  require(typeof handler === 'function', 'handler', 'a function (ctx, input) => result', handler)
  return problems
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 255
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isPositive(value: unknown): value is number {
  return isAmount(value) && value > 0
}

function isSchema(value: unknown): value is Schema {
  const standard: unknown = (value as Partial<Schema> | null | undefined)?.['~standard']
  return typeof (standard as Schema['~standard'] | undefined)?.validate === 'function'
}
