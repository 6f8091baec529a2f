import {
  checkStages,
  ConfigError,
  type ConfigProblem,
  isName,
  isRecord,
  MAX_PARTITIONS,
  nameRule,
  problemsIn,
  RESERVED,
  type Rules,
  RuntimeError,
  type StageTerms,
  violationsText,
  wholeNumber,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { Declarations, Schemas } from '../api/exchange.ts'
import type { NodeOptions } from '../api/graphs.ts'
import type { InputOf, OutputOf, Schema } from '../api/schema.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskDefinitionOptions } from '../api/task-type.ts'
import type { HandlerContext } from '../durable/context.ts'
import { familiarToStage } from '../terms/familiar-names.ts'
import { naming } from '../terms/named-tasks.ts'
import { keepEventSchemas } from '../terms/pipeline-events.ts'
import { isSchema } from '../terms/schema.ts'
import { submitRules } from '../terms/submit-rules.ts'
import { defineTask, madeBy, optionProblems, partsOnly, taskTermsOf } from '../terms/task-definition.ts'

/** A stage of a pipeline. */
export interface DefinedStage<Task extends TaskDefinition = TaskDefinition, Input = never> {
  /** Its name within the pipeline: letters, digits, `_`, `-` and `.`, at most 100 characters. */
  readonly name: string
  /** The task that the stage runs: a handler that calls `ctx.receive` and `ctx.publish`. */
  readonly task: Task
  /**
   * Makes the stage's input of the pipeline's; without it the input is undefined. `partition`: the number of the task that gets it, from 1. It is
   * called in every pass and may not wait.
   */
  readonly input?: ((input: Input, partition: number) => unknown) | undefined
  /** The schemas of the events that it may publish, by type. Stages that publish the same type give it the same schema. */
  readonly publishes?: Schemas | undefined
  /** The types of events that it receives; a stage before it publishes each of them. */
  readonly subscribes?: readonly string[] | undefined
  /**
   * The stage runs as so many tasks, 1 to 64; 1 by default. The key of an event decides which of them receives it, so that events of a key keep their
   * order. Events without a key go to them in turn. A pipeline keeps the number that it began with.
   */
  readonly partitions?: number | undefined
  readonly options?: NodeOptions | undefined
}

export interface PipelineDefinition<Name extends string, Input extends Schema> extends Omit<
  TaskDefinitionOptions<Name, Input, undefined>,
  'type' | 'input' | 'output' | 'signals' | 'approvals' | 'emits'
> {
  /** The task type of the pipeline. */
  readonly name: Name
  /** The schema of its input; without one, any input is taken. */
  readonly input?: Input | undefined
  /** In order: a stage receives only what a stage before it publishes. */
  readonly stages: readonly DefinedStage<TaskDefinition, OutputOf<Input>>[]
  /**
   * So many events of a type that a stage has not received, 1 to 100 000, hold back those who publish it: they wait without a slot. 1000 by
   * default.
   */
  readonly maxUnread?: number | undefined
}

/**
 * Defines a streaming pipeline as a task type: it is submitted like any other task, starts its stages in order, and waits without a slot. Each stage receives events of
 * those before it while they run. The task gives the results of its stages by name, of a stage with partitions a list, and fails with the first stage that fails. Throws `ConfigError` naming
 * every field that is wrong, and `pipeline_constraint_violation` whose `details.violations` has every stage that receives what no stage
 * before it publishes, in order. Source: `docs/pipelines.md`; `docs/semantics.md 13.1, 13.2`.
 */
export function definePipeline<const Name extends string, Input extends Schema = Schema>(
  definition: PipelineDefinition<Name, Input>,
): TaskDefinition<Name, InputOf<Input>, Record<string, unknown>> {
  if (!isRecord(definition)) {
    const allowed = 'an object with name, stages and the other options of defineTask'
    throw new ConfigError([{ path: 'pipeline', allowed, given: definition }])
  }
  const {
    name,
    stages,
    maxUnread,
    input: accepts,
    ...options
  } = definition as PipelineDefinition<Name, Input>
  const problems = [
    ...nameProblems(name, options),
    ...problemsIn(withoutUndefined({ maxUnread }), settingRules, { path: 'pipeline: ' }),
    ...optionProblems({ ...options, type: isName(name) ? name : '…', input: accepts ?? anything }, kind),
    ...stagesProblems(stages),
  ]
  if (problems.length > 0) {
    const all = [...problems, ...orderProblems(stages)]
    throw new ConfigError(isName(name) ? all.map((it) => withName(it, name)) : all)
  }
  const terms = {
    stages: stages.map((stage) => ({
      ...orderOf(stage),
      ...(stage.partitions === undefined || stage.partitions === 1 ? {} : { partitions: stage.partitions }),
    })),
    maxUnread: maxUnread ?? 1_000,
  }
  const violations = checkStages(terms.stages)
  if (violations.length > 0)
    throw new RuntimeError(
      'pipeline_constraint_violation',
      `pipeline '${name}': ${violationsText(violations, terms.stages)}`,
      { details: { violations } },
    )
  const schemas = new Map<string, Schema>()
  for (const { publishes = {} } of stages)
    for (const [type, schema] of Object.entries(publishes)) schemas.set(type, schema)
  keepEventSchemas(name, schemas)
  const pipeline = defineTask(
    { ...options, type: name, input: accepts ?? anything } as TaskDefinitionOptions<
      Name,
      Input,
      undefined,
      Declarations<undefined, undefined, undefined>
    >,
    async (ctx, input) => {
      const tasks = stages.map(({ name: stage, task, input: make, options: given = {} }) => ({
        stage,
        task,
        inputOf: (partition: number) => make?.(input, partition),
        options: given,
      }))
      return (ctx as unknown as HandlerContext).pipeline(terms, tasks)
    },
  )
  return naming(pipeline, 'pipeline', () =>
    stages.map(({ name: stage, task }) => ({ place: `stage '${stage}' task`, type: task.type })),
  )
}

/** Which pipeline a problem is of. */
function withName(problem: ConfigProblem, name: string): ConfigProblem {
  return { ...problem, path: problem.path.replace(/^pipeline: /, () => `pipeline '${name}': `) }
}

/** Takes any input as it is. */
const anything: Schema = {
  '~standard': { version: 1, vendor: 'ku0', validate: (value) => ({ value }) },
}

/** The task type of a pipeline is its name: unlike other definitions it has no `type`. */
function nameProblems(name: unknown, options: object): readonly ConfigProblem[] {
  if (isName(name) && !name.startsWith(RESERVED)) return []
  const { type } = options as { readonly type?: unknown }
  return name === undefined && type !== undefined
    ? [{ path: 'pipeline: type', allowed: 'no such option, write name', given: type }]
    : [{ path: 'pipeline: name', allowed: `a name of ${nameRule[0]}`, given: name }]
}

function stagesProblems(stages: unknown): readonly ConfigProblem[] {
  if (!Array.isArray(stages) || stages.length === 0)
    return [{ path: 'pipeline: stages', allowed: 'a list of stages, at least one', given: stages }]
  return (stages as readonly unknown[]).flatMap((stage, at) => {
    const path = `pipeline: stage ${at + 1}`
    if (!isRecord(stage)) return [{ path, allowed: 'an object with name and task', given: stage }]
    const { options } = stage
    const rules = { path: `${path} `, required: ['name', 'task'], familiar: familiarToStage }
    return [
      ...problemsIn(isWithoutSchema(stage) ? { ...stage, publishes: undefined } : stage, stageRules, rules),
      ...withoutSchema(stage, path),
      ...(isRecord(options) ? problemsIn(options, nodeRules, { path: `${path} options.` }) : []),
      ...otherSchemas(stages, stage, path),
    ]
  })
}

/** The types of a stage whose names are fine, and which have no schema. */
function withoutSchema(
  { publishes }: Readonly<Record<string, unknown>>,
  path: string,
): readonly ConfigProblem[] {
  if (!isRecord(publishes)) return []
  return Object.entries(publishes).flatMap(([type, given]) =>
    isEventType(type) && !isSchema(given)
      ? [{ path: `${path} publishes.${type}`, allowed: 'a schema, such as z.object({ … })', given }]
      : [],
  )
}

/** Whether the schemas are all that is wrong with what a stage publishes. */
function isWithoutSchema(stage: Readonly<Record<string, unknown>>): boolean {
  const { publishes } = stage
  return (
    withoutSchema(stage, '').length > 0 && isRecord(publishes) && Object.keys(publishes).every(isEventType)
  )
}

/** A type has one schema, whoever publishes it. */
function otherSchemas(
  stages: readonly unknown[],
  { publishes }: Readonly<Record<string, unknown>>,
  path: string,
): readonly ConfigProblem[] {
  return Object.entries(isRecord(publishes) ? publishes : {}).flatMap(([type, schema]) => {
    if (!isSchema(schema)) return []
    const first = stages.find(
      (it) => isRecord(it) && isRecord(it['publishes']) && Object.hasOwn(it['publishes'], type),
    ) as { readonly name: unknown; readonly publishes: Readonly<Record<string, unknown>> }
    const allowed = `the schema that stage '${String(first.name)}' gives the type '${type}': keep it in a constant, and name it in both stages`
    return first.publishes[type] === schema ? [] : [{ path: `${path} publishes`, allowed }]
  })
}

/** What is wrong with the order of stages whose names and types can be read. */
function orderProblems(stages: unknown): readonly ConfigProblem[] {
  const holds = (stage: unknown) =>
    isRecord(stage) &&
    (['name', 'publishes', 'subscribes'] as const).every(
      (field) => (stage[field] === undefined && field !== 'name') || stageRules[field][1](stage[field]),
    )
  if (!Array.isArray(stages) || !stages.every(holds)) return []
  const order = (stages as DefinedStage[]).map(orderOf)
  return checkStages(order).map((it) => ({ path: 'pipeline: stages', allowed: violationsText([it], order) }))
}

function orderOf({ name: stage, publishes = {}, subscribes = [] }: DefinedStage): StageTerms {
  return { stage, publishes: Object.keys(publishes), subscribes: [...subscribes] }
}

function isEventType(type: unknown): boolean {
  return typeof type === 'string' && eventType.test(type)
}

const eventType = /^[\w.-]{1,60}$/
const { idempotencyKey: _, client: __, taskId: ___, ...nodeRules } = submitRules
const kind = {
  kind: 'pipeline',
  own: ['name', 'input', 'stages', 'maxUnread'],
  without: ['type', ...partsOnly],
}
const settingRules: Rules<{ readonly maxUnread?: number }> = { maxUnread: wholeNumber(1, 100_000) }
const stageRules: Rules<DefinedStage> = {
  name: [
    'a name of 1 to 100 letters, digits, _, - and .',
    (name) => typeof name === 'string' && /^[\w.-]{1,100}$/.test(name),
  ],
  task: [madeBy, (task) => taskTermsOf(task) !== undefined],
  input: ['a function of the input of the pipeline', (make) => typeof make === 'function'],
  publishes: [
    'an object of schemas by type; a type is 1 to 60 letters, digits, _, - and .',
    (given) =>
      isRecord(given) &&
      Object.entries(given).every(([type, schema]) => isEventType(type) && isSchema(schema)),
  ],
  subscribes: [
    'a list of types, at most 8, each once',
    (given) =>
      Array.isArray(given) &&
      given.length <= 8 &&
      given.every(isEventType) &&
      new Set(given).size === given.length,
  ],
  partitions: wholeNumber(1, MAX_PARTITIONS),
  options: ['an object with options of submit', isRecord],
}
