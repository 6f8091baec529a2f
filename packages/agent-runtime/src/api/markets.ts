import type { ClientTier, Proposal, RankedProposal, RankWeights, Scores } from '@ku0/agent-runtime-core'

/** A job that a client posts: the work, and what it asks of the agent that does it. Source: `docs/marketplace.md`. */
export type Job<Work = unknown> = {
  /** The input of the marketplace: what is to be done. */
  readonly work: Work
  /** Capabilities that the agent has to have. */
  readonly needs?: readonly string[] | undefined
  /** Capabilities that count in the ranking. */
  readonly prefers?: readonly string[] | undefined
  /** The kind of work that the agent has to be for; evaluations use the weights of that domain, if it has some. */
  readonly domain?: string | undefined
  /** The highest price, in credits. */
  readonly maxPrice?: number | undefined
  /** An agent that was evaluated: those whose average is near its own rank higher. */
  readonly like?: string | undefined
  /** The time that the work should take at the most, ms. A promise of the agent comes first. */
  readonly targetMs?: number | undefined
}

/** The contract of a job. */
export type JobContract = {
  /** The name of the agent. */
  readonly agent: string
  /** Its price for the whole job, in credits. */
  readonly price: number
  readonly tier: ClientTier
  /** The time that the work should take at the most, ms. */
  readonly targetMs?: number | undefined
}

/** A part of a job: the work of one agent. */
export type JobPart = {
  /** The agent that does it. */
  readonly agent: string
  /** Its input as a value. With neither this nor `inputFrom` it is the work of the job. */
  readonly input?: unknown
  /** The part whose output is the input; or, for each field of the input, the part whose output it is. */
  readonly inputFrom?: string | Readonly<Record<string, string>> | undefined
  /** Further parts that must complete before it starts. */
  readonly after?: readonly string[] | undefined
  /** Its estimated cost in credits; parts without one share what is left of the price. */
  readonly cost?: number | undefined
}

/** The parts of a job by name, as a graph. */
export type Decomposition = {
  readonly parts: Readonly<Record<string, JobPart>>
  /** The part whose output is the result; needed where more than one part comes last. */
  readonly result?: string | undefined
}

/** The facts about the work, from the records of its tasks. */
export type JobMeasures = {
  /** From the first start of a part to the last end, ms. */
  readonly elapsedMs: number
  /** The credits that the parts have cost. */
  readonly cost: number
  /** The share of tries that did not succeed. */
  readonly errors: number
  /** How often a person sent work back. */
  readonly revisions: number
}

/** The judgement of the work. */
export interface JobEvaluation {
  readonly scores: Scores
  readonly composite: number
  /** The agent's reputation from this evaluation on. */
  readonly reputation: number
}

/** The result of a job. */
export interface JobResult<Result = unknown> {
  readonly result: Result
  readonly contract: JobContract
  /** The credits that the work has cost. */
  readonly cost: number
  readonly evaluation: JobEvaluation
}

/** The input of the stage that negotiates. */
export type Negotiation<Work = unknown> = {
  readonly job: Job<Work>
  /** The best first. */
  readonly proposals: readonly RankedProposal[]
}

/** The input of the stage that decomposes. */
export type ContractedJob<Work = unknown> = {
  readonly job: Job<Work>
  readonly contract: JobContract
}

/** The input of the stage that executes. */
export type DecomposedJob<Work = unknown> = ContractedJob<Work> & {
  readonly decomposition: Decomposition
}

/** The input of the stage that evaluates. */
export type ExecutedJob<Work = unknown, Result = unknown> = ContractedJob<Work> & {
  readonly result: Result
  readonly measures: JobMeasures
}

/** How a marketplace ranks proposals. Source: `docs/semantics.md 13.6`. */
export interface RankingSettings {
  /** Weights of the terms, which sum to 1; a quarter each by default. */
  readonly weights?: Partial<RankWeights> | undefined
  /** How much reputation counts in the effective weight, 0 to 100; 1 by default. */
  readonly beta?: number | undefined
  /** The share of jobs, 0 to 1, whose ranking leaves out what is known of agents; 0.05 by default. */
  readonly exploration?: number | undefined
}

export type { Proposal, RankedProposal }
