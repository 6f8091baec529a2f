import { describe, expect, test } from 'vitest'
import { evaluate, reputationRecordOf } from '../../src/evaluation/evaluate.ts'
import { dimensions, domainWeights, type Scores } from '../../src/evaluation/evaluation.ts'
import type { Write } from '../../src/store/port.ts'
import type { ReputationRow } from '../../src/transition.ts'
import { config, now, workingSet } from '../transition/rows.ts'

const all = (score: number) => Object.fromEntries(dimensions.map((name) => [name, score])) as Scores
const it = (more: Partial<Write<'evaluate'>> = {}): Write<'evaluate'> => ({
  kind: 'evaluate',
  agentId: 'ann',
  domain: 'default',
  weights: domainWeights.default,
  scores: all(0.5),
  missing: [],
  ...more,
})
const known: ReputationRow = {
  agent: 'ann',
  reputation: 1,
  evaluations: 3,
  average: all(1),
  latest: all(1),
  lastAt: 1,
}
const setOf = (standing?: ReputationRow, agentCount = 0, maxEvaluatedAgents = 5) =>
  workingSet(
    { reputationOf: (agent) => (agent === standing?.agent ? standing : undefined), agentCount },
    { ...config, maxEvaluatedAgents },
  )

describe('an evaluation (docs/semantics.md 15.3)', () => {
  test('15.3 that is the first of an agent is its reputation, and departs from nothing', () => {
    const ws = setOf()
    const outcome = evaluate(ws, it())
    expect(outcome).toStrictEqual({
      as: 'recorded',
      deduplicated: false,
      evaluation: {
        agentId: 'ann',
        seq: 1,
        at: now.at,
        domain: 'default',
        scores: all(0.5),
        missing: [],
        composite: 0.5,
        reputation: 0.5,
      },
    })
    expect(ws.reputationRow('ann')).toEqual({
      agent: 'ann',
      reputation: 0.5,
      evaluations: 1,
      average: all(0.5),
      latest: all(0.5),
      lastAt: now.at,
    })
    expect([ws.agentCount, ws.evaluations.length]).toEqual([1, 1])
  })

  test('15.3 that comes later moves the reputation and the average, and says by how much it departs', () => {
    const ws = setOf(known, 1)
    const outcome = evaluate(ws, it({ taskId: 't', key: 'k' }))
    expect(outcome).toMatchObject({
      evaluation: { seq: 4, distance: 0.5, change: -0.5, taskId: 't', key: 'k' },
    })
    expect(ws.reputationRow('ann')).toMatchObject({
      evaluations: 4,
      average: { quality: 0.875 },
      latest: all(0.5),
    })
    expect(ws.reputation('ann')).toBeLessThan(1)
    expect(ws.agentCount).toBe(1)
  })

  test('15.3 one of a known key is found again, or conflicts with what it said', () => {
    const ws = setOf()
    evaluate(ws, it({ key: 'k' }))
    expect(evaluate(ws, it({ key: 'k' }))).toMatchObject({ as: 'recorded', deduplicated: true })
    for (const other of [
      { domain: 'legal' },
      { scores: all(0.6) },
      { missing: ['cost'] },
      { taskId: 't' },
      { scores: { ...all(0.5), quality: 0 }, weights: { ...domainWeights.default, quality: 0 } },
    ] as const)
      expect(evaluate(ws, it({ key: 'k', ...other }))).toMatchObject({ as: 'conflict', deduplicated: true })
    expect(ws.evaluations).toHaveLength(1)
    evaluate(ws, it({ key: 'other' }))
    evaluate(ws, it())
    expect(ws.evaluations).toHaveLength(3)
  })

  test('15.3 one of a new agent is refused where there are as many as there may be', () => {
    expect(evaluate(setOf(undefined, 5), it())).toEqual({ as: 'full' })
    expect(evaluate(setOf(undefined, 4), it()).as).toBe('recorded')
    expect(evaluate(setOf(known, 5), it()).as).toBe('recorded')
    const { agent, ...rest } = known
    expect(reputationRecordOf(known)).toEqual({ agentId: agent, ...rest })
  })
})
