import {
  dimensions,
  nearestTo,
  type Dimension,
  type Read,
  type Reads,
  type ReputationRecord,
  type Scores,
} from '@ku0/agent-runtime-core'
import {
  evaluationRecordOf,
  reputationRecordOf,
  type EvaluationRow,
  type ReputationRow,
  type WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'

const reputationColumns = 'agent, reputation, evaluations, average, latest, last_at'
const evaluationColumns =
  'agent, seq, at, domain, scores, missing, composite, reputation, distance, change, task_id, key'

/** What a flush reads of agents' evaluations. */
export function prepareEvaluationLoad(db: Queries) {
  const standing = rows(db, `SELECT ${reputationColumns} FROM reputation WHERE agent = ?`)
  const byKey = rows(db, `SELECT ${evaluationColumns} FROM evaluation WHERE agent = ? AND key = ?`)
  const agents = db.prepare<[], number>('SELECT count(*) FROM reputation').pluck()
  const kept = rows(db, `SELECT ${evaluationColumns} FROM evaluation WHERE agent = ? ORDER BY seq`)
  return {
    reputation: (agent: string): ReputationRow | undefined => {
      const row = standing.get(agent)
      return row === undefined ? undefined : reputationOf(row)
    },
    byKey: (agent: string, key: string): EvaluationRow | undefined => {
      const row = byKey.get(agent, key)
      return row === undefined ? undefined : evaluationOf(row)
    },
    agents: () => agents.get() ?? 0,
    /** Those of an agent that are kept, the oldest first. */
    kept: (agent: string) => kept.all(agent).map(evaluationOf),
  }
}

/** How many evaluations of an agent go, the oldest first: what is more than `maxEvaluationsKept`. */
export function excessEvaluations({
  reputations,
  config,
}: WorkingSet): readonly (readonly [agent: string, upTo: number])[] {
  return [...reputations.values()].flatMap(({ agent, evaluations }) => {
    const upTo = evaluations - config.maxEvaluationsKept
    return upTo > 0 ? [[agent, upTo] as const] : []
  })
}

/** Answers what is asked of agents. */
export function prepareEvaluationReads(db: Queries, load: ReturnType<typeof prepareEvaluationLoad>) {
  const page = rows(
    db,
    `SELECT ${evaluationColumns} FROM evaluation WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT ? + 0`,
  )
  const all = rows(
    db,
    `SELECT ${reputationColumns} FROM reputation WHERE agent > ? ORDER BY agent LIMIT ? + 0`,
  )
  const others = rows(db, `SELECT ${reputationColumns} FROM reputation WHERE agent <> ?`)
  return (
    query: Read<'reputation' | 'agents' | 'evaluations' | 'similar'>,
  ): Reads['reputation' | 'agents' | 'evaluations' | 'similar']['answer'] => {
    if (query.kind === 'agents') return [...records(all.iterate(query.after ?? '', most(query.limit)))]
    const { agentId } = query
    if (query.kind === 'evaluations') {
      const { before = Number.MAX_SAFE_INTEGER, limit } = query
      return page.all(agentId, before, most(limit)).map((row) => evaluationRecordOf(evaluationOf(row)))
    }
    const row = load.reputation(agentId)
    if (row === undefined) return undefined
    if (query.kind === 'reputation') return reputationRecordOf(row)
    return nearestTo(row.average, records(others.iterate(agentId)), query.weights, most(query.limit))
  }
}

function* records(found: Iterable<unknown[]>): Iterable<ReputationRecord> {
  for (const row of found) yield reputationRecordOf(reputationOf(row))
}

function rows(db: Queries, sql: string) {
  return db.prepare<unknown[], unknown[]>(sql).raw()
}

function most(limit: number): number {
  return Math.min(1000, Math.max(1, limit))
}

function reputationOf([agent, reputation, evaluations, average, latest, lastAt]: unknown[]): ReputationRow {
  return {
    agent,
    reputation,
    evaluations,
    average: scoresOf(average),
    latest: scoresOf(latest),
    lastAt,
  } as ReputationRow
}

function evaluationOf(row: unknown[]): EvaluationRow {
  const [agent, seq, at, domain, scores, missing, composite, reputation] = row
  const [distance, change, taskId, key] = row.slice(8)
  return {
    agent,
    seq,
    at,
    domain,
    scores: scoresOf(scores),
    missing: JSON.parse(missing as string) as EvaluationRow['missing'],
    composite,
    reputation,
    distance,
    change,
    taskId,
    key,
  } as EvaluationRow
}

/** Numbers in the order of the dimensions: JSON gives each back to the last bit. */
export function scoresText(scores: Scores): string {
  return JSON.stringify(dimensions.map((dimension) => scores[dimension]))
}

function scoresOf(text: unknown): Scores {
  const values = JSON.parse(text as string) as number[]
  return Object.fromEntries(dimensions.map((dimension, index) => [dimension, values[index] ?? 0])) as Record<
    Dimension,
    number
  >
}
