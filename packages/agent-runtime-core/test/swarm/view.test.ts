import { describe, expect, test } from 'vitest'
import { swarmRecordOf } from '../../src/swarm/view.ts'
import { circuit, config, swarm, usage } from '../transition/rows.ts'

const idOf = (task: number) => `task ${task}`
const record = (usages: Parameters<typeof swarmRecordOf>[2], row = swarm, broken = circuit()) =>
  swarmRecordOf(row, broken, usages, idOf, 0, config)

describe('a swarm as people see it (docs/semantics.md 10.6)', () => {
  test('10.6 has its own agents, in the order in which they were spawned', () => {
    const agents = [
      usage({
        task: 9,
        swarm: 's',
        agent: 'b',
        order: 2,
        laneRank: 0,
        computeUs: 5,
        memoryBytes: 6,
        pressure: 0.5,
      }),
      usage({ task: 8, swarm: 's', agent: null, order: 1, laneRank: 2 }),
      usage({ task: 10, swarm: 't', agent: 'c', order: 0 }),
      usage({ task: 11, swarm: null }),
    ]
    expect(record(agents).agents).toEqual([
      { agent: '', taskId: 'task 8', lane: 'batch', pressure: 0, computeUs: 0, memoryBytes: 0 },
      { agent: 'b', taskId: 'task 9', lane: 'interactive', pressure: 0.5, computeUs: 5, memoryBytes: 6 },
    ])
    expect(record([usage({ swarm: 's', laneRank: 9 })]).agents[0]?.lane).toBe('normal')
  })

  test('10.6 has what is left of its budget, never less than nothing, and null where it has none', () => {
    const rest = (spentUs: number, sharedBudget: object = swarm.terms.sharedBudget ?? {}) =>
      record([], { ...swarm, spentUs, terms: { ...swarm.terms, sharedBudget } }).rest
    expect(rest(100)).toEqual({ cpuTimeUs: 900, memoryBytes: 1_000 })
    expect(rest(1_001)).toMatchObject({ cpuTimeUs: 0 })
    expect(rest(100, {})).toEqual({ cpuTimeUs: null, memoryBytes: null })
  })

  test('10.3 has the circuit of its route, which is closed where nobody knows of one', () => {
    expect(swarmRecordOf(swarm, undefined, [], idOf, 0, config).circuit).toBe('closed')
    expect(record([], swarm, circuit({ state: 'open', openedAt: 0, probeAt: 1e9 })).circuit).toBe('open')
    expect(record([])).toMatchObject({ name: 's', createdAt: 0, spawned: 2, terms: swarm.terms })
  })
})
