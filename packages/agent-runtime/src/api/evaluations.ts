import type {
  Dimension,
  EvaluationRecord,
  ReputationRecord,
  SimilarAgent,
  Weights,
} from '@ku0/agent-runtime-core'

/**
 * How good agents are: judgements of their work in six dimensions, stored, and the reputation that they add
 * up to. An agent is any name of 1 to 255 characters, such as the name of a `defineAgent` or of a client. A
 * call throws `invalid_argument` for an argument it does not accept, and then stores nothing. Source:
 * `docs/semantics.md 15.1-15.4`.
 */
export interface Evaluations {
  /**
   * Adds a judgement of an agent's work: any of `quality adherence speed cost errors revisions`, from 0 to 1,
   * where 1 is the best unless `entry` is `raw`. Resolves once it is committed. Judgements that several
   * processes record at once are added one after another, and none is lost.
   *
   * Throws `invalid_argument` for an unknown dimension, a value that is not a number, an unknown domain, or
   * weights that do not sum to 1; `idempotency_conflict` for a key of another judgement; `limit_exceeded`
   * above `maxEvaluatedAgents`; `store_*`.
   */
  record(agentId: string, scores: ScoresInput, options?: EvaluationOptions): Promise<RecordedEvaluation>
  /** An agent's reputation. Undefined if it was never evaluated. */
  reputation(agentId: string): Promise<ReputationRecord | undefined>
  /** A page of the agents that were evaluated, by their names, with their reputations. The next page begins after the last name. */
  agents(page?: AgentPage): Promise<readonly ReputationRecord[]>
  /** The agent's evaluations, newest first. Only the last `maxEvaluationsKept` are kept. */
  history(agentId: string, options?: EvaluationPage): Promise<readonly EvaluationRecord[]>
  /**
   * The agents with the most similar average scores, the nearest first. Throws `not_found` if the agent was
   * never evaluated. Source: `docs/semantics.md 15.3`.
   */
  similar(agentId: string, options?: SimilarOptions): Promise<readonly SimilarAgent[]>
  /**
   * Whether an agent's latest work differs from its earlier work. Undefined if it was never evaluated.
   * Source: `docs/semantics.md 15.3`.
   */
  drift(agentId: string, options?: DriftOptions): Promise<Drift | undefined>
}

/** Some of the dimensions. */
export type ScoresInput = { readonly [D in Dimension]?: number | undefined }

/** Weights of the dimensions, which sum to 1. A dimension that is not named has the weight 0. */
export type WeightsInput = { readonly [D in keyof Weights]?: Weights[D] | undefined }

/** Options of a judgement. */
export interface EvaluationOptions {
  /**
   * `normalised` (the default): 1 is the best in every dimension. `raw`: as measured; `errors` is the share
   * of failures, `revisions` is how often work was sent back, and both are inverted. Source:
   * `docs/semantics.md` C15.
   */
  readonly entry?: 'raw' | 'normalised' | undefined
  /**
   * Only for `raw`: the number of revisions from which the score is the worst; 1 by default. A number above
   * 0.
   */
  readonly maxRevisions?: number | undefined
  /**
   * `default`, `legal`, `security`, `dashboard`, a domain from the runtime's settings, or, with `weights`,
   * any name of 1 to 255 characters.
   */
  readonly domain?: string | undefined
  /** Replaces the domain's weights. Without a `domain` the domain is then called `custom`. */
  readonly weights?: WeightsInput | undefined
  /** The task that is judged, by its id. */
  readonly taskId?: string | undefined
  /**
   * 1 to 255 characters. A second call with the same key for the same agent returns the first call's
   * evaluation, as long as that is kept.
   */
  readonly key?: string | undefined
  /**
   * Throw for a dimension that is missing or out of bounds; by default a missing one is listed and an
   * excessive one is clamped.
   */
  readonly strict?: boolean | undefined
}

/** An evaluation as it was recorded. */
export interface RecordedEvaluation extends EvaluationRecord {
  /** True if an earlier call with the same key recorded this evaluation. */
  readonly deduplicated: boolean
}

export interface AgentPage {
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
  /** Only those whose name comes after this one. */
  readonly after?: string | undefined
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
  /** The domain whose weights measure the distance; `default` by default. */
  readonly domain?: string | undefined
  /** Replaces the domain's weights. */
  readonly weights?: WeightsInput | undefined
}

export interface DriftOptions {
  /** A number above 0, up to 1; the runtime's `driftThreshold` by default. */
  readonly threshold?: number | undefined
}

/** How far an agent's latest evaluation is from the average of all before it. */
export interface Drift {
  readonly agentId: string
  /** True if the distance is above the threshold. */
  readonly drifted: boolean
  /** 0 for the first evaluation. */
  readonly distance: number
  /** Below 0 if the latest work is worse. */
  readonly change: number
  readonly threshold: number
  readonly latest: EvaluationRecord
}

/** Settings of evaluations. */
export interface EvaluationSettings {
  /** Weights by the name of a domain, 1 to 255 characters. A known name replaces that domain's weights. */
  readonly domains?: Readonly<Record<string, WeightsInput>> | undefined
  /** The distance beyond which `evaluation.drifted` is published, above 0, up to 1; 0.2 by default. */
  readonly driftThreshold?: number | undefined
}
