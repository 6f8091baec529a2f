import type {
  Dimension,
  EvaluationRecord,
  ReputationRecord,
  Scores,
  SimilarAgent,
  Weights,
} from './evaluation.ts'

/** Writes about evaluations. */
export interface EvaluationWrites {
  /**
   * Adds an evaluation to an agent's history and folds it into its reputation, in one commit. With a `key` that the agent has a kept
   * evaluation of, that one answers. Source: `docs/semantics.md 15.3`.
   */
  evaluate: {
    fields: {
      readonly agentId: string
      readonly domain: string
      readonly weights: Weights
      readonly scores: Scores
      readonly missing: readonly Dimension[]
      readonly taskId?: string
      readonly key?: string
    }
    outcome:
      /** `conflict`: the key belongs to an evaluation with other content. */
      | {
          readonly as: 'recorded' | 'conflict'
          readonly deduplicated: boolean
          readonly evaluation: EvaluationRecord
        }
      /** There are `maxEvaluatedAgents` already. */
      | { readonly as: 'full' }
  }
}

/** Reads about evaluations. */
export interface EvaluationReads {
  reputation: { fields: { readonly agentId: string }; answer: ReputationRecord | undefined }
  /** The agents that were evaluated, by their names, after `after`. `limit` is 1 to 1000. */
  agents: {
    fields: { readonly after?: string; readonly limit: number }
    answer: readonly ReputationRecord[]
  }
  /** An agent's kept evaluations, newest first, with a seq below `before`. `limit` is 1 to 1000. */
  evaluations: {
    fields: { readonly agentId: string; readonly limit: number; readonly before?: number }
    answer: readonly EvaluationRecord[]
  }
  /** The agents whose averages are the nearest, nearest first; undefined when it was never evaluated. `limit` is 1 to 1000. */
  similar: {
    fields: { readonly agentId: string; readonly weights: Weights; readonly limit: number }
    answer: readonly SimilarAgent[] | undefined
  }
}
