import type {
  Dimension,
  EvaluationRecord,
  ReputationRecord,
  SimilarAgent,
  Weights,
} from '@ku0/agent-runtime-core'

/**
 * How good agents are: judgements of their work in six dimensions, kept in the store, and the reputation that they add up to. An agent
 * is any name of 1 to 255 characters; that of `defineAgent`, or a client's, will do. Calls that are given something outside what they
 * document throw `invalid_argument`, and nothing is stored then. Source: `docs/semantics.md 15.1-15.4`.
 */
export interface Evaluations {
  /**
   * Adds a judgement of an agent's work: any of `quality adherence speed cost errors revisions`, 0 to 1, where 1 is the best unless
   * `entry` is `raw`. Resolves once it is committed; judgements from several processes at once are folded one after another, and none
   * is lost.
   *
   * Throws `invalid_argument` for a name that is no dimension, what is no number, an unknown domain, weights that do not sum to 1;
   * `idempotency_conflict` for a key of another judgement; `limit_exceeded` when there are `maxEvaluatedAgents`; `store_*`.
   */
  record(agentId: string, scores: ScoresInput, options?: EvaluationOptions): Promise<RecordedEvaluation>
  /** Where an agent stands; undefined if it was never evaluated. */
  reputation(agentId: string): Promise<ReputationRecord | undefined>
  /** Its evaluations, newest first: the last `maxEvaluationsKept` are kept. */
  history(agentId: string, options?: EvaluationPage): Promise<readonly EvaluationRecord[]>
  /**
   * The agents whose average scores are the nearest to its own, nearest first. Throws `not_found` if it was never evaluated. Source:
   * `docs/semantics.md 15.3`.
   */
  similar(agentId: string, options?: SimilarOptions): Promise<readonly SimilarAgent[]>
  /** Whether its latest work departs from what it used to be; undefined if it was never evaluated. Source: `docs/semantics.md 15.3`. */
  drift(agentId: string, options?: DriftOptions): Promise<Drift | undefined>
}

/** Some of the dimensions. */
export type ScoresInput = { readonly [D in Dimension]?: number | undefined }

/** Weights of the dimensions, which sum to 1; one that is not named weighs nothing. */
export type WeightsInput = { readonly [D in keyof Weights]?: Weights[D] | undefined }

/** What a judgement may say besides its scores. */
export interface EvaluationOptions {
  /**
   * `normalised` (the default): 1 is the best everywhere. `raw`: as measured; `errors` is the share of failures, `revisions` how often
   * work was sent back, and both are inverted. Source: `docs/semantics.md` C15.
   */
  readonly entry?: 'raw' | 'normalised' | undefined
  /** Raw only: so many revisions and more are the worst; 1 by default. A number above 0. */
  readonly maxRevisions?: number | undefined
  /** `default`, `legal`, `security`, `dashboard`, one of the runtime's own, or, with `weights`, any name of 1 to 255 characters. */
  readonly domain?: string | undefined
  /** In place of the domain's. Without a `domain` it is called `custom` then. */
  readonly weights?: WeightsInput | undefined
  /** The task that is judged, by its id. */
  readonly taskId?: string | undefined
  /** 1 to 255 characters: a second call with the same key, of the same agent, gets the first one's evaluation, as long as that is kept. */
  readonly key?: string | undefined
  /** Throw for a dimension that is missing or out of bounds, where it is otherwise listed or clamped; false by default. */
  readonly strict?: boolean | undefined
}

/** An evaluation as it was recorded. */
export interface RecordedEvaluation extends EvaluationRecord {
  /** True when an earlier call with the same key answered. */
  readonly deduplicated: boolean
}

export interface EvaluationPage {
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
  /** Only those with a smaller `seq`. */
  readonly before?: number | undefined
}

export interface SimilarOptions {
  /** 1 to 1000, 10 by default. */
  readonly limit?: number | undefined
  /** By whose weights the distance is taken; `default` by default. */
  readonly domain?: string | undefined
  /** In place of the domain's. */
  readonly weights?: WeightsInput | undefined
}

export interface DriftOptions {
  /** A number above 0, up to 1; the runtime's `driftThreshold` by default. */
  readonly threshold?: number | undefined
}

/** How far an agent's latest evaluation is from the average of all before it. */
export interface Drift {
  readonly agentId: string
  /** Whether it is farther than the threshold. */
  readonly drifted: boolean
  /** 0 for the first. */
  readonly distance: number
  /** Below 0 the latest is worse. */
  readonly change: number
  readonly threshold: number
  readonly latest: EvaluationRecord
}

/** How a runtime evaluates. */
export interface EvaluationSettings {
  /** Weights by the name of a domain, 1 to 255 characters; one of a known name takes its place. */
  readonly domains?: Readonly<Record<string, WeightsInput>> | undefined
  /** The distance beyond which `evaluation.drifted` is published, above 0, up to 1; 0.2 by default. */
  readonly driftThreshold?: number | undefined
}
