import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import type { Write } from '../../src/store/port.ts'
import type { TaskRow, WaitRow } from '../../src/transition.ts'
import { appendOutput, checkpoint, failStep, progress, recordStep, startStep } from '../../src/step/record.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import {
  childRow,
  config,
  counting,
  family,
  ids,
  lease,
  limited,
  now,
  quota,
  type Rows,
  task,
  workingSet,
} from '../transition/rows.ts'

const leaseId = ids.lease(lease.id)
const gone = ids.lease(99)
const error = '{"message":"no","name":"Error"}'
const charged = { tokens: 7, money: 0, cost: 0 }
const chargedText = '"charged":{"cost":0,"money":0,"tokens":7}'
const running = (rows: Rows = {}, settings = config) =>
  workingSet({ tasks: [task], leases: [lease], ...rows }, settings)
const step = { kind: 'recordStep', leaseId, key: 'a', position: 2, durationMs: 5, result: '{"b":1}' } as const
const record = (ws: WorkingSet, it: Partial<Write<'recordStep'>> = {}) => recordStep(ws, { ...step, ...it })
const fail = (ws: WorkingSet, it: Partial<Write<'failStep'>> = {}) =>
  failStep(ws, { kind: 'failStep', leaseId, key: 'a', position: 2, durationMs: 5, error, ...it })
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type, data }) => [of, type, data])

const wait = (key: string): WaitRow => ({
  task: 7,
  key,
  position: 1,
  kind: 'timer',
  name: null,
  dueAt: now.at + 1,
  terms: null,
})
/** Two waits of task 7, and its children 8 and 9, which are queued. */
const branches: Rows = {
  tasks: [
    { ...task, waits: 4 },
    ...[8, 9].map((id): TaskRow => ({ ...task, id, state: 'queued', lease: null, parent: 7 })),
  ],
  waits: new Map([[7, [wait('nap'), wait('rest')]]]),
  ...family(childRow(7, 8), childRow(7, 9)),
}

describe('a step that has returned (docs/semantics.md 7.1, 7.2)', () => {
  test('has its result in an event, which is its memo, and counts', () => {
    const ws = running()
    expect(record(ws)).toStrictEqual({ fenced: 'ok' })
    expect(told(ws)).toEqual([
      [7, 'step.completed', '{"durationMs":5,"key":"a","position":2,"result":{"b":1}}'],
    ])
    expect([...ws.memos]).toEqual([[7, new Map([['a', 3]])]])
    expect(ws.task(7)).toMatchObject({ state: 'running', steps: 1, seq: 3, account: null })
  })

  test('its event says all that is known of it, in canonical JSON', () => {
    const ws = running(limited, counting)
    record(ws, {
      charged,
      inputHash: 'f00',
      branches: 'race',
      branchKeys: ['x', 'y"'],
      nested: true,
      drops: ['nap'],
    })
    expect(ws.events[0]?.data).toBe(
      `{"branchKeys":["x","y\\""],"branches":"race",${chargedText},"dropped":["nap"],"durationMs":5,"inputHash":"f00","key":"a","nested":true,"position":2,"result":{"b":1}}`,
    )
    expect(ws.task(7)?.account?.used).toStrictEqual(charged)
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, windowTokens: 17 })
  })

  test.each([
    ['the decision of branches that used no keys up', { branches: 'all' }, '"branches":"all",', ''],
    ['a step that is not nested', { nested: false }, '', ''],
  ] as const)('%s: nothing more is said', (_, more, before, after) => {
    const ws = running()
    record(ws, more)
    expect(ws.events[0]?.data).toBe(
      `{${before}"durationMs":5,"key":"a"${after},"position":2,"result":{"b":1}}`,
    )
  })

  test('the decision of a race drops the waits of the losers, and cancels their children (5.5, 12.4)', () => {
    const ws = running(branches)
    record(ws, { drops: ['nap'], dropsChildren: ['c8', 'c7'] })
    expect(told(ws)).toEqual([
      [
        7,
        'step.completed',
        '{"dropped":["nap"],"droppedChildren":["c8"],"durationMs":5,"key":"a","position":2,"result":{"b":1}}',
      ],
      [8, 'task.canceled', '{"from":"queued","reason":"its branch was given up"}'],
    ])
    expect(ws.waitsOf(task)).toEqual([wait('rest')])
    expect([...ws.childrenOf(task).keys()]).toEqual([9])
    expect(ws.task(7)).toMatchObject({ waits: 2, steps: 1 })
  })

  test('that its task has no lease for any more is not recorded', () => {
    const ws = running()
    expect(record(ws, { leaseId: gone })).toStrictEqual({ fenced: 'stale' })
    expect([ws.events, [...ws.memos], ws.staleWrites]).toEqual([[], [], 1])
  })
})

describe('a step whose key has a memo (docs/semantics.md 7.1)', () => {
  test('a row of this very flush is answered by it, whatever else was written beside it', () => {
    const ws = running({
      tasks: [task, { ...task, id: 8, lease: 5 }],
      leases: [lease, { ...lease, id: 5, task: 8 }],
    })
    record(ws, { leaseId: ids.lease(5), result: '"of another task"' })
    record(ws, { key: 'before', result: '"of another step"' })
    record(ws)
    const { length } = ws.events
    expect(record(ws, { result: '"again"' })).toStrictEqual({ fenced: 'ok', memo: '{"b":1}' })
    expect(record(ws, { key: 'before' })).toStrictEqual({ fenced: 'ok', memo: '"of another step"' })
    expect(ws.events).toHaveLength(length)
    expect(ws.task(7)?.steps).toBe(2)
  })

  test('a large row of this flush is answered as a whole', () => {
    const { config: small } = parseExecutionConfig({ maxInlineBytes: 1_024 })
    const ws = running({}, small)
    const large = JSON.stringify('x'.repeat(2_000))
    const sha = createHash('sha256').update(large).digest('hex')
    record(ws, { result: large })
    expect(ws.events[0]).toMatchObject({
      blob: sha,
      data: `{"durationMs":5,"key":"a","position":2,"result":{"$blob":"${sha}","size":2002}}`,
    })
    expect(record(ws)).toStrictEqual({ fenced: 'ok', memo: large })
  })

  test('that was committed before is answered by it, also where its own names read like a result', () => {
    const key = '"result":'
    const data = `{"branchKeys":["\\"result\\":","result"],"branches":"all","durationMs":1,"key":${JSON.stringify(key)},"position":0,"result":{"result":2}}`
    const ws = running({ memos: new Map([[7, new Map([[key, 2]])]]), events: new Map([['7:2', data]]) })
    expect(record(ws, { key })).toStrictEqual({ fenced: 'ok', memo: '{"result":2}' })
    expect([ws.events, [...ws.tasks.changed]]).toEqual([[], []])
  })

  test('a step that a rejection has voided is recorded again (12.2)', () => {
    const ws = running({ memos: new Map([[7, new Map([['a', 0]])]]) })
    expect(record(ws)).toStrictEqual({ fenced: 'ok' })
    expect(ws.memos.get(7)?.get('a')).toBe(3)
  })

  test('that nobody loaded is a fault of ours, and says so', () => {
    const ws = running({ memos: new Map([[7, new Map([['a', 2]])]]) })
    expect(() => record(ws)).toThrow('memo 7:2 was not loaded')
  })
})

describe('the intent of a step (docs/semantics.md 7.6)', () => {
  const start = (ws: WorkingSet, it: Partial<Write<'startStep'>> = {}) =>
    startStep(ws, { kind: 'startStep', leaseId, key: 'a"', position: 2, ...it })

  test.each([
    ['its input', { inputHash: 'f00' }, '"inputHash":"f00",'],
    ['no input', {}, ''],
  ])('is an event, with %s', (_, more, text) => {
    const ws = running()
    expect(start(ws, more)).toBe('ok')
    expect(told(ws)).toEqual([[7, 'step.started', `{${text}"key":"a\\"","position":2}`]])
    expect(ws.task(7)).toMatchObject({ state: 'running', steps: 0, seq: 3 })
  })

  test('without a live lease is refused', () => {
    const ws = running()
    expect(start(ws, { leaseId: gone })).toBe('stale')
    expect([ws.events, ws.staleWrites]).toEqual([[], 1])
  })
})

describe('a step that has failed (docs/semantics.md 7.2, 7.7)', () => {
  test('has its error in an event, which is no memo', () => {
    const ws = running()
    expect(fail(ws)).toBe('ok')
    expect(told(ws)).toEqual([[7, 'step.failed', `{"durationMs":5,"error":${error},"key":"a","position":2}`]])
    expect([...ws.memos]).toEqual([])
    expect(ws.task(7)).toMatchObject({ state: 'running', steps: 0, seq: 3, account: null })
  })

  test('a charge of its try beyond the estimate counts in the quota, and its provider is heeded (2.8)', () => {
    const ws = running(limited, counting)
    fail(ws, { charged, retry: 2, backOff: { keys: [quota.key], retryAfterMs: 30 } })
    expect(ws.events[0]?.data).toBe(
      `{"backOff":{"keys":["model:big"],"until":50030},${chargedText},"durationMs":5,"error":${error},"key":"a","position":2,"retry":2}`,
    )
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, windowTokens: 17, blockedUntil: 50_030 })
    expect(ws.task(7)?.account?.used).toStrictEqual(charged)
  })

  test('the work beside it goes with it: waits are dropped, children canceled and reported (5.5)', () => {
    const ws = running(branches)
    fail(ws, { drops: ['rest'], dropsChildren: ['c9'] })
    expect(told(ws)).toEqual([
      [
        7,
        'step.failed',
        `{"dropped":["rest"],"droppedChildren":["c9"],"durationMs":5,"error":${error},"key":"a","position":2}`,
      ],
      [9, 'task.canceled', '{"from":"queued","reason":"its branch was given up"}'],
    ])
    expect(ws.waitsOf(task)).toEqual([wait('nap')])
    expect([...ws.childrenOf(task).keys()]).toEqual([8])
  })

  test('without a live lease is not recorded', () => {
    const ws = running()
    expect(fail(ws, { leaseId: gone, drops: ['nap'] })).toBe('stale')
    expect([ws.events, ws.staleWrites]).toEqual([[], 1])
  })
})

test('the newest checkpoint stays, and its event keeps hash and size', () => {
  const ws = running()
  checkpoint(ws, { leaseId, data: '1' })
  expect(checkpoint(ws, { leaseId, data: '"two"' })).toBe('ok')
  const hash = createHash('sha256').update('"two"').digest('hex')
  expect(told(ws).at(-1)).toEqual([7, 'checkpoint.created', `{"hash":"${hash}","size":5}`])
  expect([...ws.checkpoints.values()]).toStrictEqual([{ task: 7, seq: 4, data: '"two"', at: now.at }])
  expect(checkpoint(ws, { leaseId: gone, data: '3' })).toBe('stale')
})

test('output is numbered on from what there is, call by call (docs/semantics.md 9.3)', () => {
  const ws = running({ outputs: new Map([[7, 4]]) })
  expect(appendOutput(ws, { leaseId, chunks: ['"a"', '"b"'] })).toBe('ok')
  expect(appendOutput(ws, { leaseId, chunks: ['"c"'], round: 2 })).toBe('ok')
  const chunk = { task: 7, attempt: 1, at: now.at, round: null }
  expect(ws.outputs).toStrictEqual([
    { ...chunk, seq: 5, data: '"a"' },
    { ...chunk, seq: 6, data: '"b"' },
    { ...chunk, seq: 7, data: '"c"', round: 2 },
  ])
  expect(appendOutput(ws, { leaseId: gone, chunks: ['"d"'] })).toBe('stale')
})

test('progress is kept with the lease, and is no event', () => {
  const ws = running()
  expect(progress(ws, { leaseId, progress: '0.5' })).toBe('ok')
  expect([ws.lease(3), ws.events]).toEqual([{ ...lease, progress: '0.5', progressAt: now.leaseAt }, []])
  expect(progress(ws, { leaseId: gone, progress: '1' })).toBe('stale')
})
