import type { Dimension, Scores } from './evaluation.ts'

/** Where an agent stands. Source: `docs/semantics.md 15.3`. */
export interface ReputationRow {
  readonly agent: string
  readonly reputation: number
  /** How many it has had. */
  readonly evaluations: number
  readonly average: Scores
  readonly latest: Scores
  readonly lastAt: number
}

/** One evaluation of an agent, and the reputation that it led to. */
export interface EvaluationRow {
  readonly agent: string
  /** Also how many the agent has had. */
  readonly seq: number
  readonly at: number
  readonly domain: string
  readonly scores: Scores
  readonly missing: readonly Dimension[]
  readonly composite: number
  readonly reputation: number
  /** From the average of those before it; null for the first. */
  readonly distance: number | null
  readonly change: number | null
  readonly taskId: string | null
  readonly key: string | null
}
