import {
  domainWeights,
  type Proposal,
  type RankedProposal,
  type RankWeights,
  type Weights,
} from '@ku0/agent-runtime-core'
import type { AgentRegistry } from '../agents/registry.ts'
import type { ScoresInput } from '../api/evaluations.ts'
import type { Decomposition, Job, JobContract, JobMeasures } from '../api/markets.ts'
import type { Schema } from '../api/schema.ts'
import type { TaskType } from '../api/task-type.ts'

/** The input of each stage that a program may do itself. */
interface StageInputs<Work, Result> {
  readonly propose: PostedJob<Work>
  readonly negotiate: { job: PostedJob<Work>; proposals: Plain<RankedProposal>[] }
  readonly decompose: { job: PostedJob<Work>; contract: JobContract }
  readonly execute: { job: PostedJob<Work>; contract: JobContract; decomposition: Plain<Decomposition> }
  readonly evaluate: { job: PostedJob<Work>; contract: JobContract; result: Result; measures: JobMeasures }
}

type PostedJob<Work> = Plain<Omit<Job<never>, 'work'>> & { work: Work }

/** Schemas read into lists that can be changed, and a list that cannot is no such list. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { -readonly [K in keyof T]: Plain<T[K]> }
    : T

/** Tasks that do a stage in place of the marketplace. Each runs as a child, and what it gives is checked. */
export interface MarketplaceStages<Result = unknown> {
  /** Gathers proposals for a `Job`. Without it each agent that fits proposes its cost. */
  readonly propose?: Gives<readonly Proposal[]> | undefined
  /** Makes a contract of the ranked proposals of a `Negotiation`. Without it the best one is taken, or, under oversight, the best one that a person approves. */
  readonly negotiate?: Gives<JobContract> | undefined
  /** Cuts the work of a `ContractedJob` into parts. Without it the contracted agent does all of it. */
  readonly decompose?: Gives<Decomposition> | undefined
  /** Does the work of a `DecomposedJob`, under a supervisor for example. Without it the parts run as a graph of children. */
  readonly execute?: Gives<Result> | undefined
  /** Judges an `ExecutedJob`, 1 being the best; what it leaves out is measured. Without it only measures count. */
  readonly evaluate?: Gives<ScoresInput> | undefined
}

/** Stages, each of which takes what the one before it gives. */
export type StagesFor<Stages, Work, Result> = {
  readonly [K in keyof Stages]: K extends keyof StageInputs<Work, Result>
    ? Stages[K] extends TaskType<string, infer Taken>
      ? StageInputs<Work, Result>[K] extends Taken
        ? Stages[K]
        : TaskType<string, StageInputs<Work, Result>[K]>
      : Stages[K]
    : never
}

// oxlint-disable-next-line typescript/no-explicit-any -- StagesFor compares what it takes.
type Gives<Output> = TaskType<string, any, Output>

/** A marketplace as its jobs see it. */
export interface Market {
  readonly output: Schema
  readonly agents: AgentRegistry
  readonly contracted: ReadonlySet<string>
  readonly stages: { readonly [S in keyof MarketplaceStages]?: TaskType | undefined }
  readonly ranking: {
    readonly weights: RankWeights
    readonly beta: number
    readonly exploration: number
  }
  readonly weights: Weights | undefined
}

/** The weights that evaluations of a job have. */
export function weightsOf(market: Market, domain: string | undefined): Weights {
  if (market.weights !== undefined) return market.weights
  return domain !== undefined && Object.hasOwn(domainWeights, domain)
    ? domainWeights[domain as keyof typeof domainWeights]
    : domainWeights.default
}
