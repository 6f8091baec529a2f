import { describe, expect, test } from 'vitest'
import { swarmRoute } from '../../src/route/observe.ts'
import type { SwarmRow } from '../../src/transition.ts'
import { closeSwarm, putSwarm, relieve } from '../../src/swarm/swarm.ts'
import { circuit, lease, now, swarm, task, usage, workingSet } from '../transition/rows.ts'

const route = swarmRoute('s')
/** Of the lane `normal` the agents 7 and 8, of `interactive` the younger 9: they press 0.5 on the mean. */
const agents = [
  usage({ swarm: 's', agent: 'a', order: 1, pressure: 0.9 }),
  usage({ task: 8, swarm: 's', agent: 'b', order: 2, pressure: 0.2 }),
  usage({ task: 9, swarm: 's', agent: 'c', order: 3, pressure: 0.4, laneRank: 0 }),
  usage({ task: 10, swarm: 'other', agent: 'd', order: 1, pressure: 1 }),
]
const among = (threshold: number, alive = agents) =>
  workingSet({
    tasks: [7, 8, 9, 10].map((id) => ({
      ...task,
      id,
      lease: id - 4,
      explicitId: id === 8 ? 'mine' : null,
    })),
    explicitIds: new Map([['mine', 8]]),
    leases: [7, 8, 9, 10].map((id) => ({ ...lease, id: id - 4, task: id })),
    swarms: new Map([['s', { ...swarm, terms: { ...swarm.terms, threshold } }]]),
    usages: new Map(alive.map((row) => [row.task, row])),
    circuits: new Map([[route, circuit({ route })]]),
  })
const told = (ws: ReturnType<typeof among>) =>
  ws.events.map(({ task: of, type, data }) => [of, type, JSON.parse(data).reason])

describe('a swarm is made once (docs/semantics.md 10.6)', () => {
  const put = (ws: ReturnType<typeof among>, it: Pick<SwarmRow, 'name' | 'terms'>) =>
    putSwarm(ws, { kind: 'putSwarm', name: it.name, terms: it.terms })

  test('a name that is new is a new swarm, with nothing spent and nobody in it', () => {
    const ws = among(1)
    expect(put(ws, { ...swarm, name: 't' })).toStrictEqual({ as: 'created' })
    expect([...ws.swarms.changed.values()]).toStrictEqual([
      { name: 't', terms: swarm.terms, spentUs: 0, spawned: 0, createdAt: now.at },
    ])
  })

  test('the same terms join it, other terms get the existing ones; neither changes it', () => {
    const ws = among(1)
    expect(put(ws, swarm)).toStrictEqual({ as: 'joined' })
    expect(put(ws, { ...swarm, terms: { ...swarm.terms, maxAgents: 3 } })).toStrictEqual({
      as: 'other_terms',
      terms: swarm.terms,
    })
    expect(ws.swarms.changed.size).toBe(0)
  })
})

describe('a swarm that is closed (10.6)', () => {
  test('cancels its agents, and is forgotten with its breaker', () => {
    const ws = among(1)
    expect(closeSwarm(ws, { kind: 'closeSwarm', name: 's' })).toStrictEqual({ closed: true, canceled: 3 })
    expect(told(ws)).toEqual([7, 8, 9].map((id) => [id, 'task.canceled', `the swarm 's' was closed`]))
    expect([...ws.swarms.changed]).toStrictEqual([['s', undefined]])
    expect([...ws.circuits.changed]).toStrictEqual([[route, undefined]])
    expect([7, 8, 9, 10].map((id) => ws.usage(id)?.agent)).toEqual([undefined, undefined, undefined, 'd'])
  })

  test('is not there to be closed again', () => {
    const ws = among(1)
    expect(closeSwarm(ws, { kind: 'closeSwarm', name: 'gone' })).toStrictEqual({ closed: false, canceled: 0 })
    expect([ws.events.length, ws.swarms.changed.size]).toEqual([0, 0])
  })
})

describe('a swarm above its threshold (10.6)', () => {
  const opened = circuit({ route, state: 'open', openedAt: now.leaseAt })

  test('sheds one agent, of the lowest lane the youngest, and its breaker opens', () => {
    const ws = among(0.4)
    relieve(ws, 's')
    expect(told(ws)).toEqual([
      [
        8,
        'task.canceled',
        `shed: the swarm 's' has a mean pressure of 0.500, above its threshold 0.4; its youngest agent of the lane normal was canceled`,
      ],
    ])
    expect([...ws.circuits.changed.values()]).toStrictEqual([opened])
  })

  test('never sheds its last agent, but its breaker opens', () => {
    const ws = among(0.4, agents.slice(0, 1))
    relieve(ws, 's')
    expect(ws.events).toEqual([])
    expect([...ws.circuits.changed.values()]).toStrictEqual([opened])
  })

  test('at its threshold it goes on; so does work of a swarm that was closed', () => {
    const ws = among(0.5)
    relieve(ws, 's')
    relieve(ws, 'gone')
    expect([ws.events.length, ws.circuits.changed.size]).toEqual([0, 0])
  })
})
