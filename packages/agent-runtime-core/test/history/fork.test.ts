import { describe, expect, test } from 'vitest'
import { childName, patienceKey } from '../../src/child/child.ts'
import { canonical } from '../../src/codec/codec.ts'
import { branchLimitKey, RETRY_KEY } from '../../src/history/replay.ts'
import type { StartedStep } from '../../src/step/doubt.ts'
import { idempotencyKey } from '../../src/submit/idempotency.ts'
import { profileConfigs } from '../../src/profile/profile.ts'
import { taskStates } from '../../src/task/states.ts'
import type { Write } from '../../src/store/port.ts'
import { fork } from '../../src/history/fork.ts'
import type { History, MemoRow, TaskRow } from '../../src/transition.ts'
import {
  childRow,
  config,
  family,
  ids,
  now,
  type Rows,
  swarm,
  task,
  usage,
  workingSet,
} from '../transition/rows.ts'

const taskId = ids.task(7)
const failed: TaskRow = { ...task, state: 'failed', lease: null, finishedAt: now.at - 1, seq: 50 }
const queued = { input: 1, lane: 'batch', type: 'work' }

const memo = (seq: number, type: MemoRow['type'], data: object, blob: string | null = null): MemoRow => ({
  seq,
  type,
  data: canonical(data),
  blob,
})
/** Of a step that returned its key; what a test says of it goes before. */
const step = (key: string, position: number, seq: number, more: object = {}, blob: string | null = null) =>
  memo(seq, 'step.completed', { key, position, durationMs: 5, result: key, ...more }, blob)
const wait = (key: string, position: number, seq: number, more: object = {}) =>
  memo(seq, 'wait.resolved', { key, position, kind: 'timer', outcome: 'fired', ...more })
const approval = (seq: number, more: object = {}) =>
  wait('ok', seq, seq, { kind: 'approval', outcome: 'approved', ...more })
/** A rejection that sent the task back to where the approval `since` left it. */
const rejection = (seq: number, since: number, more: object = {}) =>
  approval(seq, { outcome: 'rejected', since, ...more })
const spawned = (key: string, position: number, seq: number, more: object = {}) =>
  memo(seq, 'child.spawned', { key, position, policy: 'abandon', taskId: 'c', type: 'work', ...more })
const ended = (key: string, seq: number, value: { state: string }, blob: string | null = null) =>
  memo(seq, 'child.ended', { key, name: childName(key), state: value.state, taskId: 'c', value }, blob)
const doubt = (key: string, position: number, seq: number, more: Partial<StartedStep> = {}): StartedStep => ({
  key,
  position,
  seq,
  starts: 2,
  startedAt: 40_000,
  inDoubt: true,
  ...more,
})
const past = (memos: readonly MemoRow[] = [], more: object = {}): History => ({
  submission: canonical(queued),
  memos,
  doubts: [],
  failedOf: [],
  lastFailure: 0,
  ...more,
})

/** A fork of task 7, which has failed, with all that it recorded; what a test says differs. */
const forked = (
  history: History,
  it: Partial<Write<'fork'>> = {},
  rows: Rows = {},
  { source = failed } = {},
) => {
  const ws = workingSet({ tasks: [source], histories: new Map([[7, history]]), ...rows })
  const outcome = fork(ws, { kind: 'fork', taskId, edits: {}, onlyOver: false, change: {}, ...it })
  const told = ws.events.map(({ type, data }) => [type, JSON.parse(data)] as const)
  return {
    ws,
    outcome,
    /** What it was submitted with. */
    submission: told[0]?.[1],
    /** What it has of the other, event by event. */
    inherited: told.slice(1),
    /** The same, by their keys. */
    keys: told.slice(1).map(([, { key }]) => key as string),
  }
}
const retry = { onlyOver: true } as const
const receipt = { accepted: true, taskId: ids.task(100), sequence: 100, deduplicated: false }

describe('which tasks can be forked (docs/semantics.md 1.2, 6.3)', () => {
  test('one that is there, with its history, and was accepted', () => {
    expect(forked(past()).outcome).toStrictEqual({ as: 'submitted', receipt })
    const unknown: readonly (readonly [Partial<Write<'fork'>>, Rows, TaskRow])[] = [
      [{ taskId: 'no such id' }, {}, failed],
      [{ taskId: ids.task(8) }, { histories: new Map([[8, past()]]) }, failed],
      [{}, { histories: new Map() }, failed],
      [{}, {}, { ...failed, stream: null, state: 'rejected' }],
    ]
    for (const [it, rows, source] of unknown) {
      const { outcome, ws } = forked(past(), it, rows, { source })
      expect(outcome).toStrictEqual({ as: 'unknown_task' })
      expect(ws.events).toEqual([])
    }
  })

  test.each(taskStates.filter((state) => state !== 'rejected'))('%s: whatever its state', (state) => {
    expect(forked(past(), {}, {}, { source: { ...failed, state } }).outcome.as).toBe('submitted')
  })

  test('to be tried again, only what failed or was canceled', () => {
    for (const state of ['failed', 'canceled'] as const)
      expect(forked(past(), retry, {}, { source: { ...failed, state } }).outcome.as).toBe('submitted')
    for (const state of ['queued', 'running', 'waiting', 'completed'] as const) {
      const { outcome, ws } = forked(past(), retry, {}, { source: { ...failed, state } })
      expect(outcome).toStrictEqual({ as: 'not_over', state })
      expect(ws.events).toEqual([])
    }
  })

  test('one that is parked for its divergence is tried again, too; one that waits for anything else is not', () => {
    const parked: TaskRow = { ...failed, state: 'waiting', waitReason: 'divergence' }
    expect(forked(past(), retry, {}, { source: parked }).outcome.as).toBe('submitted')
    const asleep: TaskRow = { ...parked, waitReason: 'budget' }
    expect(forked(past(), retry, {}, { source: asleep }).outcome.as).toBe('not_over')
  })

  test('none whose history is not the one that was written, nor what its caller ran', () => {
    const fault = { seq: 3, expected: 'a', actual: 'b' }
    expect(forked({ fault }).outcome).toStrictEqual({ as: 'edited', fault })
    expect(forked({ fault }, retry, {}, { source: { ...failed, state: 'completed' } }).outcome.as).toBe(
      'not_over',
    )
    const held = past([], { submission: canonical({ ...queued, held: true }) })
    expect(forked(held).outcome).toStrictEqual({ as: 'held' })
  })

  test('the other task stays as it is', () => {
    const { ws } = forked(past([step('a', 0, 2)]))
    expect(ws.task(7)).toBe(failed)
    expect([...ws.tasks.changed.keys()]).toEqual([100])
    expect(ws.events.every((event) => event.task === 100)).toBe(true)
  })
})

describe('the submission of a fork (docs/semantics.md 6.3)', () => {
  const all = {
    ...queued,
    budget: { limits: { tokens: 9 }, soft: {} },
    client: 'ann',
    cost: 2,
    input: { b: 1, a: [2] },
    labels: { l: '1' },
    model: 'big',
    timeoutMs: 5,
    tokens: 6,
    tools: ['t'],
    trace: { traceparent: 'x' },
  }

  test('a fork has the submission of the other task, and nothing that the other did not have', () => {
    expect(forked(past([], { submission: canonical(all) })).submission).toStrictEqual({
      ...all,
      forkOf: taskId,
    })
    expect(forked(past()).submission).toStrictEqual({ ...queued, forkOf: taskId })
  })

  test('the id and the key of the other, its parent, its schedule and its time stay its own', () => {
    const own = { idempotencyKey: 'k', parentId: 'p', schedule: 's', scheduledFor: 1, dueAt: now.at + 9 }
    const { submission, ws } = forked(past([], { submission: canonical({ ...queued, ...own }) }))
    expect(submission).toStrictEqual({ ...queued, forkOf: taskId })
    expect(ws.task(100)).toMatchObject({ parent: null, explicitId: null, dueAt: null })
  })

  test('a new option goes before the old one', () => {
    const change = { lane: 'interactive', input: '2', labels: { l: '2' }, taskId: 'mine' } as const
    const { submission, ws } = forked(past([], { submission: canonical(all) }), { change })
    expect(submission).toStrictEqual({
      ...all,
      forkOf: taskId,
      lane: 'interactive',
      input: 2,
      labels: { l: '2' },
    })
    expect(ws.task(100)?.explicitId).toBe('mine')
  })

  test('it is a fork of the id that it was asked for by', () => {
    const source = { ...failed, explicitId: 'theirs' }
    const rows = { explicitIds: new Map([['theirs', 7]]) }
    expect(forked(past(), { taskId: 'theirs' }, rows, { source }).submission).toMatchObject({
      forkOf: 'theirs',
    })
  })

  test('its key binds where it begins, and its edits: the same answers, another is a conflict (2.7)', () => {
    const history = past([step('a', 0, 2), step('b', 1, 3)])
    const change = { idempotencyKey: 'k' }
    const it = { kind: 'fork', taskId, onlyOver: false, change, fromStep: 'b', edits: { a: '1' } } as const
    const { ws } = forked(history, it)
    const before = ws.events.length
    expect(fork(ws, it)).toStrictEqual({ as: 'submitted', receipt: { ...receipt, deduplicated: true } })
    const { fromStep: _, ...whole } = it
    for (const other of [{ ...it, edits: { a: '2' } }, { ...it, fromStep: 'a', edits: {} }, whole])
      expect(fork(ws, other)).toMatchObject({
        as: 'submitted',
        receipt: { accepted: false, reason: 'idempotency_conflict' },
      })
    expect(ws.events).toHaveLength(before)
  })

  test('one that is refused is on record without the memos', () => {
    const { outcome, ws } = forked(past([step('a', 0, 2)]), {}, { depth: config.queueDepthLimit })
    expect(outcome).toMatchObject({ as: 'submitted', receipt: { accepted: false } })
    expect(ws.events.map(({ type }) => type)).toEqual(['task.rejected'])
  })
})

describe('a fork of an agent (docs/semantics.md 10.6)', () => {
  const profile = { profile: 'STANDARD', config: profileConfigs.STANDARD, grantedMs: 1, limits: {} }
  const share = { cpuTimeUs: 5 }
  const history = past([], { submission: canonical({ ...queued, swarm: 's', agent: 'a', profile, share }) })
  const swarms = new Map([['s', swarm]])

  test('is an agent of its swarm, with its share and its name', () => {
    const { ws, submission } = forked(history, {}, { swarms })
    expect(submission).toMatchObject({ swarm: 's', agent: 'a', profile, share })
    expect(ws.usage(100)).toMatchObject({ swarm: 's', agent: 'a', promisedCpuUs: 5 })
  })

  test('has a name of its own beside one of its name, and no other', () => {
    const beside = (agent: string) =>
      forked(history, {}, { swarms, usages: new Map([[8, usage({ task: 8, swarm: 's', agent, order: 1 })]]) })
    expect(beside('a').submission).toMatchObject({ agent: `a ${ids.task(100)}` })
    expect(beside('b').submission).toMatchObject({ agent: 'a' })
  })

  test('a fork of no swarm keeps no name', () => {
    const lone = past([], { submission: canonical({ ...queued, profile }) })
    expect(forked(lone).submission).toStrictEqual({ ...queued, profile, forkOf: taskId })
  })
})

describe('the parts of the other task that a fork has (docs/semantics.md 6.3)', () => {
  const memos = [step('a', 0, 2), step('c', 2, 3), step('b', 1, 4), wait('w', 3, 5), step('d', 3, 6)]

  test('without a step, all that counts; its steps answer from its own events', () => {
    const { inherited, ws } = forked(past(memos))
    const own = (key: string, position: number) => ({ key, position, durationMs: 5, result: key })
    expect(inherited).toStrictEqual([
      ['step.inherited', own('a', 0)],
      ['step.inherited', own('c', 2)],
      ['step.inherited', own('b', 1)],
      ['wait.inherited', { key: 'w', position: 3, kind: 'timer', outcome: 'fired' }],
      ['step.inherited', own('d', 3)],
    ])
    expect(ws.task(100)).toMatchObject({ state: 'queued', seq: 6, steps: 4 })
    expect(ws.memos.get(100)).toEqual(
      new Map([
        ['a', 2],
        ['c', 3],
        ['b', 4],
        ['d', 6],
      ]),
    )
  })

  test.each([
    ['a', []],
    ['b', ['a']],
    ['c', ['a', 'b']],
    ['d', ['a', 'c', 'b']],
    ['w', ['a', 'c', 'b']],
  ])('from %s on: what came before it by the order of the calls', (fromStep, kept) => {
    const { keys, ws } = forked(past(memos), { fromStep })
    expect(keys).toEqual(kept)
    expect(ws.task(100)?.steps).toBe(kept.length)
  })

  test('a race whose time was over is known by its key', () => {
    const history = past([step('a', 0, 2), wait(branchLimitKey('r'), 1, 3, { outcome: 'fired' })])
    expect(forked(history, { fromStep: 'r' }).keys).toEqual(['a'])
  })

  test('from a step that it does not have: nothing is forked, and it says if the step is in doubt', () => {
    const history = past(memos, { doubts: [doubt('x', 4, 9), doubt('z', 5, 10)] })
    expect(forked(history, { fromStep: 'y' })).toMatchObject({
      outcome: { as: 'unknown_step', key: 'y' },
      submission: undefined,
    })
    expect(forked(history, { fromStep: 'y' }).outcome).not.toHaveProperty('inDoubt')
    expect(forked(history, { fromStep: 'x' }).outcome).toStrictEqual({
      as: 'unknown_step',
      key: 'x',
      inDoubt: true,
    })
  })

  test('why a wait began, and what was dropped with it, is no matter of the fork', () => {
    const gone = { dropped: ['x'], droppedChildren: ['y'] }
    const { inherited } = forked(
      past([
        memo(2, 'task.resumed', { key: 'w', position: 0, kind: 'timer', outcome: 'fired', reason: 'timer' }),
        step('a', 1, 3, gone),
        wait('v', 2, 4, gone),
        memo(5, 'step.inherited', { key: 'b', position: 3, durationMs: 5, result: 1 }),
      ]),
    )
    expect(inherited).toStrictEqual([
      ['wait.inherited', { key: 'w', position: 0, kind: 'timer', outcome: 'fired' }],
      ['step.inherited', { key: 'a', position: 1, durationMs: 5, result: 'a' }],
      ['wait.inherited', { key: 'v', position: 2, kind: 'timer', outcome: 'fired' }],
      ['step.inherited', { key: 'b', position: 3, durationMs: 5, result: 1 }],
    ])
  })

  test('a task that was parked, and one that asked for its budget, went on by nobody’s call', () => {
    const resumed = (seq: number, reason: string) => memo(seq, 'task.resumed', { reason })
    expect(forked(past([resumed(2, 'divergence'), step('a', 0, 3), resumed(4, 'budget')])).keys).toEqual([
      'a',
    ])
  })

  test('values that stand elsewhere stay there', () => {
    const blobs = forked(
      past([step('a', 0, 2, {}, 'sha-a'), { ...wait('w', 1, 3), blob: 'sha-w' }, step('b', 2, 4)]),
    ).ws.events.map(({ blob }) => blob)
    expect(blobs).toEqual([null, 'sha-a', 'sha-w', null])
  })

  test('the tries of its steps begin again', () => {
    expect(forked(past([wait(`${RETRY_KEY}1/a`, 0, 2), step('a', 0, 3)])).keys).toEqual(['a'])
  })
})

describe('edits of a fork (docs/semantics.md 6.3)', () => {
  const edit = (memos: readonly MemoRow[], edits: Write<'fork'>['edits'], more: object = {}) =>
    forked(past(memos, more), { edits })

  test('a step has the result that is given for it, the others have their own', () => {
    const { inherited, ws } = edit([step('a', 0, 2, { inputHash: 'h' }, 'sha'), step('b', 1, 3)], {
      a: '{"x":[null]}',
    })
    expect(inherited).toStrictEqual([
      ['step.inherited', { key: 'a', position: 0, durationMs: 5, inputHash: 'h', result: { x: [null] } }],
      ['step.inherited', { key: 'b', position: 1, durationMs: 5, result: 'b' }],
    ])
    expect(ws.events.map(({ blob }) => blob)).toEqual([null, null, null])
    expect(ws.memos.get(100)).toEqual(
      new Map([
        ['a', 2],
        ['b', 3],
      ]),
    )
  })

  test.each(['$$', '$&', '$`', "$'", '$0', '$<a>'])(
    'a result is what is given, dollar signs and all: %s',
    (text) => {
      const { inherited } = edit([step('a', 0, 2)], { a: JSON.stringify({ text }) })
      expect(inherited[0]?.[1]).toMatchObject({ result: { text } })
    },
  )

  test('its key may look like what the result takes the place of', () => {
    const { inherited } = edit([step('null}', 0, 2)], { 'null}': '3' })
    expect(inherited[0]?.[1]).toStrictEqual({ key: 'null}', position: 0, durationMs: 5, result: 3 })
  })

  test('a step that is called like what every object has is edited only by name', () => {
    expect(edit([step('toString', 0, 2)], {}).inherited[0]?.[1]).toMatchObject({ result: 'toString' })
  })

  test('a result that is too long for an event stands elsewhere', () => {
    const text = `"${'x'.repeat(config.maxInlineBytes)}"`
    const { ws, inherited } = edit([step('a', 0, 2)], { a: text })
    const { blob } = ws.events[1] ?? {}
    expect(ws.blobs.changed.get(blob ?? '')).toBe(text)
    expect(inherited[0]?.[1]).toMatchObject({ result: { $blob: blob, size: text.length } })
  })

  test('a key before the fork that is no step is refused, with its kind', () => {
    const memos = [
      step('a', 0, 2),
      wait('mail', 1, 3, { kind: 'signal', outcome: 'received' }),
      spawned('c', 2, 4),
      wait('z', 3, 5, { kind: 'signal', outcome: 'received' }),
      step('b', 4, 6),
      memo(7, 'step.inherited', { key: 'i', position: 5, durationMs: 5, result: 1 }),
    ]
    const refused = (key: string) =>
      forked(past(memos, { doubts: [doubt('x', 4, 9)] }), { fromStep: 'z', edits: { [key]: '1' } })
    const answers = [
      ['mail', { recorded: 'signal' }],
      ['c', { recorded: 'child' }],
      ['b', { recorded: 'step' }],
      ['i', { recorded: 'step' }],
      ['x', { inDoubt: true }],
      ['nothing', {}],
    ] as const
    for (const [key, more] of answers) {
      const { outcome, ws } = refused(key)
      expect(outcome).toStrictEqual({ as: 'not_editable', key, ...more })
      expect(ws.events).toEqual([])
    }
  })

  describe('an edit of a result that a race or an all was decided with', () => {
    const race = (key: string, position: number, seq: number) =>
      step(key, position, seq, { branches: 'race', result: { value: 1, winner: key } })

    test('are refused, by the name of the outermost decision that answers for it', () => {
      const memos = [step('a', 1, 2), race('inner', 1, 3), race('outer', 1, 4)]
      expect(edit(memos, { a: '1' }).outcome).toStrictEqual({
        as: 'inside_decision',
        key: 'a',
        decision: 'outer',
      })
      expect(edit(memos, { inner: '1' }).outcome).toStrictEqual({
        as: 'inside_decision',
        key: 'inner',
        decision: 'outer',
      })
    })

    test('steps at another place, or after the decision, are none of its own', () => {
      const memos = [step('a', 0, 2), race('r', 1, 3), step('b', 1, 4), step('c', 2, 5)]
      expect(edit(memos, { a: '1', b: '2', c: '3' }).outcome.as).toBe('submitted')
    })

    test('a step among others, none of which is a decision, can be edited', () => {
      expect(edit([step('a', 1, 2), step('b', 1, 3)], { a: '1' }).outcome.as).toBe('submitted')
    })
  })

  describe('an edit of a decision', () => {
    const race = step('r', 1, 3, { branches: 'race', result: { value: 1, winner: 'a' } })
    const all = step('r', 1, 3, { branches: 'all', result: { a: 1, b: 2 } })

    test.each(['{"value":1,"winner":"b"}', '{"value":null,"winner":"a"}'])(
      'the decision of a race can be %s',
      (text) => {
        expect(edit([race], { r: text }).outcome.as).toBe('submitted')
      },
    )

    test.each([
      '{"value":1}',
      '{"winner":"a"}',
      '{"value":1,"winner":2}',
      '{"prize":1,"winner":"a"}',
      '{"more":1,"value":1,"winner":"a"}',
      '["value","winner"]',
      'null',
      '"winner"',
    ])('the decision of a race cannot be %s', (text) => {
      expect(edit([race], { r: text }).outcome).toStrictEqual({
        as: 'no_decision',
        key: 'r',
        branches: 'race',
        names: [],
      })
    })

    test.each(['{"b":1,"a":2}', '{"$ku0":["Object",{"a":1,"b":2}]}'])(
      'the decision of an all can be %s',
      (text) => {
        expect(edit([all], { r: text }).outcome.as).toBe('submitted')
      },
    )

    test.each([
      '{"a":1}',
      '{"a":1,"c":2}',
      '{"a":1,"b":2,"c":3}',
      '[1,2]',
      'null',
      '1',
      '{"$ku0":["Map",{"a":1,"b":2}]}',
    ])('the decision of an all cannot be %s', (text) => {
      expect(edit([all], { r: text }).outcome).toStrictEqual({
        as: 'no_decision',
        key: 'r',
        branches: 'all',
        names: ['a', 'b'],
      })
    })

    test('an all whose result stands elsewhere accepts any branches, and nothing else', () => {
      const long = { ...all, blob: 'sha' }
      expect(edit([long], { r: '{"c":1}' }).outcome.as).toBe('submitted')
      for (const r of ['[]', '1', '"a"'])
        expect(edit([long], { r }).outcome).toStrictEqual({
          as: 'no_decision',
          key: 'r',
          branches: 'all',
          names: [],
        })
    })

    test('an edit of other steps asks for nothing', () => {
      expect(edit([race, step('a', 2, 4)], { a: 'null' }).outcome.as).toBe('submitted')
    })
  })
})

describe('a step in doubt, in a fork (docs/semantics.md 6.3, 7.6)', () => {
  const open = doubt('x', 1, 4, { inputHash: 'h' })
  const effectKey = (of: string, input: string | null, generation: number) =>
    idempotencyKey(workingSet({}).around, of, 'x', input, generation)
  const told = { key: 'x', position: 1, inputHash: 'h', starts: 2, startedAt: 40_000 }

  test('is in doubt there, under the key by which its effect is known, in the order of the history', () => {
    const { inherited, ws } = forked(past([step('a', 0, 2), step('b', 2, 6)], { doubts: [open] }))
    expect(inherited.map(([type, { key }]) => [type, key])).toEqual([
      ['step.inherited', 'a'],
      ['doubt.inherited', 'x'],
      ['step.inherited', 'b'],
    ])
    expect(inherited[1]?.[1]).toStrictEqual({ ...told, effectKey: effectKey(taskId, 'h', 0) })
    expect(ws.task(100)?.steps).toBe(2)
    expect(ws.memos.get(100)?.has('x')).toBe(false)
  })

  test('its effect is known by the id that its submitter gave, and without an input', () => {
    const { inputHash: _, ...bare } = open
    const { inherited } = forked(
      past([], { doubts: [bare] }),
      {},
      {},
      {
        source: { ...failed, explicitId: 'mine' },
      },
    )
    const { inputHash: __, ...own } = told
    expect(inherited).toStrictEqual([['doubt.inherited', { ...own, effectKey: effectKey('mine', null, 0) }]])
  })

  test('its effect is known by how often its task was sent back before, not since', () => {
    const memos = [rejection(2, 0), rejection(3, 0), rejection(9, 0)]
    const { inherited } = forked(past(memos, { doubts: [open] }))
    expect(inherited.at(-1)?.[1]).toMatchObject({ key: 'x', effectKey: effectKey(taskId, 'h', 2) })
  })

  test('a doubt of a fork keeps in its fork the key that it had', () => {
    const { inherited } = forked(past([], { doubts: [{ ...open, effectKey: 'first' }] }))
    expect(inherited).toStrictEqual([['doubt.inherited', { ...told, effectKey: 'first' }]])
  })

  test('is over with a result that is given for it', () => {
    const { inherited, ws } = forked(past([], { doubts: [open] }), { edits: { x: '3' } })
    expect(inherited).toStrictEqual([
      ['step.inherited', { key: 'x', position: 1, inputHash: 'h', durationMs: 0, result: 3 }],
    ])
    expect(ws.memos.get(100)).toEqual(new Map([['x', 2]]))
    expect(ws.task(100)?.steps).toBe(1)
    const { inputHash: _, ...bare } = open
    expect(forked(past([], { doubts: [bare] }), { edits: { x: '3' } }).inherited[0]?.[1]).toStrictEqual({
      key: 'x',
      position: 1,
      durationMs: 0,
      result: 3,
    })
  })

  test('comes with the fork only where its call comes before the step that is forked from', () => {
    const history = past([step('a', 0, 2), step('b', 1, 6), step('c', 2, 7)], { doubts: [open] })
    expect(forked(history, { fromStep: 'b' }).keys).toEqual(['a'])
    expect(forked(history, { fromStep: 'c' }).keys).toEqual(['a', 'x', 'b'])
  })

  test('for which a decided race answers is no matter of the fork, and cannot be edited', () => {
    const race = step('r', 1, 6, { branches: 'race', result: { value: 1, winner: 'a' } })
    expect(forked(past([race], { doubts: [open] })).keys).toEqual(['r'])
    expect(forked(past([race], { doubts: [open] }), { edits: { x: '1' } }).outcome).toStrictEqual({
      as: 'inside_decision',
      key: 'x',
      decision: 'r',
    })
  })
})

describe('children of a fork (docs/semantics.md 5.5, 6.3)', () => {
  const done = { state: 'completed', output: 1 }
  const closed = (key: string, id: number, seq: number) =>
    childRow(7, id, { key, seq, state: 'closed', policy: 'abandon' })

  test('completed children, whose ends are delivered again: a wait for one is over at once', () => {
    const { inherited, ws } = forked(
      past([
        spawned('c', 1, 2, { dropped: ['room'] }),
        ended('c', 3, done, 'sha'),
        wait(childName('c'), 2, 4, { kind: 'child', outcome: 'received', value: done }),
        step('a', 3, 5),
      ]),
      {},
      family(closed('c', 30, 2)),
    )
    expect(inherited).toStrictEqual([
      ['child.inherited', { key: 'c', position: 1, policy: 'abandon', taskId: 'c', type: 'work' }],
      ['child.ended', { key: 'c', name: childName('c'), state: 'completed', taskId: 'c', value: done }],
      ['step.inherited', { key: 'a', position: 3, durationMs: 5, result: 'a' }],
    ])
    expect(ws.child(100, 'c')).toStrictEqual({
      parent: 100,
      key: 'c',
      task: 30,
      position: 1,
      policy: 'abandon',
      seq: 2,
      state: 'closed',
    })
    expect(ws.signalsOf({ id: 100 })).toStrictEqual([
      {
        task: 100,
        seq: 3,
        name: childName('c'),
        at: now.at,
        value: canonical(done),
        blob: 'sha',
        outcome: 'received',
      },
    ])
    expect(ws.task(100)?.waits).toBe(1)
    expect(ws.events.map(({ blob }) => blob)).toEqual([null, null, 'sha', null])
  })

  test('one of a fork is one of its fork', () => {
    const memos = [{ ...spawned('c', 1, 2), type: 'child.inherited' } as const, ended('c', 3, done)]
    expect(forked(past(memos), {}, family(closed('c', 30, 2))).inherited.map(([type]) => type)).toEqual([
      'child.inherited',
      'child.ended',
    ])
  })

  test.each([
    ['has not ended', [spawned('c', 1, 2)], [childRow(7, 30, { key: 'c', seq: 2 })]],
    ['failed', [spawned('c', 1, 2), ended('c', 3, { state: 'failed' })], [closed('c', 30, 2)]],
    ['was dropped', [spawned('c', 1, 2), ended('c', 3, done)], [{ ...closed('c', 30, 2), state: 'dropped' }]],
    ['has gone', [spawned('c', 1, 2), ended('c', 3, done)], []],
  ] as const)('a child that %s is spawned again', (_, memos, rows) => {
    const { inherited, ws } = forked(past(memos), {}, family(...rows))
    expect(inherited).toEqual([])
    expect(ws.child(100, 'c')).toBeUndefined()
  })

  test('only the child that a key stands for, of two under one key', () => {
    const memos = [spawned('c', 1, 2), spawned('c', 2, 4, { type: 'other' }), ended('c', 5, done)]
    const { inherited } = forked(past(memos), {}, family(closed('c', 31, 4)))
    expect(inherited.map(([type, { type: of }]) => [type, of])).toEqual([
      ['child.inherited', 'other'],
      ['child.ended', undefined],
    ])
  })

  test('the end of a child that is not kept is not delivered', () => {
    const memos = [step('a', 0, 2), spawned('c', 1, 3), ended('c', 4, done)]
    expect(forked(past(memos), { fromStep: 'c' }, family(closed('c', 30, 3))).keys).toEqual(['a'])
  })

  test('patience that ended before the child did is over in the fork; what ended after it is not', () => {
    const patience = (seq: number, nth = 1, key = 'c') => wait(patienceKey(key, nth), 2, seq)
    const answered = wait(childName('c'), 2, 5, { kind: 'child', outcome: 'received', value: done })
    const of = (...memos: readonly MemoRow[]) =>
      forked(past([spawned('c', 1, 2), ...memos]), {}, family(closed('c', 30, 2))).inherited.map(
        ([type, { key }]) => [type, key],
      )
    const first = ['wait.inherited', patienceKey('c', 1)]
    const child = [
      ['child.inherited', 'c'],
      ['child.ended', 'c'],
    ]
    expect(of(patience(3), ended('c', 4, done), answered)).toEqual([child[0], first, child[1]])
    expect(of(ended('c', 4, done), answered, patience(6))).toEqual(child)
    expect(of(ended('c', 4, done), answered, patience(6, 1, 'd'))).toEqual([
      ...child,
      ['wait.inherited', patienceKey('d', 1)],
    ])
    expect(of(ended('c', 4, done), answered, wait('sleep', 3, 6))).toEqual([
      ...child,
      ['wait.inherited', 'sleep'],
    ])
  })
})

describe('rejections, in a fork (docs/semantics.md 6.3, 12.2)', () => {
  const sinceOf = ({ inherited }: ReturnType<typeof forked>) =>
    inherited.map(([, { key, outcome, since }]) => [key, outcome, since])

  test('are those under which something kept was made, counted from where the approval stands in the fork', () => {
    const memos = [
      rejection(5, 0),
      step('a', 1, 6),
      approval(7),
      rejection(9, 7),
      step('b', 8, 10),
      rejection(12, 7),
    ]
    const { ws, inherited } = forked(past(memos))
    expect(inherited.map(([type, { key, since }]) => [type, key, since])).toEqual([
      ['wait.inherited', 'ok', 0],
      ['step.inherited', 'a', undefined],
      ['wait.inherited', 'ok', undefined],
      ['wait.inherited', 'ok', 4],
      ['step.inherited', 'b', undefined],
    ])
    expect(ws.task(100)?.seq).toBe(6)
  })

  test.each([
    ['approved', 2],
    ['passed', 2],
  ])('an approval that was %s is where they count from', (outcome, since) => {
    const history = past([approval(3, { outcome }), rejection(4, 3), step('a', 9, 5)])
    expect(sinceOf(forked(history))[1]).toEqual(['ok', 'rejected', since])
  })

  test('neither an approval that timed out nor a signal of its outcome is', () => {
    const others = [
      approval(3, { outcome: 'timed_out' }),
      wait('mail', 1, 3, { kind: 'signal', outcome: 'approved' }),
    ]
    for (const other of others) {
      const { inherited } = forked(past([other, rejection(4, 0), step('a', 9, 5)]))
      expect(inherited[1]?.[1]).toMatchObject({ key: 'ok', since: 0 })
      expect(forked(past([other, rejection(4, 3), step('a', 9, 5)])).inherited).toHaveLength(2)
    }
  })

  test('one whose approval is not kept is not kept', () => {
    const memos = [
      step('a', 0, 2),
      approval(3, { position: 5 }),
      rejection(4, 3, { position: 6 }),
      step('b', 1, 7),
      step('c', 4, 8),
    ]
    expect(forked(past(memos), { fromStep: 'c' }).keys).toEqual(['a', 'b'])
  })

  test('a step in doubt is kept, too, wherever it stands among the others', () => {
    const kept = (seq: number) =>
      sinceOf(
        forked(
          past([rejection(2, 0), rejection(6, 0), step('a', 1, 5), step('b', 2, 8)], {
            doubts: [doubt('x', 3, seq)],
          }),
        ),
      ).map(([key]) => key)
    expect(kept(3)).toEqual(['ok', 'x', 'a', 'ok', 'b'])
    expect(kept(9)).toEqual(['ok', 'a', 'ok', 'b', 'x'])
  })

  test('one after all that is kept is not, nor is one where nothing is', () => {
    expect(forked(past([step('a', 0, 2), rejection(4, 0)])).keys).toEqual(['a'])
    expect(forked(past([rejection(4, 0)])).keys).toEqual([])
  })
})

describe('a task that failed of the end of a wait (docs/semantics.md 1.2, 6.3)', () => {
  const late = (key: string, seq: number, more: object = {}) =>
    wait(key, seq, seq, { kind: 'signal', outcome: 'timed_out', ...more })
  const kept = (
    memos: readonly MemoRow[],
    more: object = {},
    it: Partial<Write<'fork'>> = retry,
    rows = {},
  ) => forked(past(memos, more), it, rows).keys

  test('a retry waits again for the wait that its failure names, and a fork has its end', () => {
    const memos = [step('a', 0, 2), late('w', 3)]
    expect(kept(memos, { failedOf: ['w'] })).toEqual(['a'])
    expect(kept(memos, { failedOf: ['w'] }, {})).toEqual(['a', 'w'])
  })

  test('has every end, tried again, if it did not fail', () => {
    const canceled = { ...failed, state: 'canceled' } as const
    const history = past([late('w', 3)], { failedOf: ['w'] })
    expect(forked(history, retry, {}, { source: canceled }).keys).toEqual(['w'])
  })

  test.each([
    ['its time ran out', late('w', 3)],
    ['it was rejected', wait('w', 1, 3, { kind: 'approval', outcome: 'rejected' })],
    ['patience with a child ended', wait(patienceKey('c', 1), 1, 3)],
    ['the time of a race was over', wait(branchLimitKey('r'), 1, 3)],
  ])('a retry waits again for a thrown end: %s', (_, end) => {
    expect(kept([end])).toEqual([])
  })

  test.each([
    ['a timer', wait('w', 1, 3)],
    ['a step', step('w', 1, 3)],
  ])('keeps what answered: %s', (_, end) => {
    expect(kept([end], { failedOf: ['w'] })).toEqual(['w'])
  })

  test.each([
    ['a signal', wait('w', 1, 3, { kind: 'signal', outcome: 'received' })],
    ['an approval', wait('w', 1, 3, { kind: 'approval', outcome: 'approved' })],
  ])('a retry waits again for a value that the failure names: %s', (_, end) => {
    expect(kept([end], { failedOf: ['w'] })).toEqual([])
    expect(kept([end], { failedOf: ['other'] })).toEqual(['w'])
    expect(kept([end])).toEqual(['w'])
  })

  test('where it names none, it is the last thing that was recorded, if no step failed after it', () => {
    expect(kept([step('a', 0, 2), late('w', 3)], { lastFailure: 2 })).toEqual(['a'])
    expect(kept([step('a', 0, 2), late('w', 3)], { lastFailure: 3 })).toEqual(['a', 'w'])
    expect(kept([step('a', 0, 2), late('w', 3)], { lastFailure: 4 })).toEqual(['a', 'w'])
    expect(kept([late('w', 3), step('a', 0, 4)])).toEqual(['w', 'a'])
    expect(kept([])).toEqual([])
  })

  test('a name that is no end of a wait names none', () => {
    expect(kept([step('a', 0, 2), late('w', 3)], { failedOf: ['a'] })).toEqual(['a'])
    expect(kept([late('v', 1), step('a', 0, 2), late('w', 3)], { failedOf: ['gone'] })).toEqual(['v', 'a'])
  })

  test('a retry waits again for the ends that came likewise after it, unless something was recorded since', () => {
    const ends = [late('u', 2), late('v', 3), late('w', 4)]
    expect(kept(ends, { failedOf: ['v'] })).toEqual(['u'])
    expect(kept(ends, { failedOf: ['u'] })).toEqual([])
    expect(kept([...ends, step('a', 0, 5)], { failedOf: ['v'] })).toEqual(['u', 'w', 'a'])
    expect(kept([late('v', 3), step('a', 0, 4), late('w', 5)], { failedOf: ['v'] })).toEqual(['a'])
  })

  test('a step that failed since tells that it went on, too', () => {
    const ends = [late('v', 3), late('w', 5)]
    expect(kept(ends, { failedOf: ['v'], lastFailure: 6 })).toEqual(['w'])
    expect(kept(ends, { failedOf: ['v'], lastFailure: 5 })).toEqual([])
    expect(kept(ends, { failedOf: ['v'], lastFailure: 4 })).toEqual([])
  })

  test('a retry waits again for all that its failure names, whatever was recorded since', () => {
    const ends = [late('v', 3), late('w', 5), step('a', 0, 6)]
    expect(kept(ends, { failedOf: ['v', 'w'] })).toEqual(['a'])
    expect(kept(ends, { failedOf: ['w', 'v'] })).toEqual(['a'])
  })

  test('keeps the end that it got over before', () => {
    expect(kept([late('u', 2), late('v', 3), step('a', 0, 4), late('w', 5)])).toEqual(['u', 'v', 'a'])
  })
})
