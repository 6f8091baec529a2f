import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { noUse } from '../../src/budget/budget.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { profileConfigs } from '../../src/profile/profile.ts'
import type { Submission } from '../../src/submit/submission.ts'
import { swarmRoute } from '../../src/route/observe.ts'
import {
  type BudgetRow,
  type CircuitRow,
  type KeyRow,
  newClient,
  noTotals,
  type SwarmRow,
  type TaskRow,
} from '../../src/transition.ts'
import { submit, submitIfRoom, submitOne } from '../../src/submit/submit.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { config, ids, now, type Rows, stream, task, workingSet } from '../transition/rows.ts'

const it: Submission = { type: 'work', lane: 'batch', input: '{"a":1}' }
const admit = (more: Partial<Submission> = {}, rows: Rows = {}, settings = config, parent?: number) => {
  const ws = workingSet(rows, settings)
  return { ws, receipt: submitOne(ws, { ...it, ...more }, parent) }
}
const textOf = (ws: WorkingSet) => ws.events.at(-1)?.data
const settings = (changes: object) => parseExecutionConfig(changes).config
const sha = (text: string) => createHash('sha256').update(text).digest('hex')
const profile = {
  profile: 'STANDARD',
  config: profileConfigs.STANDARD,
  grantedMs: 30_000,
  limits: {},
} as const

describe('a submission that is taken (docs/semantics.md 1.1, 2.2)', () => {
  test('is a queued task with its event, and counts', () => {
    const { ws, receipt } = admit()
    expect(receipt).toStrictEqual({
      accepted: true,
      taskId: ids.task(100),
      sequence: 100,
      deduplicated: false,
    })
    expect(ws.events.map(({ type, seq, also, data }) => [type, seq, also, data])).toEqual([
      ['task.queued', 1, [], '{"input":{"a":1},"lane":"batch","type":"work"}'],
    ])
    const { tail, ...row } = ws.taskNow({ id: 100 })
    expect(tail).toHaveLength(32)
    expect(row).toStrictEqual({
      id: 100,
      stream: 2,
      state: 'queued',
      attempt: 1,
      fence: 0,
      lease: null,
      crashes: 0,
      steps: 0,
      waits: 0,
      seq: 1,
      submittedAt: now.at,
      dueAt: null,
      queuedAt: now.at,
      startedAt: null,
      finishedAt: null,
      waitReason: null,
      tokens: 0,
      explicitId: null,
      parent: null,
      account: null,
      budget: null,
    })
    expect(ws.stream(2)).toMatchObject({ type: 'work', laneRank: 2, quotaKeys: [], depth: 1 })
    expect([ws.nextTask, ws.depth]).toEqual([101, 4])
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 5, submitted: 1 })
    expect([
      ...ws.keys.changed,
      ...ws.explicitIds.changed,
      ...ws.budgets.changed,
      ...ws.quotas.changed,
    ]).toEqual([])
  })

  test('its event says all that it was submitted with, in canonical JSON, and no more', () => {
    const { ws } = admit({
      agent: 'a"',
      asRetry: true,
      budget: { limits: { tokens: 5, money: 2 }, soft: { tokens: 3 } },
      client: 'c"',
      cost: 2.5,
      dueAt: now.at + 5,
      forkOf: 'f"',
      held: true,
      idempotencyKey: 'k"',
      labels: { z: '1', a: '"' },
      model: 'm"',
      outOfCredits: 'park',
      oversight: 'supervised',
      parentId: 'p"',
      schedule: 's"',
      scheduledFor: 7,
      timeoutMs: 8,
      tokens: 9,
      tools: ['t2', 't1'],
      trace: { y: '1', b: '2' },
      type: 'ty"pe',
    })
    expect(textOf(ws)).toBe(
      '{"agent":"a\\"","asRetry":true,"budget":{"limits":{"money":2,"tokens":5},"soft":{"tokens":3}},"client":"c\\"","cost":2.5,' +
        '"dueAt":50005,"forkOf":"f\\"","held":true,"idempotencyKey":"k\\"","input":{"a":1},"labels":{"a":"\\"","z":"1"},' +
        '"lane":"batch","model":"m\\"","outOfCredits":"park","oversight":"supervised","parentId":"p\\"","schedule":"s\\"","scheduledFor":7,"timeoutMs":8,"tokens":9,' +
        '"tools":["t2","t1"],"trace":{"b":"2","y":"1"},"type":"ty\\"pe"}',
    )
    const agent = admit(
      { profile, swarm: 's', agent: 'a', share: { memoryBytes: 2, cpuTimeUs: 1 } },
      { swarms: new Map([['s', swarm]]) },
    )
    expect(JSON.parse(textOf(agent.ws) ?? '')).toStrictEqual({
      agent: 'a',
      input: { a: 1 },
      lane: 'batch',
      profile,
      share: { cpuTimeUs: 1, memoryBytes: 2 },
      swarm: 's',
      type: 'work',
    })
    expect(textOf(agent.ws)).toContain('"share":{"cpuTimeUs":1,"memoryBytes":2},"swarm":"s",')
    expect(textOf(admit({ tools: [] }).ws)).not.toContain('tools')
  })

  test('keeps its estimates, its id and its cost in millionths', () => {
    const { ws, receipt } = admit({ tokens: 9, taskId: 'mine', cost: 0.000_001_4, idempotencyKey: 'k' })
    expect(receipt).toMatchObject({ taskId: 'mine', sequence: 100 })
    expect(ws.task(100)).toMatchObject({
      tokens: 9,
      explicitId: 'mine',
      account: { cost: 1, used: null, charge: null, place: null },
    })
    expect(admit({ outOfCredits: 'park' }).ws.task(100)?.account).toStrictEqual({
      cost: 1_000_000,
      used: null,
      charge: null,
      place: null,
      outOfCredits: 'park',
    })
    expect([...ws.explicitIds.changed]).toEqual([['mine', 100]])
    expect([...ws.keys.changed.values()]).toStrictEqual([
      { key: 'k', task: 100, payloadHash: sha('work\n{"a":1}') } satisfies KeyRow,
    ])
  })

  test.each<[string, Partial<Submission>, number | null]>([
    ['not before a time that is to come', { dueAt: now.at + 1 }, now.at + 1],
    ['not before now', { dueAt: now.at }, null],
    ['not before a time that is over', { dueAt: 1 }, null],
    ['after a while', { delayMs: 1 }, now.at + 1],
    ['after no while', { delayMs: 0 }, null],
    ['at a time, whatever the while', { dueAt: now.at + 2, delayMs: 9 }, now.at + 2],
  ])('%s: when it is due (2.4)', (_, when, dueAt) => {
    const { ws } = admit(when)
    expect(ws.task(100)).toMatchObject({ dueAt, queuedAt: now.at })
    expect([ws.depth, ws.delayed]).toEqual(dueAt === null ? [4, 3] : [3, 4])
    expect(textOf(ws)?.includes('"dueAt"')).toBe(dueAt !== null)
  })

  test('a large input is moved out of its event (7.5)', () => {
    const input = JSON.stringify('a'.repeat(config.maxInlineBytes))
    const { ws } = admit({ input })
    expect(ws.events[0]?.blob).toBe(sha(input))
    expect([...ws.blobs.changed]).toEqual([[sha(input), input]])
    expect(textOf(ws)).toContain(`"input":{"$blob":"${sha(input)}","size":${input.length}},`)
  })

  test('holds its quotas, and counts in a window that rejects (2.6, C4)', () => {
    const limited = settings({
      quotaConfig: { models: { big: { perWindow: 5 }, small: { perWindow: 5, onExceeded: 'defer' } } },
    })
    const of = (model: string) => {
      const { ws } = admit({ model, tokens: 4 }, {}, limited)
      const { queued, running, windowCount, windowTokens } = ws.quota(`model:${model}`)
      return [queued, running, windowCount, windowTokens, ws.stream(2).quotaKeys]
    }
    expect(of('big')).toEqual([1, 0, 1, 4, ['model:big']])
    expect(of('small')).toEqual([1, 0, 0, 0, ['model:small']])
    expect(of('other')).toEqual([0, 0, 0, 0, []])
  })

  test('a task that its caller runs is not queued, and comes in whatever the depth (10.1)', () => {
    const full = settings({ queueDepthLimit: 3, batchBackpressureThreshold: 3 })
    expect(admit({}, {}, full).receipt).toMatchObject({ reason: 'queue_full' })
    const { ws, receipt } = admit({ held: true }, {}, full)
    expect(receipt.accepted).toBe(true)
    expect([ws.depth, [...ws.queued]]).toEqual([3, []])
  })

  test('each of many is decided on the room that those before it have left (2.2)', () => {
    const ws = workingSet({}, settings({ queueDepthLimit: 5, batchBackpressureThreshold: 4 }))
    const lanes = ['batch', 'batch', 'normal', 'normal'] as const
    const receipts = submit(
      ws,
      lanes.map((lane) => ({ ...it, lane })),
    )
    expect(receipts.map((receipt) => (receipt.accepted ? 'accepted' : receipt.reason))).toEqual([
      'accepted',
      'backpressure',
      'accepted',
      'queue_full',
    ])
    expect(receipts.map(({ sequence }) => sequence)).toEqual([100, 101, 102, 103])
  })
})

describe('a submission that was made before (docs/semantics.md 2.7, 12.0)', () => {
  const bound = (payload: string): Rows => ({
    tasks: [{ ...task, explicitId: 'mine' }],
    keys: new Map([['k', { key: 'k', task: 7, payloadHash: sha(payload) }]]),
  })

  test('gets the first receipt again, and writes nothing', () => {
    const { ws, receipt } = admit({ idempotencyKey: 'k' }, bound('work\n{"a":1}'))
    expect(receipt).toStrictEqual({ accepted: true, taskId: 'mine', sequence: 7, deduplicated: true })
    expect([ws.events, ws.nextTask, ws.totals.submitted]).toEqual([[], 100, 0])
    const unloaded = admit({ idempotencyKey: 'k' }, { ...bound('work\n{"a":1}'), tasks: [] })
    expect(unloaded.receipt.taskId).toBe(ids.task(7))
  })

  test('in the same flush, too', () => {
    const ws = workingSet({})
    const once = { ...it, idempotencyKey: 'k' }
    const [first, second] = submit(ws, [once, once])
    expect(second).toStrictEqual({ ...first, deduplicated: true })
    expect(ws.events).toHaveLength(1)
  })

  test.each<[string, Partial<Submission>, string]>([
    ['another input', {}, 'work\n{}'],
    ['another type', {}, 'mail\n{"a":1}'],
    ['another fork', { forkedAt: '3' }, 'work\n{"a":1}'],
    ['no fork', {}, 'work\n{"a":1}\n3'],
  ])('%s under its key is a conflict, and leaves no record', (_, more, payload) => {
    const { ws, receipt } = admit({ idempotencyKey: 'k', ...more }, bound(payload))
    expect(receipt).toStrictEqual({
      accepted: false,
      taskId: 'mine',
      sequence: 7,
      reason: 'idempotency_conflict',
      message:
        'idempotency key "k" belongs to task mine, which has another type or input, or is another fork; use a new key',
    })
    expect([ws.events, ws.nextTask]).toEqual([[], 100])
  })

  test('the same fork under its key is the same', () => {
    const { receipt } = admit({ idempotencyKey: 'k', forkedAt: '3' }, bound('work\n{"a":1}\n3'))
    expect(receipt).toMatchObject({ deduplicated: true })
  })

  test.each([
    ['that another task has', 'mine', 7, { explicitIds: new Map([['mine', 7]]) }],
    ["of the store's own making", ids.task(500), 500, {}],
  ])('an id %s is taken', (_, taskId, sequence, rows: Rows) => {
    const { ws, receipt } = admit({ taskId }, rows)
    expect(receipt).toStrictEqual({
      accepted: false,
      taskId,
      sequence,
      reason: 'already_exists',
      message: `the task id "${taskId}" is taken: choose another one, or leave taskId out; an idempotencyKey is for work that may be submitted twice`,
    })
    expect([ws.events, ws.nextTask]).toEqual([[], 100])
  })

  test('the key comes before the id: the same submission again is no second task of the id', () => {
    const rows = { ...bound('work\n{"a":1}'), explicitIds: new Map([['mine', 7]]) }
    expect(admit({ idempotencyKey: 'k', taskId: 'mine' }, rows).receipt).toMatchObject({
      deduplicated: true,
    })
  })

  test('a fault that the front door found comes before both (2.1)', () => {
    const refused = { reason: 'invalid_payload', message: 'no "a"' } as const
    const { receipt } = admit({ idempotencyKey: 'k', refused }, bound('other'))
    expect(receipt).toMatchObject({ accepted: false, sequence: 100, reason: 'invalid_payload' })
  })
})

const swarm: SwarmRow = {
  name: 's',
  terms: { route: 'work', terms: profile, maxAgents: 2, threshold: 1, sharedBudget: {} },
  spentUs: 0,
  spawned: 0,
  createdAt: 0,
}
const open: CircuitRow = {
  route: 'work',
  state: 'open',
  scar: 0,
  scarAt: 0,
  openedAt: now.leaseAt,
  probeAt: null,
  unhealthy: true,
  probe: null,
}

describe('a submission that is refused (docs/semantics.md 1.5, 2.9)', () => {
  test('is a record without a payload, and binds neither key nor id', () => {
    const refused = { reason: 'invalid_payload', message: 'no "a"' } as const
    const { ws, receipt } = admit({
      refused,
      taskId: 'mine',
      idempotencyKey: 'k',
      tokens: 9,
      cost: 4,
      dueAt: now.at + 5,
    })
    expect(receipt).toStrictEqual({
      accepted: false,
      taskId: ids.task(100),
      sequence: 100,
      reason: 'invalid_payload',
      message: 'no "a"',
    })
    expect(ws.events.map(({ type, seq, data }) => [type, seq, data])).toEqual([
      [
        'task.rejected',
        1,
        '{"lane":"batch","message":"no \\"a\\"","reason":"invalid_payload","type":"work"}',
      ],
    ])
    expect(ws.task(100)).toMatchObject({
      stream: null,
      state: 'rejected',
      attempt: 1,
      submittedAt: now.at,
      queuedAt: now.at,
      finishedAt: now.at,
      dueAt: null,
      tokens: 0,
      explicitId: null,
      parent: null,
      account: null,
      budget: null,
    })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 5, rejected: 1 })
    expect([...ws.keys.changed, ...ws.explicitIds.changed, ...ws.streams.changed]).toEqual([])
    expect([ws.depth, ws.delayed, ws.nextTask]).toEqual([3, 3, 101])
  })

  test('says what it was decided on, and whether there will ever be room', () => {
    const full = admit({}, {}, settings({ queueDepthLimit: 3, batchBackpressureThreshold: 3 }))
    expect(full.receipt).toStrictEqual({
      accepted: false,
      taskId: ids.task(100),
      sequence: 100,
      reason: 'queue_full',
      message: 'the queue depth is 3, and queueDepthLimit is 3; submit later',
    })
    expect(textOf(full.ws)).toBe(
      '{"lane":"batch","message":"the queue depth is 3, and queueDepthLimit is 3; submit later","reason":"queue_full","type":"work","verdict":{"by":"limit","limit":"queueDepthLimit","max":3,"value":3}}',
    )
    const never = settings({ quotaConfig: { models: { big: { tokensPerWindow: 5 } } } })
    expect(admit({ model: 'big', tokens: 6 }, {}, never).receipt).toMatchObject({
      reason: 'quota_exceeded',
      forGood: true,
    })
  })

  test('where there are shares one more client than maxClients finds no room, those that are known do (11.3)', () => {
    const shared = settings({ shares: {}, maxClients: 2 })
    const clients = new Map(['a', ''].map((name, index) => [name, newClient(index + 1, name)]))
    const of = (whose: Partial<Submission>) => admit(whose, { clients }, shared)
    expect(of({ client: 'b' }).receipt).toMatchObject({ reason: 'quota_exceeded' })
    expect(textOf(of({ client: 'b' }).ws)).toContain('"limit":"maxClients","max":2,"value":2')
    expect(of({ client: 'a' }).receipt).toMatchObject({ accepted: true })
    // What names no client is nobody's, which is a client too.
    expect(of({}).receipt).toMatchObject({ accepted: true })
  })

  test('there is no record of one that stands in line, unless it is refused for what it is (5.5)', () => {
    const full = settings({ queueDepthLimit: 3, batchBackpressureThreshold: 3 })
    const inLine = (more: Partial<Submission>) => {
      const ws = workingSet({ tasks: [task] }, full)
      return [submitIfRoom(ws, { ...it, ...more }, 7), ws.events.length] as const
    }
    expect(inLine({})).toEqual([undefined, 0])
    const refused = { reason: 'invalid_payload', message: 'no' } as const
    expect(inLine({ refused })).toMatchObject([{ accepted: false, reason: 'invalid_payload' }, 1])
    expect(inLine({ dueAt: now.at + 1 })).toMatchObject([{ accepted: true }, 1])
  })

  test('an open circuit refuses its route, what is half open all but one that starts at once (10.3)', () => {
    const at = (since: number, more: Partial<Submission> = {}) =>
      admit(more, { circuits: new Map([['work', { ...open, openedAt: now.leaseAt - since }]]) })
    const later = config.circuitOpenMs
    expect(at(later - 1).receipt).toMatchObject({ reason: 'circuit_open' })
    expect(at(later, { delayMs: 1 }).receipt).toMatchObject({ reason: 'circuit_open' })
    expect(at(0, { type: 'mail' }).receipt).toMatchObject({ accepted: true })
    const probe = at(later, { delayMs: 0 })
    expect(probe.receipt).toMatchObject({ accepted: true })
    expect(probe.ws.circuit('work')).toMatchObject({ state: 'half_open', probe: 100 })
  })

  test('an agent joins its swarm, which has a circuit of its own (10.6)', () => {
    const agent = { profile, swarm: 's', agent: 'a' } as const
    const swarms = new Map([['s', swarm]])
    const joined = admit(agent, { swarms })
    expect(joined.ws.swarm('s')?.spawned).toBe(1)
    expect(joined.ws.usage(100)).toMatchObject({ swarm: 's', agent: 'a', order: 1 })
    const route = swarmRoute('s')
    const circuit = (openedAt: number) =>
      admit(agent, { swarms, circuits: new Map([[route, { ...open, route, openedAt }]]) })
    expect(circuit(now.leaseAt).receipt).toMatchObject({ reason: 'circuit_open' })
    const probe = circuit(now.leaseAt - config.circuitOpenMs)
    expect(probe.ws.circuit(route)).toMatchObject({ state: 'half_open', probe: 100 })
    const nameless = { ...open, route: swarmRoute('undefined'), openedAt: now.leaseAt - config.circuitOpenMs }
    const alone = admit({}, { circuits: new Map([[nameless.route, nameless]]) })
    expect(alone.ws.circuit(nameless.route)).toBe(nameless)
    expect(submitOne(joined.ws, { ...it, ...agent })).toMatchObject({ reason: 'already_exists' })
    expect(submitOne(joined.ws, { ...it, ...agent, agent: 'b' })).toMatchObject({ accepted: true })
    expect(submitOne(joined.ws, { ...it, ...agent, agent: 'c' })).toMatchObject({ reason: 'swarm_full' })
    expect(admit(agent).receipt).toStrictEqual({
      accepted: false,
      taskId: '',
      sequence: 0,
      reason: 'not_found',
      message: "the swarm 's' does not exist any more; create it again",
    })
  })
})

describe('a submission below a task (docs/semantics.md 5.5, 11.5)', () => {
  const budget = (limits: BudgetRow['limits'], used = 0): BudgetRow => ({
    task: 7,
    above: null,
    limits,
    soft: {},
    used: { ...noUse, tokens: used },
    own: noUse,
    startedAt: null,
    dueAt: null,
    asked: null,
    asks: 0,
  })
  const parent: TaskRow = { ...task, budget: 7 }
  const below = (more: Partial<Submission>, used = 0) =>
    admit(more, { tasks: [parent], budgets: new Map([[7, budget({ tokens: 10 }, used)]]) }, config, 7)

  test('draws on the budget of its parent, or on its own with it', () => {
    expect(below({}).ws.task(100)).toMatchObject({ parent: 7, budget: 7 })
    expect([...below({}).ws.budgets.changed]).toEqual([])
    const own = below({ budget: { limits: { tokens: 99 }, soft: { tokens: 50 } } })
    expect(own.ws.task(100)).toMatchObject({ parent: 7, budget: 100 })
    expect(own.ws.budget(100)).toStrictEqual({
      ...budget({ tokens: 99 }),
      task: 100,
      above: 7,
      soft: { tokens: 50 },
    })
  })

  test('a default of its type is cut to what is left above it, and is nothing to cut where there is none', () => {
    const cut = { limits: { tokens: 99 }, soft: { tokens: 50 }, cut: true } as const
    expect(below({ budget: cut }, 4).ws.budget(100)).toMatchObject({
      limits: { tokens: 6 },
      soft: { tokens: 6 },
    })
    expect(textOf(below({ budget: cut }, 4).ws)).toContain(
      '"budget":{"limits":{"tokens":6},"soft":{"tokens":6}}',
    )
    const alone = admit({ budget: cut })
    expect(alone.ws.budget(100)).toMatchObject({ above: null, limits: { tokens: 99 } })
  })

  test('is refused where nothing is left above it', () => {
    expect(below({}, 9).receipt).toMatchObject({ accepted: true })
    expect(below({}, 10).receipt).toMatchObject({ accepted: false, reason: 'budget_exceeded' })
  })

  test('a child that wants the only place of its parent is refused, and no retry helps (C4)', () => {
    const limited = settings({ quotaConfig: { models: { big: { maxInFlight: 1 } } } })
    const rows: Rows = {
      tasks: [task],
      streams: [{ ...stream, quotaKeys: ['model:big'] }],
      quotas: new Map([
        [
          'model:big',
          {
            key: 'model:big',
            queued: 0,
            running: 1,
            windowStart: 0,
            windowCount: 0,
            windowTokens: 0,
            blockedUntil: 0,
          },
        ],
      ]),
    }
    const spawned = admit({ model: 'big' }, rows, limited, 7)
    expect(spawned.receipt).toMatchObject({ reason: 'quota_exceeded', forGood: true })
    const other = admit({ model: 'big' }, rows, limited).receipt
    expect(other).toMatchObject({ reason: 'quota_exceeded' })
    expect(other).not.toHaveProperty('forGood')
  })
})
