import {
  ConfigError,
  type ConfigProblem,
  defaultRankWeights,
  isAmount,
  isList,
  isName,
  isRecord,
  instead,
  isWithinOne,
  namesRule,
  problemsIn,
  rankTerms,
  type RankWeights,
  readWeights,
  type Rule,
  type Rules,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { AgentDefinition } from '../agents/define-agent.ts'
import type { AgentRegistry } from '../agents/registry.ts'
import { createAgentRegistry } from '../agents/registry.ts'
import type { WeightsInput } from '../api/evaluations.ts'
import type { Job, JobResult, RankingSettings } from '../api/markets.ts'
import type { InputOf, OutputOf, Schema } from '../api/schema.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskDefinitionOptions, TaskType } from '../api/task-type.ts'
import type { HandlerContext } from '../durable/context.ts'
import { isSchema } from '../terms/schema.ts'
import { naming } from '../terms/named-tasks.ts'
import { defineTask, madeBy, optionProblems, partsOnly, taskTermsOf } from '../terms/task-definition.ts'
import { jobSchema } from './job-schema.ts'
import type { Market, MarketplaceStages, StagesFor } from './market.ts'
import { runJob } from './run-job.ts'

export interface MarketplaceDefinition<
  Name extends string,
  Input extends Schema,
  Output extends Schema,
  Stages extends MarketplaceStages<InputOf<Output>> = MarketplaceStages<InputOf<Output>>,
> extends Omit<
  TaskDefinitionOptions<Name, Schema, undefined>,
  'type' | 'input' | 'output' | 'signals' | 'approvals' | 'emits' | 'isolation' | 'module' | 'memoryMb'
> {
  /** The task type of its jobs. */
  readonly name: Name
  /** The schema of the work. */
  readonly input: Input
  /** The schema of the result. */
  readonly output: Output
  /** The agents that may do the work. Give their tasks to the runtime as well. */
  readonly agents: AgentRegistry | readonly AgentDefinition[]
  /** The names of the agents that work under contract, which weigh four times the others. */
  readonly contracted?: readonly string[] | undefined
  readonly stages?: (Stages & StagesFor<Stages, OutputOf<Input>, OutputOf<Output>>) | undefined
  readonly ranking?: RankingSettings | undefined
  /** The weights of evaluations and of similarity; those of the job's domain by default. */
  readonly weights?: WeightsInput | undefined
}

/**
 * Defines a marketplace as a task type. Submit a {@link Job}: proposals of agents are gathered and ranked, a contract is made, the work is decomposed, done and
 * evaluated. The result of each stage is recorded before the next one begins. Submit it with `cost: 0`, or with a fee: the parts of the work are paid for by
 * their own. Throws {@link ConfigError} naming every field that is wrong. Source: agent-scheduler-paper 3.6; `docs/marketplace.md`; `docs/semantics.md
 * 13.6`.
 */
export function defineMarketplace<
  const Name extends string,
  Input extends Schema,
  Output extends Schema,
  Stages extends MarketplaceStages<InputOf<Output>> = Readonly<Record<never, never>>,
>(
  definition: MarketplaceDefinition<Name, Input, Output, Stages>,
): TaskDefinition<Name, Job<InputOf<Input>>, JobResult<OutputOf<Output>>> {
  const problems = problemsOf(definition)
  if (problems.length > 0) throw new ConfigError(problems)
  const {
    name,
    input,
    output,
    agents,
    contracted = [],
    stages = {},
    ranking = {},
    weights,
    ...options
  } = definition
  const market = {
    output,
    // A list has a function `find` as well.
    agents: isList(agents) ? createAgentRegistry(agents) : agents,
    contracted: new Set(contracted),
    stages,
    ranking: {
      weights: rankWeightsOf(ranking.weights),
      beta: ranking.beta ?? 1,
      exploration: ranking.exploration ?? 0.05,
    },
    weights: weights === undefined ? undefined : readWeights(weights),
  }
  const marketplace = defineTask({ ...options, type: name, input: jobSchema(input) }, async (ctx, job) =>
    runJob(ctx as unknown as HandlerContext, market as Market, job),
  ) as TaskDefinition<Name, Job<InputOf<Input>>, JobResult<OutputOf<Output>>>
  return naming(marketplace, 'marketplace', () => [
    ...Object.entries<TaskType>(withoutUndefined(stages)).map(([stage, { type }]) => ({
      place: `stages.${stage}`,
      type,
    })),
    ...(picksItself(stages)
      ? market.agents.tasks.map(({ type }) => ({ place: `agent '${type}'`, type }))
      : []),
  ])
}

/** Whether any of its agents may get work: a stage of the program's own picks whom it likes, and `execute` does the work in their place. */
function picksItself({ propose, negotiate, decompose, execute }: MarketplaceStages): boolean {
  return [propose, negotiate, decompose, execute].every((stage) => stage === undefined)
}

function rankWeightsOf(given: RankingSettings['weights']): RankWeights {
  if (given === undefined) return defaultRankWeights
  return { capability: 0, price: 0, weight: 0, similarity: 0, ...withoutUndefined(given) }
}

function problemsOf(given: unknown): ConfigProblem[] {
  if (!isRecord(given)) {
    const allowed = 'an object with name, input, output, agents and the other options of defineTask'
    return [{ path: 'marketplace', allowed, given }]
  }
  const { name, input } = given
  const path = isName(name) ? `marketplace '${name}': ` : 'marketplace: '
  const own = Object.fromEntries(ownOptions.map((option) => [option, given[option]]))
  const others = Object.fromEntries(Object.entries(given).filter(([option]) => !(option in rules)))
  const isolated = isolation.flatMap((option) =>
    given[option] === undefined
      ? []
      : [
          {
            path: path + option,
            allowed: 'no such option: only its agents can be isolated',
            given: given[option],
          },
        ],
  )
  for (const option of isolation) delete others[option]
  const terms = { ...others, type: isName(name) ? name : '…', input: jobSchema(input as Schema) }
  return [
    ...problemsIn(withoutUndefined(own), rules, {
      path,
      required: ['name', 'input', 'output', 'agents'],
    }),
    ...isolated,
    ...optionProblems(terms, kind),
    ...contractProblems(given, `${path}contracted`),
    ...partProblems(given['stages'], stageRules, `${path}stages.`),
    ...partProblems(given['ranking'], rankingRules, `${path}ranking.`),
    ...weightsProblems(given['weights'], `${path}weights`),
  ]
}

/** A name that no agent has would weigh nothing, and nobody would see it. */
function contractProblems(
  { agents, contracted }: Readonly<Record<string, unknown>>,
  path: string,
): ConfigProblem[] {
  if (!isAgents(agents) || !namesRule[1](contracted)) return []
  const list = isList(agents) ? (agents as readonly AgentDefinition[]) : (agents as AgentRegistry).find()
  const known = list.map(({ profile }) => profile.name)
  return (contracted as readonly string[])
    .filter((name) => !known.includes(name))
    .map((name) => ({ path, allowed: `names of its agents${instead(name, known)}`, given: name }))
}

function partProblems(given: unknown, part: Readonly<Record<string, Rule>>, path: string): ConfigProblem[] {
  const familiar = { contracted: 'write contracted beside ranking, not in it' }
  return isRecord(given) ? problemsIn(withoutUndefined(given), part, { path, familiar }) : []
}

function weightsProblems(given: unknown, path: string): ConfigProblem[] {
  if (given === undefined) return []
  try {
    readWeights(given)
    return []
  } catch (error) {
    return [{ path, allowed: (error as Error).message, given }]
  }
}

function isRankWeights(given: unknown): boolean {
  if (!isRecord(given)) return false
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  const sum = entries.reduce((total, [, value]) => total + Number(value), 0)
  return (
    entries.every(([term, value]) => (rankTerms as readonly string[]).includes(term) && isAmount(value)) &&
    Math.abs(sum - 1) <= 1e-9
  )
}

function isAgents(given: unknown): boolean {
  if (isRecord(given)) return typeof given['find'] === 'function' && typeof given['get'] === 'function'
  return isList(given) && given.length > 0 && given.every((it) => isRecord(it) && isRecord(it['profile']))
}

const taskRule = [madeBy, isTask] as const

function isTask(task: unknown): boolean {
  return taskTermsOf(task) !== undefined
}

const rules: Rules<
  Pick<
    MarketplaceDefinition<string, Schema, Schema>,
    'name' | 'input' | 'output' | 'agents' | 'contracted' | 'stages' | 'ranking' | 'weights'
  >
> = {
  // defineTask says what is wrong with it.
  name: ['a name', (name) => typeof name === 'string'],
  input: ['a schema', isSchema],
  output: ['a schema', isSchema],
  agents: ['what createAgentRegistry returns, or a list of agents, at least one', isAgents],
  contracted: namesRule,
  stages: ['an object with propose, negotiate, decompose, execute, evaluate', isRecord],
  ranking: ['an object with weights, beta, exploration', isRecord],
  weights: ['', () => true],
}
const ownOptions = Object.keys(rules)
const isolation = ['isolation', 'module', 'memoryMb']
const kind = { kind: 'marketplace', own: ownOptions, without: ['type', ...isolation, ...partsOnly] }
const stageRules: Rules<MarketplaceStages> = {
  propose: taskRule,
  negotiate: taskRule,
  decompose: taskRule,
  execute: taskRule,
  evaluate: taskRule,
}
const rankingRules: Rules<RankingSettings> = {
  weights: [`numbers of 0 or more for ${rankTerms.join(', ')}, which sum to 1`, isRankWeights],
  beta: ['a number from 0 to 100', (value) => isAmount(value) && value <= 100],
  exploration: ['a number from 0 to 1', (value) => isWithinOne(value)],
}
