import {
  assertOptions,
  type EvaluationRecord,
  type ExecutionConfig,
  type ExecutionStore,
  flagRule,
  instead,
  invalid,
  isAmount,
  isName,
  isOneOf,
  nameRule,
  readNormalised,
  readRaw,
  readWeights,
  type ReputationRecord,
  type Rules,
  RuntimeError,
  show,
  type SimilarAgent,
  type Weights,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type {
  AgentPage,
  Drift,
  DriftOptions,
  EvaluationOptions,
  EvaluationPage,
  Evaluations,
  EvaluationSettings,
  RecordedEvaluation,
  ScoresInput,
  SimilarOptions,
} from '../api/evaluations.ts'
import type { Announce } from './feed.ts'
import { domainsOf, DRIFT_THRESHOLD, thresholdRule } from './evaluation-settings.ts'

/** The dependencies of the evaluations. */
export interface EvaluationBookDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly settings: EvaluationSettings
  /** Throws if the runtime takes no more calls. */
  readonly assertOpen: () => void
  readonly announce: Announce
}

/** The API of evaluations. */
export class EvaluationBook implements Evaluations {
  readonly #deps: EvaluationBookDeps
  readonly #domains: ReadonlyMap<string, Weights>
  readonly #threshold: number

  constructor(deps: EvaluationBookDeps) {
    this.#deps = deps
    this.#domains = domainsOf(deps.settings)
    this.#threshold = deps.settings.driftThreshold ?? DRIFT_THRESHOLD
  }

  async record(
    agentId: string,
    scores: ScoresInput,
    options: EvaluationOptions = {},
  ): Promise<RecordedEvaluation> {
    this.#deps.assertOpen()
    assertAgent('record', agentId)
    assertOptions('evaluations.record', options, recordRules)
    const { entry = 'normalised', maxRevisions = 1, strict = false, taskId, key } = options
    if (entry === 'normalised' && options.maxRevisions !== undefined)
      throw invalid("evaluations.record option maxRevisions: only with entry 'raw', which counts revisions")
    const { domain, weights } = this.#weighing('record', options)
    const judgement =
      entry === 'raw' ? readRaw(scores, { strict, maxRevisions }) : readNormalised(scores, { strict })
    const outcome = await this.#deps.store.write({
      kind: 'evaluate',
      agentId,
      domain,
      weights,
      ...judgement,
      ...(taskId === undefined ? {} : { taskId }),
      ...(key === undefined ? {} : { key }),
    })
    if (outcome.as === 'full') throw this.#full(agentId)
    if (outcome.as === 'conflict') throw conflict(outcome.evaluation)
    const { evaluation, deduplicated } = outcome
    if (!deduplicated) announceEvaluation(this.#deps.announce, evaluation, this.#threshold)
    return { ...evaluation, deduplicated }
  }

  async reputation(agentId: string): Promise<ReputationRecord | undefined> {
    this.#deps.assertOpen()
    assertAgent('reputation', agentId)
    return this.#deps.store.read({ kind: 'reputation', agentId })
  }

  async agents(options: AgentPage = {}): Promise<readonly ReputationRecord[]> {
    this.#deps.assertOpen()
    assertOptions('evaluations.agents', options, agentsRules)
    const { limit = 100, after } = options
    return this.#deps.store.read({ kind: 'agents', limit, ...(after === undefined ? {} : { after }) })
  }

  async history(agentId: string, options: EvaluationPage = {}): Promise<readonly EvaluationRecord[]> {
    this.#deps.assertOpen()
    assertAgent('history', agentId)
    assertOptions('evaluations.history', options, pageRules)
    const { limit = 100, before } = options
    const from = before === undefined ? {} : { before }
    return this.#deps.store.read({ kind: 'evaluations', agentId, limit, ...from })
  }

  async similar(agentId: string, options: SimilarOptions = {}): Promise<readonly SimilarAgent[]> {
    this.#deps.assertOpen()
    assertAgent('similar', agentId)
    assertOptions('evaluations.similar', options, similarRules)
    const { weights } = this.#weighing('similar', options)
    const { limit = 10 } = options
    const found = await this.#deps.store.read({ kind: 'similar', agentId, weights, limit })
    if (found !== undefined) return found
    throw new RuntimeError('not_found', `agent '${agentId}' has no evaluations`, { details: { agentId } })
  }

  async drift(agentId: string, options: DriftOptions = {}): Promise<Drift | undefined> {
    this.#deps.assertOpen()
    assertAgent('drift', agentId)
    assertOptions('evaluations.drift', options, driftRules)
    const { threshold = this.#threshold } = options
    const [latest] = await this.#deps.store.read({ kind: 'evaluations', agentId, limit: 1 })
    if (latest === undefined) return undefined
    const { distance = 0, change = 0 } = latest
    return { agentId, drifted: distance > threshold, distance, change, threshold, latest }
  }

  /** The weights that a call judges with, and the name of their domain. */
  #weighing(
    call: string,
    { domain, weights }: Pick<EvaluationOptions, 'domain' | 'weights'>,
  ): { readonly domain: string; readonly weights: Weights } {
    if (weights !== undefined)
      return {
        domain: domain ?? 'custom',
        weights: readWeights(weights, `evaluations.${call} option weights`),
      }
    const name = domain ?? 'default'
    const known = this.#domains.get(name)
    if (known !== undefined) return { domain: name, weights: known }
    throw invalid(
      `evaluations.${call} option domain: a known domain, or one given together with weights; given ${show(name)}${instead(name, [...this.#domains.keys()])}`,
    )
  }

  #full(agentId: string): RuntimeError {
    const { maxEvaluatedAgents } = this.#deps.config
    return new RuntimeError(
      'limit_exceeded',
      `agent '${agentId}' is new, and the limit maxEvaluatedAgents ${maxEvaluatedAgents} is reached`,
      { details: { agentId, maxEvaluatedAgents } },
    )
  }
}

/** Tells the listeners of this process that an evaluation was recorded, and whether the agent has drifted. */
export function announceEvaluation(
  announce: Announce,
  evaluation: EvaluationRecord,
  threshold: number,
): void {
  const { taskId = '', distance = 0 } = evaluation
  announce('evaluation.recorded', taskId, 0, { ...evaluation })
  if (distance > threshold) announce('evaluation.drifted', taskId, 0, { ...evaluation, threshold })
}

const limitRule = wholeNumber(1, 1_000)
/** The weights are checked where they are used, because the messages there say more. */
const weightsRule = ['weights that sum to 1', () => true] as const
const recordRules: Rules<EvaluationOptions> = {
  entry: isOneOf(['raw', 'normalised']),
  maxRevisions: ['a finite number above 0', (value) => isAmount(value) && value > 0],
  domain: nameRule,
  weights: weightsRule,
  taskId: nameRule,
  key: nameRule,
  strict: flagRule,
}
const agentsRules: Rules<AgentPage> = { limit: limitRule, after: nameRule }
const pageRules: Rules<EvaluationPage> = { limit: limitRule, before: wholeNumber(1, Number.MAX_SAFE_INTEGER) }
const similarRules: Rules<SimilarOptions> = { limit: limitRule, domain: nameRule, weights: weightsRule }
const driftRules: Rules<DriftOptions> = { threshold: thresholdRule }

function assertAgent(call: string, agentId: unknown): asserts agentId is string {
  if (!isName(agentId))
    throw invalid(`evaluations.${call}: an agent's id of ${nameRule[0]}; given ${show(agentId)}`)
}

function conflict({ agentId, key = '', seq }: EvaluationRecord): RuntimeError {
  return new RuntimeError(
    'idempotency_conflict',
    `the key '${key}' belongs to evaluation ${seq} of agent '${agentId}', which has other content; use a new key`,
    { details: { agentId, key, seq } },
  )
}
