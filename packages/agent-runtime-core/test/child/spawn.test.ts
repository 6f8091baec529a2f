import { describe, expect, test } from 'vitest'
import { type BudgetTerms, noUse } from '../../src/budget/budget.ts'
import { childName } from '../../src/child/child.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import type { Write } from '../../src/store/port.ts'
import { spawn, tellParent } from '../../src/child/spawn.ts'
import type { BudgetRow, ChildRow, TaskRow, WaitRow } from '../../src/transition.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { childRow, config, family, ids, lease, now, type Rows, task, workingSet } from '../transition/rows.ts'

const leaseId = ids.lease(lease.id)
const running = (rows: Rows = {}, settings = config) =>
  workingSet({ tasks: [task], leases: [lease], ...rows }, settings)
const begin = (ws: WorkingSet, it: Partial<Write<'spawn'>> = {}) =>
  spawn(ws, {
    kind: 'spawn',
    leaseId,
    key: 'c',
    position: 4,
    policy: 'cancel',
    submission: { type: 'part', lane: 'batch', input: '1' },
    ...it,
  })
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type, data }) => [of, type, data])
const wait = (key: string, name: string): WaitRow => ({
  task: 7,
  key,
  position: 1,
  kind: 'child',
  name,
  dueAt: null,
  terms: null,
})
const child: ChildRow = {
  parent: 7,
  key: 'c',
  task: 100,
  position: 4,
  policy: 'cancel',
  seq: 3,
  state: 'open',
}
const full = { queueDepthLimit: 3, batchBackpressureThreshold: 2 }

describe('a task that spawns another (docs/semantics.md 5.5)', () => {
  const record = { key: 'c', position: 4, policy: 'cancel', seq: 3, taskId: ids.task(100), type: 'part' }

  test('has it as its child, queued, from this commit on', () => {
    const ws = running()
    expect(begin(ws)).toStrictEqual({ fenced: 'ok', as: 'spawned', child: record })
    expect(told(ws)).toEqual([
      [100, 'task.queued', `{"input":1,"lane":"batch","parentId":"${ids.task(7)}","type":"part"}`],
      [
        7,
        'child.spawned',
        `{"key":"c","policy":"cancel","position":4,"taskId":"${ids.task(100)}","type":"part"}`,
      ],
    ])
    expect(ws.task(100)).toMatchObject({ state: 'queued', parent: 7 })
    expect(ws.task(7)).toMatchObject({ state: 'running', waits: 1, seq: 3 })
    expect([...ws.childrenOf(task)]).toStrictEqual([[100, child]])
    expect(ws.child(7, 'c')).toStrictEqual(child)
  })

  test('by ids of their own, with quotes in them', () => {
    const ws = running({ tasks: [{ ...task, explicitId: 'up"' }] })
    expect(
      begin(ws, { submission: { type: 'part', lane: 'batch', input: '1', taskId: 'down"' } }),
    ).toMatchObject({ child: { taskId: 'down"' } })
    expect(ws.events[0]?.data).toContain('"parentId":"up\\""')
    expect(ws.events[1]?.data).toContain('"taskId":"down\\""')
  })

  test.each(['open', 'closed'] as const)('under a key that has one, which is %s, gets that one', (state) => {
    const ws = running({
      tasks: [task, { ...task, id: 8, state: 'queued', lease: null, explicitId: 'own' }],
      ...family(childRow(7, 8, { key: 'c', policy: 'abandon', state })),
    })
    expect(begin(ws)).toStrictEqual({
      fenced: 'ok',
      as: 'spawned',
      child: { key: 'c', position: 0, policy: 'abandon', seq: 2, taskId: 'own', type: 'work' },
    })
    expect([ws.events, [...ws.tasks.changed]]).toEqual([[], []])
  })

  test('under the key of one whose branch was given up gets another one', () => {
    const ws = running(family(childRow(7, 8, { key: 'c', state: 'dropped' })))
    expect(begin(ws)).toMatchObject({ as: 'spawned', child: { taskId: ids.task(100) } })
  })

  test('that has as many as it may have gets none; those that have ended do not count', () => {
    const { config: one } = parseExecutionConfig({ maxChildren: 1 })
    const ws = running(family(childRow(7, 8)), one)
    expect(begin(ws)).toStrictEqual({ fenced: 'ok', as: 'full' })
    expect(ws.events).toEqual([])
    expect(begin(running(family(childRow(7, 8, { state: 'closed' })), one))).toMatchObject({ as: 'spawned' })
  })

  test('that is refused is a record, and no child: the key stays free', () => {
    const { config: crowded } = parseExecutionConfig(full)
    const ws = running({}, crowded)
    expect(begin(ws)).toStrictEqual({
      fenced: 'ok',
      as: 'refused',
      receipt: {
        accepted: false,
        taskId: ids.task(100),
        sequence: 100,
        reason: 'queue_full',
        message: 'the queue depth is 3, and queueDepthLimit is 3; submit later',
      },
    })
    expect(ws.events.map(({ type }) => type)).toEqual(['task.rejected'])
    expect(ws.child(7, 'c')).toBeUndefined()
  })

  test('which stands in line for room that is not there leaves no record', () => {
    const { config: crowded } = parseExecutionConfig(full)
    const ws = running({}, crowded)
    expect(begin(ws, { inLine: true })).toStrictEqual({ fenced: 'ok', as: 'no_room' })
    expect([ws.events, ws.nextTask]).toEqual([[], 100])
    expect(begin(running(), { inLine: true })).toMatchObject({ as: 'spawned' })
  })

  test('ends its wait for room with it, and no other', () => {
    const ws = running({
      tasks: [{ ...task, waits: 2 }],
      waits: new Map([[7, [wait('room', 'r'), wait('else', 'e')]]]),
    })
    begin(ws, { drops: 'room' })
    expect(ws.events[1]?.data).toBe(
      `{"dropped":["room"],"key":"c","policy":"cancel","position":4,"taskId":"${ids.task(100)}","type":"part"}`,
    )
    expect(ws.waitsOf(task).map(({ key }) => key)).toEqual(['else'])
    expect(ws.task(7)?.waits).toBe(2)
  })

  test('a wait that is over already is not dropped', () => {
    const ws = running()
    begin(ws, { drops: 'room' })
    expect(ws.events[1]?.data).toMatch(/^\{"key":"c"/)
  })

  test('without a live lease spawns nothing', () => {
    const ws = running()
    expect(begin(ws, { leaseId: ids.lease(99) })).toStrictEqual({ fenced: 'stale' })
    expect([ws.events, ws.staleWrites]).toEqual([[], 1])
  })

  const budget: BudgetRow = {
    task: 7,
    above: null,
    limits: { tokens: 10 },
    soft: {},
    used: { ...noUse, tokens: 5 },
    own: noUse,
    startedAt: null,
    dueAt: null,
    asked: null,
    asks: 0,
  }
  const drawing = () => running({ tasks: [{ ...task, budget: 7 }], budgets: new Map([[7, budget]]) })
  const part = (terms: Pick<BudgetTerms, 'limits' | 'cut'>) => ({
    submission: { type: 'part', lane: 'batch', input: '1', budget: { soft: {}, ...terms } } as const,
  })

  test('a parent that gives it more than is left of its own budget gets the rest that is left, and nothing is stored (11.5)', () => {
    const ws = drawing()
    expect(begin(ws, part({ limits: { tokens: 6 } }))).toStrictEqual({
      fenced: 'ok',
      as: 'over_budget',
      field: 'tokens',
      left: 5,
      taskId: ids.task(7),
    })
    expect([ws.events, ws.nextTask]).toEqual([[], 100])
  })

  test.each([
    ['all that is left', { limits: { tokens: 5 } }],
    ["its type's own budget, which is cut to that", { limits: { tokens: 6 }, cut: true }],
  ] as const)('may give it %s (11.5)', (_, terms) => {
    const ws = drawing()
    expect(begin(ws, part(terms))).toMatchObject({ as: 'spawned' })
    expect(ws.budget(100)).toMatchObject({ above: 7, limits: { tokens: 5 } })
  })
})

describe('a task that has ended tells its parent (docs/semantics.md 5.5)', () => {
  const over: TaskRow = { ...task, id: 8, state: 'completed', lease: null, parent: 7 }
  const end = { state: 'completed', text: '{"output":1,"state":"completed"}', blob: null } as const
  const name = childName('c8')
  const ended = [
    7,
    'child.ended',
    `{"key":"c8","name":"${name}","state":"completed","taskId":"${ids.task(8)}","value":${end.text}}`,
  ]

  test('a parent learns it when it asks, and has no open child any more', () => {
    const ws = running({ tasks: [{ ...task, waits: 1 }, over], ...family(childRow(7, 8)) })
    tellParent(ws, over, end)
    expect(told(ws)).toEqual([ended])
    expect([...ws.childrenOf(task)]).toEqual([])
    expect(ws.child(7, 'c8')).toStrictEqual(childRow(7, 8, { state: 'closed' }))
    expect(ws.signalsOf(task)).toStrictEqual([
      { task: 7, seq: 3, name, at: now.at, value: end.text, blob: null, outcome: 'received' },
    ])
    expect(ws.task(7)).toMatchObject({ state: 'running', waits: 1 })
  })

  test('which goes on with it when it waits for that', () => {
    const waiting: TaskRow = { ...task, state: 'waiting', lease: null, waitReason: 'children', waits: 2 }
    const ws = running({
      tasks: [waiting, over],
      waits: new Map([[7, [wait('join', name)]]]),
      ...family(childRow(7, 8)),
    })
    tellParent(ws, over, end)
    expect(told(ws)).toEqual([
      ended,
      [
        7,
        'task.resumed',
        `{"key":"join","kind":"child","name":"${name}","outcome":"received","position":1,"reason":"children","value":${end.text}}`,
      ],
    ])
    expect(ws.task(7)).toMatchObject({ state: 'queued', waits: 0 })
  })

  test.each<[string, Partial<TaskRow>, Partial<ChildRow>, number | null]>([
    ['it has none', {}, {}, null],
    ['that is over itself', { state: 'failed', lease: null }, {}, 7],
    ['that has given it up', {}, { state: 'dropped' }, 7],
    ['that heard of it already', {}, { state: 'closed' }, 7],
  ])('not when %s', (_, parent, row, above) => {
    const it = { ...over, parent: above }
    const ws = running({ tasks: [{ ...task, ...parent }, it], ...family(childRow(7, 8, row)) })
    tellParent(ws, it, end)
    expect([ws.events, [...ws.childRows.changed]]).toEqual([[], []])
  })
})
