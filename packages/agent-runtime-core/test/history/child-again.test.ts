import { describe, expect, test } from 'vitest'
import { childToKeep, childToRetry, submissionOf } from '../../src/history/inherit.ts'
import { supervisedKey } from '../../src/supervision/supervision.ts'
import { emptyLog } from '../../src/pipeline/log.ts'
import type { History, TaskRow } from '../../src/transition.ts'
import { childRow, family, ids, type Rows, task, workingSet } from '../transition/rows.ts'

const submission = { type: 'work', lane: 'batch', input: '{"a":1}' } as const
const history: History = {
  submission: '{"type":"work","lane":"batch","input":{"a":1}}',
  memos: [
    {
      seq: 2,
      type: 'step.completed',
      data: '{"key":"s","position":0,"durationMs":1,"result":1}',
      blob: null,
    },
  ],
  doubts: [],
  failedOf: [],
  lastFailure: 0,
}
const ended = (state: TaskRow['state']): TaskRow => ({ ...task, id: 8, lease: null, parent: 7, state })

/** Task 7, whose child 8 under this key has ended. */
const house = (state: TaskRow['state'], key = 'c', more: Rows = {}) =>
  workingSet({
    tasks: [task, ended(state)],
    ...family(childRow(7, 8, { key, state: 'closed' })),
    histories: new Map([[8, history]]),
    ...more,
  })

describe('the child that is tried again with its parent (docs/semantics.md 6.3)', () => {
  const retried = (ws: ReturnType<typeof house>, more: object = {}, of = ids.task(7)) =>
    childToRetry(ws, of, { key: 'c', submission: { ...submission, ...more } })

  test('6.3 is one that failed or was canceled, with what it recorded', () => {
    for (const state of ['failed', 'canceled'] as const) {
      const past = retried(house(state))
      expect(past?.source.id).toBe(8)
      expect(past?.memos.map(({ data }) => data.key)).toEqual(['s'])
    }
    for (const state of ['completed', 'queued', 'running', 'waiting'] as const)
      expect(retried(house(state))).toBeUndefined()
  })

  test('6.3 has the same key, type and input', () => {
    const ws = house('failed')
    expect(retried(ws, { type: 'mail' })).toBeUndefined()
    expect(retried(ws, { input: '{"a":2}' })).toBeUndefined()
    expect(retried(house('failed', 'other'))).toBeUndefined()
  })

  test('6.3 has to be there, with a history that can be trusted', () => {
    expect(retried(house('failed'), {}, 'nobody')).toBeUndefined()
    expect(retried(house('failed', 'c', { histories: new Map() }))).toBeUndefined()
    expect(retried(house('failed', 'c', { tasks: [task] }))).toBeUndefined()
    const fault = { fault: { seq: 3, expected: 'a', actual: 'b' } }
    expect(retried(house('failed', 'c', { histories: new Map([[8, fault]]) }))).toBeUndefined()
  })

  test('13.1 is no pipeline: that begins with a log of its own', () => {
    const terms = { stages: [], maxUnread: 1 }
    const pipelines = new Map([[8, { task: 8, terms, log: emptyLog(terms) }]])
    expect(retried(house('failed', 'c', { pipelines }))).toBeUndefined()
  })
})

describe('the child that a retry of a supervisor keeps (docs/semantics.md 14.2)', () => {
  const kept = (
    restart: 'permanent' | 'transient' | 'temporary',
    state: TaskRow['state'],
    more: object = {},
  ) => {
    const key = supervisedKey({ id: 'a', restart })
    return childToKeep(house(state, key), ids.task(7), { key, submission: { ...submission, ...more } })?.id
  }

  test('14.2 is one that completed and would not start again', () => {
    expect([kept('transient', 'completed'), kept('temporary', 'completed')]).toEqual([8, 8])
    expect(kept('permanent', 'completed')).toBeUndefined()
    expect([kept('transient', 'failed'), kept('temporary', 'canceled')]).toEqual([undefined, undefined])
    expect(kept('transient', 'completed', { input: '1' })).toBeUndefined()
    expect(childToKeep(house('completed'), ids.task(7), { key: 'c', submission })).toBeUndefined()
  })
})

describe('the submission in an event', () => {
  const needed = { type: 'work', lane: 'batch', input: 1 } as const
  const options = {
    client: 'ada',
    labels: { a: 'b' },
    model: 'big',
    timeoutMs: 5,
    tokens: 6,
    cost: 7,
    budget: { limits: { tokens: 1 }, soft: {} },
    tools: ['web'],
    trace: { traceparent: 'x' },
    swarm: 's',
    agent: 'n',
    oversight: 'review',
    outOfCredits: 'park',
    profile: { profile: 'STANDARD' },
    share: { cpuTimeUs: 1 },
  }

  test('has what was submitted, its input in canonical form', () => {
    expect(submissionOf(JSON.stringify({ ...needed, input: { b: 1, a: 2 }, ...options }))).toStrictEqual({
      ...needed,
      input: '{"a":2,"b":1}',
      ...options,
    })
  })

  test('has nothing that was not submitted, and nothing that belongs to the other task', () => {
    const own = {
      idempotencyKey: 'k',
      parentId: 'p',
      schedule: 's',
      dueAt: 1,
      forkOf: 'f',
      held: true,
      asRetry: true,
    }
    expect(submissionOf(JSON.stringify({ ...needed, ...own }))).toStrictEqual({ ...needed, input: '1' })
  })

  test.each(Object.entries(options))('may have its %s alone', (name, value) => {
    expect(submissionOf(JSON.stringify({ ...needed, [name]: value }))).toStrictEqual({
      ...needed,
      input: '1',
      [name]: value,
    })
  })
})
