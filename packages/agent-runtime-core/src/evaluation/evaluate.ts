import { canonical } from '../codec/codec.ts'
import { averageWith, compositeOf, departureFrom } from './judgement.ts'
import { nextReputation } from './reputation.ts'
import type { EvaluationRecord, ReputationRecord } from './evaluation.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { EvaluationRow, ReputationRow } from './row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * Adds an evaluation to an agent's history and folds it into its reputation. A key that the agent has an evaluation of answers with
 * that, and nothing is written. Source: `docs/semantics.md 15.3`.
 */
export function evaluate(ws: WorkingSet, it: Write<'evaluate'>): OutcomeOf<'evaluate'> {
  const known = it.key === undefined ? undefined : ws.evaluation(it.agentId, it.key)
  if (known !== undefined) {
    const as = isSame(known, it) ? 'recorded' : 'conflict'
    return { as, deduplicated: true, evaluation: evaluationRecordOf(known) }
  }
  const before = ws.reputationRow(it.agentId)
  if (before === undefined && ws.agentCount >= ws.config.maxEvaluatedAgents) return { as: 'full' }
  const composite = compositeOf(it.scores, it.weights)
  const reputation = nextReputation(before?.reputation, composite)
  const count = before?.evaluations ?? 0
  const departure = before === undefined ? undefined : departureFrom(before.average, it.scores, it.weights)
  const row: EvaluationRow = {
    agent: it.agentId,
    seq: count + 1,
    at: ws.now.at,
    domain: it.domain,
    scores: it.scores,
    missing: it.missing,
    composite,
    reputation,
    distance: departure?.distance ?? null,
    change: departure?.change ?? null,
    taskId: it.taskId ?? null,
    key: it.key ?? null,
  }
  ws.addEvaluation(row, {
    agent: it.agentId,
    reputation,
    evaluations: count + 1,
    average: before === undefined ? it.scores : averageWith(before.average, count, it.scores),
    latest: it.scores,
    lastAt: ws.now.at,
  })
  return { as: 'recorded', deduplicated: false, evaluation: evaluationRecordOf(row) }
}

/** The evaluation as readers get it. */
export function evaluationRecordOf(row: EvaluationRow): EvaluationRecord {
  const { agent, distance, change, taskId, key, ...rest } = row
  return {
    agentId: agent,
    ...rest,
    ...(distance === null ? {} : { distance }),
    ...(change === null ? {} : { change }),
    ...(taskId === null ? {} : { taskId }),
    ...(key === null ? {} : { key }),
  }
}

/** Where the agent stands, as readers get it. */
export function reputationRecordOf({ agent, ...row }: ReputationRow): ReputationRecord {
  return { agentId: agent, ...row }
}

/** Whether a call says again what the evaluation of its key says. */
function isSame(row: EvaluationRow, it: Write<'evaluate'>): boolean {
  const { domain, scores, missing, taskId = null } = it
  const composite = compositeOf(scores, it.weights)
  return (
    canonical({ domain, scores, missing, taskId, composite }) ===
    canonical({
      domain: row.domain,
      scores: row.scores,
      missing: row.missing,
      taskId: row.taskId,
      composite: row.composite,
    })
  )
}
