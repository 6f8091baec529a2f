/** The dimensions of judging an agent's work. Source: agent-scheduler-paper 8.1; `docs/semantics.md 15.1`. */
export const dimensions = ['quality', 'adherence', 'speed', 'cost', 'errors', 'revisions'] as const
export type Dimension = (typeof dimensions)[number]

/** A judgement, normalised: in every dimension 0 is the worst and 1 the best. */
export type Scores = Readonly<Record<Dimension, number>>

/** How much each dimension counts: 0 or more, 1 in all. */
export type Weights = Readonly<Record<Dimension, number>>

/** The weights of the domains that have a name. Source: agent-scheduler-paper 8.5; `docs/semantics.md 15.1`. */
export const domainWeights = {
  default: { quality: 0.25, adherence: 0.2, speed: 0.15, cost: 0.15, errors: 0.15, revisions: 0.1 },
  legal: { quality: 0.35, adherence: 0.25, speed: 0.05, cost: 0.1, errors: 0.15, revisions: 0.1 },
  security: { quality: 0.3, adherence: 0.2, speed: 0.1, cost: 0.1, errors: 0.2, revisions: 0.1 },
  dashboard: { quality: 0.2, adherence: 0.15, speed: 0.25, cost: 0.2, errors: 0.1, revisions: 0.1 },
} as const satisfies Readonly<Record<string, Weights>>

/** One evaluation of an agent, as it is kept. */
export interface EvaluationRecord {
  readonly agentId: string
  /** Rises by one within the agent, from 1. */
  readonly seq: number
  /** Epoch ms by the store's clock. */
  readonly at: number
  readonly domain: string
  readonly scores: Scores
  /** Dimensions that nobody gave. */
  readonly missing: readonly Dimension[]
  /** The weighted sum of the scores, 0 to 1. */
  readonly composite: number
  /** The agent's reputation from this evaluation on. */
  readonly reputation: number
  /** How far it is from the average of those before it, by its own weights; absent from the first. */
  readonly distance?: number
  /** Its composite less that of the average before it: below 0 it is worse. Absent from the first. */
  readonly change?: number
  /** The task that was judged. */
  readonly taskId?: string
  /** Makes a repeated call count once. */
  readonly key?: string
}

/** Where an agent stands. */
export interface ReputationRecord {
  readonly agentId: string
  /** The moving average of its composites, 0 to 1. Source: `docs/semantics.md 15.3`. */
  readonly reputation: number
  /** How many evaluations it has had, those that are not kept any more included. */
  readonly evaluations: number
  /** The mean of each dimension over all of them. */
  readonly average: Scores
  readonly latest: Scores
  /** When it was last evaluated, epoch ms. */
  readonly lastAt: number
}

/** An agent that another is like, and how far it is from it. */
export interface SimilarAgent extends ReputationRecord {
  /** 0 for the same average; by weights that sum to 1 it is 1 at the most. */
  readonly distance: number
}
