import { describe, expect, onTestFinished, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { checkHistories } from '../src/histories/check-histories.ts'
import { linearize } from '../src/histories/linearize.ts'
import type { Deed, Operation } from '../src/histories/operation.ts'
import { openStorePlace, type StoreKind } from '../src/place/store-place.ts'
import { runHistory } from '../src/histories/run-history.ts'
import { CodeCache } from '../src/host/code-cache.ts'

/** A deed of `a` or another process, from and until when; without an end nobody heard an answer. */
function op(deed: Deed, invokedAt: number, returnedAt?: number, process = 'a'): Operation {
  return { process, taskId: 't', invokedAt, deed, ...(returnedAt === undefined ? {} : { returnedAt }) }
}

const submit: Deed = { call: 'submit', by: 'key', input: '1' }
const accepted: Deed = { ...submit, answer: 'accepted' }
const again: Deed = { ...submit, answer: 'again' }
const claim = (token: number, attempt = token): Deed => ({ call: 'claim', token, attempt, answer: 'given' })
const completes = (token: number, output: string): Deed => ({
  call: 'settle',
  token,
  end: { state: 'completed', output },
})
const completed = (token: number, output: string): Deed =>
  ({ ...completes(token, output), answer: 'ok' }) as Deed
const step = (token: number, value: string): Deed => ({ call: 'step', token, key: 'one', value })
const recorded = (token: number, value: string, memo = value): Deed =>
  ({ ...step(token, value), answer: { memo } }) as Deed
const lapse = (token: number): Deed => ({ call: 'lapse', token })
const saw = (answer: Extract<Deed, { call: 'status' }>['answer']): Deed =>
  answer === undefined ? { call: 'status' } : { call: 'status', answer }
const open = saw({ state: 'open', attempt: 1, steps: 0 })
const nothing = saw({ state: 'absent' })
const running = (token: number, steps = 0) => saw({ state: 'running', attempt: token, token, steps })
const ended = (output: string, attempt = 1, steps = 0) => saw({ state: 'completed', output, attempt, steps })
const canceled = (answer: boolean): Deed => ({ call: 'cancel', answer })
const sent = (value: string, answer = true): Deed => ({ call: 'signal', value, answer })
const taken = (key: string, value: string): Deed => ({ call: 'take', key, answer: { value } })

describe('a history of one task', () => {
  test.each<[string, readonly Operation[]]>([
    ['nothing happens', []],
    [
      'one thing after another',
      [
        op(nothing, 0, 1),
        op(accepted, 2, 3),
        op(open, 4, 5),
        op(claim(1), 2, 6),
        op(recorded(1, 'x'), 7, 8),
        op(running(1, 1), 9, 10),
        op(completed(1, 'x'), 11, 12),
        op(ended('x', 1, 1), 13, 14),
        op({ call: 'result', answer: { state: 'completed', output: 'x' } }, 2, 15),
        op(canceled(false), 16, 17),
        op(again, 18, 19),
      ],
    ],
    ['a read beside a submission sees it or not', [op(accepted, 0, 9), op(open, 1, 2), op(open, 3, 4)]],
    [
      'an unknown submission takes effect late',
      [op(submit, 0), op(nothing, 1, 2, 'b'), op(nothing, 3, 4, 'b'), op(open, 5, 6, 'b')],
    ],
    ['an unknown submission takes effect when it is made again', [op(submit, 0), op(again, 1, 2, 'b')]],
    ['an unknown submission never takes effect', [op(submit, 0), op(accepted, 1, 2, 'b')]],
    [
      'an unknown cancel takes effect after a completion, when it changes nothing',
      [op(accepted, 0, 1), op(claim(1), 0, 2), op({ call: 'cancel' }, 3), op(completed(1, 'x'), 4, 5)],
    ],
    [
      'an unknown cancel takes effect long after it was asked, before the completion',
      [
        op(accepted, 0, 1),
        op(claim(1), 0, 2),
        op({ call: 'cancel' }, 3),
        op(recorded(1, 'x'), 10, 11),
        op({ ...completes(1, 'x'), answer: 'stale' } as Deed, 20, 21),
        op(saw({ state: 'canceled', attempt: 1, steps: 1 }), 22, 23, 'b'),
      ],
    ],
    [
      'an unknown completion is seen by another',
      [op(accepted, 0, 1), op(claim(1), 0, 2), op(completes(1, 'x'), 3), op(ended('x'), 9, 10, 'b')],
    ],
    [
      'a cancel and a completion at once: either is first',
      [
        op(accepted, 0, 1),
        op(claim(1), 0, 2),
        op(canceled(true), 3, 9, 'b'),
        op({ ...completes(1, 'x'), answer: 'stale' } as Deed, 4, 5),
        op(running(1), 4, 6, 'c'),
      ],
    ],
    [
      'a holder whose lease was taken is stale, and a lease that nobody heard of stands between two',
      [
        op(accepted, 0, 1),
        op(claim(1), 0, 2),
        op(lapse(1), 0),
        op({ call: 'claim', token: 2, attempt: 2 }, 0),
        op(lapse(2), 0),
        op(claim(3), 0, 20, 'b'),
        op({ ...step(1, 'x'), answer: 'stale' } as Deed, 5, 30),
        op(recorded(3, 'z'), 21, 22, 'b'),
        op(completed(3, 'z'), 23, 24, 'b'),
      ],
    ],
    [
      'an unknown step is recorded, and answers whoever runs it again',
      [
        op(accepted, 0, 1),
        op(claim(1), 0, 2),
        op(step(1, 'x'), 3),
        op(lapse(1), 0),
        op(claim(2), 0, 9, 'b'),
        op(recorded(2, 'y', 'x'), 10, 11, 'b'),
      ],
    ],
    [
      'signals that were sent at once are taken in either order, and the same again by a later pass',
      [
        op(accepted, 0, 1),
        op(sent('x'), 2, 9),
        op(sent('y'), 3, 8, 'b'),
        op(taken('first', 'y'), 2, 10),
        op(taken('second', 'x'), 10, 11),
        op(taken('first', 'y'), 12, 13, 'b'),
      ],
    ],
  ])('is explained: %s', (_, history) => {
    expect(linearize(history)).toEqual({ found: true })
  })

  const begun = [op(accepted, 0, 1), op(claim(1), 0, 2)]
  test.each<[string, readonly Operation[]]>([
    ['an acknowledged submission is lost', [op(accepted, 0, 1), op(nothing, 2, 3, 'b')]],
    ['a stale read after a later one', [op(accepted, 0, 9), op(open, 2, 3), op(nothing, 4, 5, 'b')]],
    ['two tasks of one key', [op(accepted, 0, 1), op(accepted, 2, 3, 'b')]],
    ['an id that was taken is taken again', [op(accepted, 0, 1), op({ ...again, by: 'id' }, 2, 3)]],
    ['a task is read that nobody submitted', [op(open, 0, 1)]],
    ['it is claimed twice under one token', [...begun, op(claim(1), 0, 3, 'b')]],
    ['it is claimed while another holds it', [...begun, op(claim(2), 0, 3, 'b'), op(running(1), 4, 5)]],
    ['a token is left out', [op(accepted, 0, 1), op(claim(2, 1), 0, 3)]],
    ['two complete it', [...begun, op(completed(1, 'x'), 3, 4), op(completed(1, 'y'), 5, 6)]],
    [
      'two complete it, the second under its own lease',
      [
        ...begun,
        op(completed(1, 'x'), 3, 9),
        op(claim(2, 1), 0, 10, 'b'),
        op(completed(2, 'y'), 11, 12, 'b'),
      ],
    ],
    [
      'a step of a stale lease is recorded',
      [...begun, op(lapse(1), 0), op(claim(2), 0, 5, 'b'), op(recorded(1, 'late'), 6, 7)],
    ],
    [
      'a completion of a stale lease is taken',
      [...begun, op(lapse(1), 0), op(claim(2), 0, 5, 'b'), op(completed(1, 'late'), 6, 7)],
    ],
    [
      'a live holder is refused',
      [...begun, op({ ...step(1, 'x'), answer: 'stale' } as Deed, 3, 4), op(recorded(1, 'x'), 5, 6)],
    ],
    [
      'a memo changes',
      [...begun, op(recorded(1, 'x'), 3, 4), op(lapse(1), 0), op(claim(2), 0, 5), op(recorded(2, 'y'), 6, 7)],
    ],
    ['a memo disappears', [...begun, op(recorded(1, 'x'), 3, 4), op({ call: 'memos', answer: {} }, 5, 6)]],
    [
      'it is canceled, and completed all the same',
      [...begun, op(canceled(true), 3, 4), op(completed(1, 'x'), 5, 6)],
    ],
    [
      'it was canceled, and is completed',
      [...begun, op(canceled(true), 3, 4), op(completes(1, 'x'), 2), op(ended('x'), 5, 6)],
    ],
    [
      'a cancel finds nothing to cancel in a task that runs',
      [...begun, op(canceled(false), 3, 4), op(running(1), 5, 6)],
    ],
    ['it is canceled twice', [...begun, op(canceled(true), 3, 4), op(canceled(true), 5, 6, 'b')]],
    ['it rises again', [...begun, op(completed(1, 'x'), 3, 4), op(running(1), 5, 6, 'b')]],
    [
      'it goes back in its attempts',
      [...begun, op(lapse(1), 0), op(running(2), 0, 4), op(claim(2), 0, 4), op(running(1), 5, 6)],
    ],
    [
      'attempt rises without a crash',
      [...begun, op({ call: 'rest', token: 1, answer: 'ok' }, 3, 4), op(claim(2), 3, 6)],
    ],
    ['its result is another', [...begun, op(completed(1, 'x'), 3, 4), op(ended('y'), 5, 6)]],
    ['a signal is taken that nobody sent', [...begun, op(taken('first', 'x'), 3, 4)]],
    [
      'a signal is taken twice',
      [...begun, op(sent('x'), 3, 4), op(taken('first', 'x'), 5, 6), op(taken('second', 'x'), 7, 8)],
    ],
    [
      'the later signal is taken first',
      [...begun, op(sent('x'), 3, 4), op(sent('y'), 5, 6), op(taken('first', 'y'), 7, 8)],
    ],
    ['a final task takes a signal', [...begun, op(completed(1, 'x'), 3, 4), op(sent('y'), 5, 6)]],
  ])('is not explained: %s', (_, history) => {
    expect(linearize(history)).toMatchObject({ found: false })
  })

  test('a history with too many orders is no verdict but an error', () => {
    const unknown = Array.from({ length: 40 }, (_, n) => op({ call: 'signal', value: `${n}` }, 0))
    expect(() => linearize([op(accepted, 0, 1), ...unknown, op(taken('first', 'none'), 2, 3)])).toThrow(
      RangeError,
    )
  })
})

describe('histories of a store', () => {
  const at = { invokedAt: 0, returnedAt: 1, process: 'a' }
  const calls = [
    { ...at, task: { key: 'k', taskId: 't' }, deed: accepted },
    { ...at, task: { taskId: 't' }, invokedAt: 2, returnedAt: 3, deed: open },
  ]
  const task = { taskId: 't', key: 'k', events: ['1 task.queued a', '2 task.started b'], leases: [] }

  test('in which all that was acknowledged is there, and all that is there was asked for', () => {
    const { process } = at
    const unheard = { process, invokedAt: 0, task: { key: 'never' }, deed: submit }
    const read = { process, taskId: 't', events: ['1 task.queued a'] }
    expect(checkHistories([...calls, unheard], [read], { tasks: [task] })).toMatchObject({
      faults: [],
      operations: 2,
      ok: 2,
      unknown: 0,
    })
  })

  test('runs whose tasks are lost, invented or doubled, or whose events another reader got otherwise', () => {
    const faultsOf = (...args: Parameters<typeof checkHistories>) => checkHistories(...args).faults
    expect(faultsOf(calls, [], { tasks: [] })).toEqual(['t was acknowledged, and is lost'])
    expect(faultsOf(calls, [], { tasks: [task, { ...task, taskId: 'u', key: undefined }] })).toEqual([
      'u is there, and nobody submitted it',
    ])
    expect(faultsOf(calls, [], { tasks: [task, { ...task, taskId: 'u' }] })).toEqual([
      'the key k has two tasks, t and u',
      'u is there, and nobody submitted it',
    ])
    for (const events of [
      ['2 task.started b'],
      ['1 task.queued a', '2 task.started x'],
      [...task.events, '3 more c'],
    ])
      expect(faultsOf(calls, [{ process: 'b', taskId: 't', events }], { tasks: [task] })).toEqual([
        expect.stringMatching(/^b was given .* of t, whose event is /),
      ])
  })

  test.each(draws<readonly StoreKind[]>(['sqlite'], ['sqlite'], ['sqlite', 'postgres']))(
    'histories of real processes that are killed and stopped have an order that explains every answer (%s)',
    async (kind) => {
      using cache = CodeCache.open()
      const place = await openStorePlace(kind, undefined)
      onTestFinished(() => place.close())
      const plan = { seed: 1, history: 0, compileCache: cache.folder, place }
      const { faults, ...counts } = await runHistory(plan, new AbortController().signal)
      expect(faults).toEqual([])
      expect(counts).toMatchObject({ kills: 2, stops: 1, tasks: 14 })
      expect(counts.operations).toBeGreaterThan(300)
      expect(counts.ok / counts.operations).toBeGreaterThan(0.6)
    },
  )
})
