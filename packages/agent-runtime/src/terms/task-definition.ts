import {
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
  oversightModes,
  problemsIn,
  type Rule,
  type Rules,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { Declarations, Exchange, ExchangeOf, Schemas } from '../api/exchange.ts'
import type { ResultOf, TaskDefinition } from '../api/task-definition.ts'
import type { NamedTask } from '../api/recovery.ts'
import type { TaskContract, TaskDefinitionOptions } from '../api/task-type.ts'
import { familiarToTask } from './familiar-names.ts'
import {
  domainRule,
  fallbackTaskIn,
  isRecoveryPolicy,
  policyFor,
  recoveryProblems,
  recoveryRule,
  tablesOf,
} from './recovery-policy.ts'
import { isPolicy, policyOf, retryProblems, retryRule } from './retry-policy.ts'
import type { InputOf, OutputOf, Schema } from '../api/schema.ts'
import type { Storable } from '../api/storable.ts'
import type { TaskContext } from '../api/task-context.ts'
import { exchangeProblems } from './exchange.ts'
import { isSchema } from './schema.ts'
import { isTaskProfile, profileOf, profileProblems } from './profile-setting.ts'

/**
 * Defines a task type. Throws {@link ConfigError} naming every field that is wrong. The compiler refuses a handler whose result cannot be stored, as
 * far as its type shows it, and says why: see {@link Storable}.
 *
 *     const greet = defineTask({ type: 'greet', input: z.object({ name: z.string() }) }, async (ctx, { name }) => `Hello ${name}`)
 */
export function defineTask<
  const Type extends string,
  Input extends Schema,
  Returned extends (Output extends Schema ? InputOf<Output> | Promise<InputOf<Output>> : unknown),
  Output extends Schema | undefined = undefined,
  const Signals extends Schemas | undefined = undefined,
  const Approvals extends Schemas | undefined = undefined,
  Emits extends Schema | undefined = undefined,
  To extends NamedTask = NamedTask,
>(
  definition: TaskDefinitionOptions<Type, Input, Output, Declarations<Signals, Approvals, Emits>, To>,
  handler: ((ctx: TaskContext<Declarations<Signals, Approvals, Emits>>, input: OutputOf<Input>) => Returned) &
    Storable<ResultOf<Output, Returned>>,
): TaskDefinition<Type, InputOf<Input>, ResultOf<Output, Returned>, ExchangeOf<Signals, Approvals, Emits>> {
  const problems = [...findProblems(definition, handler), ...reservedProblems(definition)]
  if (problems.length > 0) throw new ConfigError(problems)
  return madeOf(definition, handler)
}

/**
 * Defines a task type without its handler, for programs that only submit it. Throws {@link ConfigError} naming every field that is wrong.
 *
 *     export const greet = defineContract({ type: 'greet', input: z.object({ name: z.string() }), output: z.string() })
 *
 * Where the task runs, {@link defineTask} adds the handler: `defineTask(greet, async (ctx, { name }) => ...)`.
 */
export function defineContract<
  const Type extends string,
  Input extends Schema,
  Output extends Schema | undefined = undefined,
  const Signals extends Schemas | undefined = undefined,
  const Approvals extends Schemas | undefined = undefined,
  Emits extends Schema | undefined = undefined,
  To extends NamedTask = NamedTask,
>(
  contract: TaskDefinitionOptions<Type, Input, Output, Declarations<Signals, Approvals, Emits>, To>,
): TaskContract<Type, Input, Output, ExchangeOf<Signals, Approvals, Emits>> {
  const problems = [...optionProblems(contract), ...reservedProblems(contract)]
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze({ ...contract })
}

/** The part of a task type that a submission needs. */
export type TaskTerms = Pick<
  TaskDefinition,
  | 'type'
  | 'input'
  | 'signals'
  | 'approvals'
  | 'emits'
  | 'lane'
  | 'delayedLane'
  | 'timeoutMs'
  | 'model'
  | 'budget'
  | 'tools'
>

/** The terms of what {@link defineTask} or {@link defineContract} returned; undefined for anything else. */
export function taskTermsOf(task: unknown): TaskTerms | undefined {
  if (isDefinition(task)) return task
  if (optionProblems(task).length > 0) return undefined
  return madeOf(task as TaskDefinitionOptions<string, Schema, Schema | undefined>, undefined)
}

/** The terms of one of the runtime's own task types. */
export function ownTerms(contract: TaskDefinitionOptions<string, Schema, undefined>): TaskTerms {
  return madeOf(contract, undefined)
}

/** Defines one of the runtime's own task types, whose names are reserved. */
export function defineOwnTask<Input extends Schema>(
  definition: TaskDefinitionOptions<string, Input, undefined>,
  handler: (ctx: TaskContext, input: OutputOf<Input>) => unknown,
): TaskDefinition {
  return madeOf(definition, handler) as TaskDefinition
}

function madeOf<
  Type extends string,
  Input extends Schema,
  Output extends Schema | undefined,
  Handler,
  X extends Exchange,
>(definition: TaskDefinitionOptions<Type, Input, Output, X>, handler: Handler) {
  const {
    type,
    input,
    output,
    signals,
    approvals,
    emits,
    timeoutMs,
    abortGraceMs,
    model,
    budget,
    tools,
    retry,
    rateLimited,
  } = definition
  const { lane = 'normal', lane: delayedLane = 'batch' } = definition
  const { replay = 'by-key', errors = [], oversight = defaultOversightMode } = definition
  const { isolation = 'inline', module, memoryMb } = definition
  const profile = definition.profile && profileOf(definition.profile, definition.limits)
  const limits = { lane, delayedLane, timeoutMs, model, budget, tools, retry: retry && policyOf(retry) }
  return Object.freeze({
    type,
    input,
    output,
    signals,
    approvals,
    emits,
    ...limits,
    abortGraceMs,
    recovery: policyFor(definition),
    profile,
    replay,
    errors,
    oversight,
    rateLimited,
    isolation,
    module,
    memoryMb,
    handler,
  })
}

/** Whether {@link defineTask} returned a value. */
export function isDefinition(value: unknown): value is TaskDefinition {
  if (!isRecord(value)) return false
  const { handler, delayedLane, profile, recovery, ...options } = value
  const { lane, retry } = options
  return (
    findProblems(options, handler).length === 0 &&
    lane !== undefined &&
    delayedLane !== undefined &&
    (retry === undefined || isPolicy(retry)) &&
    (recovery === undefined || isRecoveryPolicy(recovery)) &&
    (profile === undefined || isTaskProfile(profile))
  )
}

function findProblems(given: unknown, handler: unknown): ConfigProblem[] {
  const problems = optionProblems(given)
  if (functionRule[1](handler)) return problems
  const allowed = 'a function (ctx, input) => result'
  return [...problems, { path: `${placeOf(given)}handler`, allowed, given: handler }]
}

/** A definition that is a task type with options of its own, such as a supervisor. */
export interface KindOfTask {
  /** The word for it. */
  readonly kind: string
  /** Its own options, which have been checked and taken out. */
  readonly own?: readonly string[]
  /** Options of a task type that it has not. */
  readonly without?: readonly string[]
}

/** The task types that start others say by themselves what they give, and take no answers. */
export const partsOnly = ['output', 'signals', 'approvals', 'emits'] as const
/** What a child, a stage or a task of a stage is made by. */
export const madeBy = 'what defineTask, defineGraph, definePipeline or defineSupervisor returns'

/** The problems of a task type's options, without its handler. */
export function optionProblems(
  given: unknown,
  { kind, own: added = [], without = [] }: KindOfTask = { kind: 'task' },
): ConfigProblem[] {
  const path = placeOf(given, kind)
  if (!isRecord(given)) {
    const allowed = `an object with ${Object.keys(definitionRules).join(', ')}`
    return [{ path: 'task', allowed, given }]
  }
  const { retry, budget, profile, limits } = given
  const own = problemsIn(given, definitionRules, {
    path,
    required: ['type', 'input'],
    familiar: familiarToTask,
    ...(added.length === 0 ? {} : { names: namesOf(added, without) }),
  })
  return [
    ...own,
    ...(budget === undefined ? [] : budgetProblems(`${path}budget`, budget)),
    ...retryProblems(retry, `${path}retry.`),
    ...fallbackProblems(given, path),
    ...unique(tablesOf(given).flatMap((table) => recoveryProblems(table, `${path}recovery.`))),
    ...profileProblems(profile, limits, path),
    ...isolationProblems(given, path),
    ...exchangeProblems(given, path),
  ]
}

/** The compiler cannot see a task that is named by its name, or by a domain. */
function fallbackProblems(given: Readonly<Record<string, unknown>>, path: string): ConfigProblem[] {
  const { type, recovery, output } = given
  const to = fallbackTaskIn(recovery)
  if (to !== undefined && to === type)
    return [{ path: `${path}recovery.fallback.task`, allowed: 'another task type', given: to }]
  const others = tablesOf(given).flatMap((table) => fallbackTaskIn(table) ?? [])
  if (output !== undefined || others.every((other) => other === type)) return []
  const allowed = `a schema, because it checks what '${others.find((other) => other !== type)}' gives, which recovery.fallback names`
  return [{ path: `${path}output`, allowed, given: output }]
}

/** Tables of several domains have the same problems with what the task type itself gives. */
function unique(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return [...new Map(problems.map((problem) => [problem.path, problem])).values()]
}

/** Options of a thread or process mean nothing elsewhere. */
function isolationProblems(given: Readonly<Record<string, unknown>>, path: string): ConfigProblem[] {
  const { isolation = 'inline', memoryMb } = given
  if (isolation !== 'inline' || memoryMb === undefined) return []
  const allowed =
    "given with isolation 'thread' or 'process': a handler in the worker's own event loop shares its memory"
  return [{ path: `${path}memoryMb`, allowed, given: memoryMb }]
}

function reservedProblems(given: unknown): ConfigProblem[] {
  if (!isRecord(given) || !isName(given['type']) || !given['type'].startsWith(RESERVED)) return []
  const allowed = `a type that does not begin with '${RESERVED}', which is reserved for the runtime`
  return [{ path: 'task: type', allowed, given: given['type'] }]
}

function namesOf(own: readonly string[], without: readonly string[]): readonly string[] {
  const ofTask = Object.keys(definitionRules).filter((name) => !without.includes(name))
  return [...new Set([...own, ...ofTask])]
}

function placeOf(given: unknown, kind = 'task'): string {
  return isRecord(given) && isName(given['type']) ? `${kind} '${given['type']}': ` : `${kind}: `
}

/** The platform itself needs some of it. */
const MIN_MEMORY_MB = 16

const typeName: Rule = [`a name of ${nameRule[0]}`, nameRule[1]]

const definitionRules: Rules<TaskDefinitionOptions<string, Schema, Schema | undefined>> = {
  type: typeName,
  input: ['a schema, such as z.object({ … })', isSchema],
  output: ['a schema', isSchema],
  // exchangeProblems reports what is wrong with them.
  signals: ['', () => true],
  approvals: ['', () => true],
  emits: ['a schema', isSchema],
  lane: isOneOf(lanes),
  timeoutMs: limitRule,
  abortGraceMs: limitRule,
  // profileProblems reports what is wrong with them.
  profile: ['', () => true],
  limits: ['', () => true],
  model: typeName,
  budget: ['an object with limits', () => true],
  tools: namesRule,
  retry: retryRule,
  recovery: recoveryRule,
  domain: domainRule,
  rateLimited: functionRule,
  replay: isOneOf(['by-key', 'strict']),
  errors: ['a list of classes of errors', (value) => Array.isArray(value) && value.every(isErrorClass)],
  oversight: isOneOf(oversightModes),
  isolation: isOneOf(['inline', 'thread', 'process']),
  module: [
    'the file: URL of the module that exports the task: import.meta.url',
    (value) => typeof value === 'string' && value.startsWith('file:'),
  ],
  memoryMb: wholeNumber(MIN_MEMORY_MB, Number.MAX_SAFE_INTEGER),
}

function isErrorClass(value: unknown): boolean {
  return typeof value === 'function' && (value === Error || value.prototype instanceof Error)
}
