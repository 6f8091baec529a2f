import { describe, expect, test } from 'vitest'
import { backOffText, block } from '../../src/quota/back-off.ts'
import type { QuotaRow, TaskRow } from '../../src/transition.ts'
import { submitOne } from '../../src/submit/submit.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { limited, now, quota, type Rows, stream, task, workingSet } from '../transition/rows.ts'

const key = quota.key
const refuse = (ws: WorkingSet, retryAfterMs: number, keys: readonly string[] = [key]) =>
  block(ws, { keys, retryAfterMs })
const fresh: QuotaRow = {
  key,
  queued: 0,
  running: 0,
  windowStart: 0,
  windowCount: 0,
  windowTokens: 0,
  blockedUntil: now.at + 30,
}
const queued: TaskRow = { ...task, state: 'queued', lease: null }
/** Tasks, all of which name the key. */
const naming = (...tasks: readonly TaskRow[]): Rows => ({
  tasks,
  naming: new Map([[key, tasks.map(({ id }) => id)]]),
})

describe('until when a provider refuses (docs/semantics.md 2.8)', () => {
  test('nobody is refused where none said so', () => {
    const ws = workingSet(limited)
    block(ws, undefined)
    expect([backOffText(ws, undefined), [...ws.quotas.changed]]).toEqual(['', []])
  })

  test('is a whole ms, not before the time that it named, for each of its keys', () => {
    const ws = workingSet(limited)
    const backOff = { keys: [key, 'tool:web'], retryAfterMs: 29.2 }
    block(ws, backOff)
    expect([...ws.quotas.changed.values()]).toStrictEqual([
      { ...quota, blockedUntil: now.at + 30 },
      { ...fresh, key: 'tool:web' },
    ])
    expect(backOffText(ws, backOff)).toBe('"backOff":{"keys":["model:big","tool:web"],"until":50030},')
  })

  test.each([
    ['before the one that is known', 29, undefined],
    ['at the very ms that is known', 30, undefined],
    ['one ms later', 31, now.at + 31],
  ])('a time %s: the latest counts, and what is no news writes nothing', (_, retryAfterMs, until) => {
    const known = { ...quota, blockedUntil: now.at + 30 }
    const ws = workingSet({ ...limited, quotas: new Map([[key, known]]) })
    refuse(ws, retryAfterMs)
    expect([...ws.quotas.changed.values()]).toEqual(
      until === undefined ? [] : [{ ...known, blockedUntil: until }],
    )
  })
})

describe('a key that is blocked for the first time is counted from now on (docs/semantics.md 2.8)', () => {
  test.each<[string, TaskRow, Partial<QuotaRow>, number, number]>([
    ['one that is queued', queued, { queued: 1 }, 1, 0],
    ['one that is delayed', { ...queued, dueAt: now.at + 1 }, { queued: 1 }, 0, 1],
    ['one that runs', task, { running: 1 }, 0, 0],
    ['one that waits', { ...task, state: 'waiting', lease: null, waitReason: 'timer' }, {}, 0, 0],
  ])('%s takes it, and goes to the stream of those that hold it', (_, row, counted, depth, delayed) => {
    const ws = workingSet({
      ...naming(row),
      streams: [{ ...stream, quotaKeys: ['tool:web'] }],
    })
    refuse(ws, 30, [key])
    expect(ws.task(7)).toStrictEqual({ ...row, stream: 2 })
    expect(ws.stream(2)).toMatchObject({
      laneRank: 2,
      type: 'work',
      client: '',
      quotaKeys: ['model:big', 'tool:web'],
      depth,
      delayed,
    })
    expect(ws.stream(1)).toMatchObject({ depth: 3 - depth, delayed: 3 - delayed })
    expect([ws.depth, ws.delayed, ws.events]).toEqual([3, 3, []])
    expect([...ws.quotas.changed.values()]).toStrictEqual([{ ...fresh, ...counted }])
  })

  test('one that is over, one that is not there any more, and one that holds it already do not', () => {
    const holder: TaskRow = { ...queued, id: 9, stream: 4 }
    const { tasks = [] } = naming({ ...task, state: 'completed', lease: null }, holder)
    const ws = workingSet({
      tasks,
      naming: new Map([[key, [7, 8, 9]]]),
      streams: [stream, { ...stream, id: 4, key: 'other', quotaKeys: [key] }],
      quotas: new Map([[key, { ...quota, queued: 1 }]]),
    })
    refuse(ws, 30)
    expect([[...ws.tasks.changed], [...ws.streams.changed]]).toEqual([[], []])
    expect(ws.quota(key)).toStrictEqual({ ...quota, queued: 1, blockedUntil: now.at + 30 })
  })

  test('tasks that were submitted earlier in the same commit hold it, too; others do not change', () => {
    const ws = workingSet({})
    const submit = (names: object) =>
      submitOne(ws, { type: 'work', lane: 'batch', input: '1', ...names }).sequence
    const first = submit({ model: 'big' })
    const other = submit({ model: 'small' })
    const none = submit({})
    const second = submit({ tools: ['web'], model: 'big' })
    // What is written of a task besides does not make it take the key twice.
    ws.move(ws.taskNow({ id: first }), {}, 'signal.received', '{"name":"a","value":1}')
    refuse(ws, 30)
    expect([first, other, none, second].map((id) => ws.stream(ws.task(id)?.stream ?? 0).quotaKeys)).toEqual([
      [key],
      [],
      [],
      [key],
    ])
    expect([...ws.quotas.changed.values()]).toStrictEqual([{ ...fresh, queued: 2 }])
    expect(ws.stream(3)).toMatchObject({ quotaKeys: [key], depth: 2 })
  })

  test('a later block holds it from its admission on', () => {
    const ws = workingSet({})
    refuse(ws, 30)
    const { sequence } = submitOne(ws, { type: 'work', lane: 'batch', input: '1', model: 'big' })
    expect(ws.stream(ws.task(sequence)?.stream ?? 0).quotaKeys).toEqual([key])
    expect(ws.quota(key)).toStrictEqual({ ...fresh, queued: 1 })
  })

  test('14.3 a task that falls back to the model in the same commit takes its key, and leaves that of the model before', () => {
    const recovered = (model?: string) =>
      JSON.stringify({
        recovery: { category: 'crash', kind: 'error', strategy: 'fallback_agent', ...(model && { model }) },
      })
    const keysAfter = (type: 'task.requeued' | 'signal.received', data: string, named: boolean) => {
      const ws = workingSet(named ? naming(queued) : { tasks: [queued] })
      ws.move(ws.taskNow({ id: 7 }), {}, type, data)
      refuse(ws, 30)
      return ws.stream(ws.task(7)?.stream ?? 0).quotaKeys
    }
    expect(keysAfter('task.requeued', recovered('big'), false)).toEqual([key])
    expect(keysAfter('task.requeued', recovered('small'), false)).toEqual([])
    expect(keysAfter('task.requeued', recovered('small'), true)).toEqual([])
    expect(keysAfter('task.requeued', recovered(), true)).toEqual([key])
    expect(keysAfter('task.requeued', '{}', true)).toEqual([key])
    // The word stands in an error, and nothing was decided.
    expect(keysAfter('task.requeued', '{"error":{"details":{"recovery":1}}}', true)).toEqual([key])
    expect(keysAfter('signal.received', recovered('big'), false)).toEqual([])
  })

  test('one name is not the beginning of another', () => {
    const ws = workingSet({ tasks: [queued] })
    submitOne(ws, { type: 'work', lane: 'batch', input: '1', model: 'bigger' })
    refuse(ws, 30)
    expect([...ws.quotas.changed.values()]).toStrictEqual([fresh])
  })

  test('a time of 0 ms blocks until now, and takes the tasks all the same', () => {
    const ws = workingSet(naming(queued))
    refuse(ws, 0)
    expect([...ws.quotas.changed.values()]).toStrictEqual([{ ...fresh, queued: 1, blockedUntil: now.at }])
  })

  test('14.3 a tool is no model: a task that falls back keeps the keys of its tools', () => {
    const ws = workingSet({ tasks: [queued], naming: new Map([['tool:web', [7]]]) })
    ws.move(
      ws.taskNow({ id: 7 }),
      {},
      'task.requeued',
      '{"recovery":{"category":"crash","kind":"error","model":"small","strategy":"fallback_agent"}}',
    )
    refuse(ws, 30, ['tool:web'])
    expect(ws.stream(ws.task(7)?.stream ?? 0).quotaKeys).toEqual(['tool:web'])
  })
})
