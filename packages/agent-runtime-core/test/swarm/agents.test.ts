import { describe, expect, test } from 'vitest'
import type { Submission } from '../../src/submit/submission.ts'
import {
  agentTaken,
  joinSwarm,
  leaveSwarm,
  restOf,
  shown,
  swarmRefusal,
  unused,
} from '../../src/swarm/agents.ts'
import { swarmRoute } from '../../src/route/observe.ts'
import type { SwarmRow, UsageRow } from '../../src/transition.ts'
import { circuit, ids, now, type Rows, swarm, task, usage, workingSet } from '../transition/rows.ts'

const first = usage({ swarm: 's', agent: 'a', order: 1, computeUs: 200, memoryBytes: 300, pressure: 0.5 })
const second = usage({ task: 8, swarm: 's', agent: 'b', order: 2, pressure: 0.7 })
const stranger = usage({ task: 9, swarm: 'other', agent: 'c', order: 1, pressure: 1 })
const withTerms = (terms: Partial<SwarmRow['terms']>): SwarmRow => ({
  ...swarm,
  terms: { ...swarm.terms, ...terms },
})
const among = (of: SwarmRow | undefined = swarm, rows: Rows = {}) =>
  workingSet({
    swarms: new Map([[of.name, of]]),
    usages: new Map([first, second, stranger].map((row: UsageRow) => [row.task, row])),
    ...rows,
  })
const { terms: profile } = usage()
const submission: Submission = { type: 'work', lane: 'batch', input: '1', profile, swarm: 's', agent: 'd' }

describe('a swarm that takes no agent says why (docs/semantics.md 10.6)', () => {
  const refused = (of?: SwarmRow, it: Partial<Submission> = {}, rows: Rows = {}) =>
    swarmRefusal(among(of, rows), { ...submission, ...it })

  test('it takes one where nothing is in the way; what is in no swarm, or in none that is there, it does not concern', () => {
    expect(refused()).toBeUndefined()
    const { swarm: _, agent: __, ...alone } = submission
    expect(swarmRefusal(among(), alone)).toBeUndefined()
    expect(refused(undefined, { swarm: 'gone' })).toBeUndefined()
  })

  test('it is full', () => {
    expect(refused(withTerms({ maxAgents: 3 }))).toBeUndefined()
    expect(refused(withTerms({ maxAgents: 2 }))).toStrictEqual({
      reason: 'swarm_full',
      message: `the swarm 's' has 2 agents, and maxAgents is 2; spawn one when another has ended`,
      verdict: { by: 'swarm', swarm: 's', limit: 'maxAgents', max: 2, value: 2 },
    })
  })

  test('its agents press more than its threshold on the mean', () => {
    expect(refused(withTerms({ threshold: 0.6 }))).toBeUndefined()
    expect(refused(withTerms({ threshold: 0.5 }))).toStrictEqual({
      reason: 'swarm_overloaded',
      message: `the mean pressure of the swarm 's' is 0.600, above its threshold 0.5; spawn later`,
      verdict: { by: 'swarm', swarm: 's', limit: 'threshold', max: 0.5, value: 0.6 },
    })
  })

  test('its breaker is open', () => {
    const row = circuit({ route: swarmRoute('s'), state: 'open', openedAt: now.leaseAt })
    expect(refused(swarm, {}, { circuits: new Map([[row.route, row]]) })).toStrictEqual({
      reason: 'circuit_open',
      message: `the circuit of the swarm 's' is open; submit again in 30 s`,
      verdict: { by: 'circuit', swarm: 's', state: 'open', scar: 0, retryAfterMs: 30_000 },
    })
  })

  test.each([
    ['cpuTimeUs', 700],
    ['memoryBytes', 700],
  ] as const)('more %s was asked for than is left of its budget', (limit, left) => {
    expect(refused(swarm, { share: { [limit]: left } })).toBeUndefined()
    expect(refused(swarm, { share: { [limit]: left + 1 } })).toStrictEqual({
      reason: 'budget_exceeded',
      message: `the swarm 's' has 700 of its shared ${limit} left, and 701 were asked for`,
      verdict: { by: 'swarm', swarm: 's', limit, left, asked: 701 },
    })
  })

  test.each([
    ['nothing', 800],
    ['less than nothing', 900],
  ])('%s is left of its budget, whatever was asked for', (_, spentUs) => {
    expect(refused({ ...swarm, spentUs })).toStrictEqual({
      reason: 'budget_exceeded',
      message: `the swarm 's' has 0 of its shared cpuTimeUs left`,
      verdict: { by: 'swarm', swarm: 's', limit: 'cpuTimeUs', left: 0 },
    })
  })
})

describe('an agent has a name of its own in a swarm that is there (10.6)', () => {
  test('one that was closed is not found', () => {
    expect(agentTaken(among(), { ...submission, swarm: 'gone' })).toStrictEqual({
      accepted: false,
      taskId: '',
      sequence: 0,
      reason: 'not_found',
      message: `the swarm 'gone' does not exist any more; create it again`,
    })
  })

  test.each([
    ['its id', null, ids.task(7)],
    ['the id that it was given', 'mine', 'mine'],
  ])('a name that an agent has already is taken, by a task under %s', (_, explicitId, taskId) => {
    expect(
      agentTaken(among(swarm, { tasks: [{ ...task, explicitId }] }), { ...submission, agent: 'a' }),
    ).toStrictEqual({
      accepted: false,
      taskId,
      sequence: 7,
      reason: 'already_exists',
      message: `the swarm 's' already has an agent "a": task ${taskId}`,
    })
  })

  test('a new name is free, as is one of another swarm, and what is in no swarm needs none', () => {
    expect(agentTaken(among(), submission)).toBeUndefined()
    expect(agentTaken(among(), { ...submission, agent: 'c' })).toBeUndefined()
    expect(agentTaken(among(), { type: 'work', lane: 'batch', input: '1' })).toBeUndefined()
  })
})

describe('agents come and go (10.6)', () => {
  test.each([
    ['without a promise', undefined, null, null],
    ['with one of CPU time', { cpuTimeUs: 5 }, 5, null],
    ['with one of memory', { memoryBytes: 6 }, null, 6],
  ])('one that was admitted %s counts from now on', (_, share, promisedCpuUs, promisedMemoryBytes) => {
    const ws = among()
    joinSwarm(ws, { ...submission, ...(share === undefined ? {} : { share }) }, 10)
    expect(ws.swarm('s')).toStrictEqual({ ...swarm, spawned: 3 })
    expect(ws.usage(10)).toStrictEqual({
      ...unused,
      task: 10,
      route: 'work',
      terms: profile,
      swarm: 's',
      agent: 'd',
      laneRank: 2,
      order: 3,
      promisedCpuUs,
      promisedMemoryBytes,
    })
  })

  test('a task without a swarm that is there, or without a profile, is no agent', () => {
    const ws = among()
    joinSwarm(ws, { type: 'work', lane: 'batch', input: '1', profile }, 10)
    joinSwarm(ws, { ...submission, swarm: 'gone' }, 10)
    joinSwarm(ws, { type: 'work', lane: 'batch', input: '1', swarm: 's', agent: 'd' }, 10)
    expect([ws.swarms.changed.size, ws.usages.changed.size]).toEqual([0, 0])
  })

  test('the CPU time of one that has ended stays spent; where its swarm was closed nobody counts it', () => {
    const ws = among()
    leaveSwarm(ws, first)
    leaveSwarm(ws, usage({ swarm: 'gone', computeUs: 9 }))
    leaveSwarm(ws, usage({ computeUs: 9 }))
    expect([...ws.swarms.changed.values()]).toStrictEqual([{ ...swarm, spentUs: 300 }])
  })

  test('the rest of the budget is the part that was not spent, used or promised', () => {
    expect(restOf(among(), swarm)).toStrictEqual({ cpuTimeUs: 700, memoryBytes: 700 })
  })
})

test('a pressure is reported with three digits', () => {
  expect([shown(0.8), shown(0.12345)]).toEqual(['0.800', '0.123'])
})
