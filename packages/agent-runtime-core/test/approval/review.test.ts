import { describe, expect, test } from 'vitest'
import { approvalName, type ApprovalTerms } from '../../src/approval/approval.ts'
import type { ApprovalRequest } from '../../src/approval/request.ts'
import {
  countVerdict,
  escalatesNow,
  openApproval,
  outcomeAtTimeout,
  refusalOf,
  sendsBack,
} from '../../src/approval/review.ts'
import type { SignalRow, WaitRow } from '../../src/transition.ts'
import { now, type Rows, task, workingSet } from '../transition/rows.ts'

const terms: ApprovalTerms = { asked: true, maxRetries: 3, onReject: 'rerun', onTimeout: 'throw', request: 3 }
const wait: WaitRow = {
  task: 7,
  key: 'ok',
  position: 2,
  kind: 'approval',
  name: approvalName('ok'),
  dueAt: null,
  terms,
}
const throwing: WaitRow = { ...wait, terms: { ...terms, onReject: 'throw' } }
const timer: WaitRow = { ...wait, kind: 'timer', name: null, dueAt: now.at, terms: null }

describe('a request for approval (docs/semantics.md 12.1, 12.3)', () => {
  const request: ApprovalRequest = {
    artifact: '{"a":1}',
    mode: 'supervised',
    asked: true,
    maxRetries: 3,
    onReject: 'rerun',
    onTimeout: 'throw',
  }

  test.each<[string, Partial<ApprovalRequest>, number | null, string, string]>([
    ['no patience', {}, null, 'true', ''],
    ['patience', {}, now.at + 5, 'true', ',"dueAt":50005'],
    ['what a spot check drew', { asked: false, draw: 0.5 }, null, 'false', ',"draw":0.5'],
  ])('says what is asked, with %s, and is open from now on', (_, changes, dueAt, asked, text) => {
    const ws = workingSet({ tasks: [task] })
    const open = openApproval(
      ws,
      task,
      { key: 'ok', position: 2, kind: 'approval' },
      { ...request, ...changes },
      dueAt,
    )
    expect(ws.events.map(({ type, data }) => [type, data])).toEqual([
      [
        'approval.requested',
        `{"artifact":{"a":1},"asked":${asked}${text},"key":"ok","maxRetries":3,"mode":"supervised","position":2}`,
      ],
    ])
    expect(open).toStrictEqual({ ...wait, dueAt, terms: { ...terms, asked: asked === 'true' } })
  })

  test.each([
    ['throw', 'timed_out'],
    ['approve', 'approved'],
    ['reject', 'rejected'],
    ['fail', 'fail'],
  ] as const)('an approval whose patience is over, with onTimeout %s, ends as %s', (onTimeout, outcome) => {
    expect(outcomeAtTimeout({ ...terms, onTimeout })).toBe(outcome)
  })
})

describe('the effect of a verdict on earlier records (docs/semantics.md 12.2)', () => {
  const memos: Rows['memos'] = new Map([
    [
      7,
      new Map([
        ['old', 1],
        ['new', 2],
      ]),
    ],
  ])
  const after = (open: WaitRow, outcome: Parameters<typeof countVerdict>[3]) => {
    const ws = workingSet({
      tasks: [task],
      memos,
      verdicts: new Map([[7, { approvedSeq: 1, rejections: 1 }]]),
    })
    countVerdict(ws, { ...task, seq: 5 }, open, outcome)
    return [ws.verdictsOf(task), [...(ws.memos.get(7) ?? [])]]
  }

  test.each(['approved', 'passed'] as const)('%s: it counts from this event on, and keeps all', (outcome) => {
    expect(after(wait, outcome)).toEqual([{ approvedSeq: 5, rejections: 0 }, []])
  })

  test('rejected: what came after the last approval is forgotten', () => {
    expect(after(wait, 'rejected')).toEqual([{ approvedSeq: 1, rejections: 2 }, [['new', 0]]])
  })

  test.each<[string, WaitRow, Parameters<typeof countVerdict>[3]]>([
    ['a rejection that is thrown', throwing, 'rejected'],
    ['an approval that nobody gave in time, and that is thrown', wait, 'timed_out'],
    ['a timer', timer, 'fired'],
  ])('%s is none', (_, open, outcome) => {
    expect(after(open, outcome)).toEqual([{ approvedSeq: 1, rejections: 1 }, []])
  })

  test.each<[WaitRow, Parameters<typeof sendsBack>[1], boolean]>([
    [wait, 'rejected', true],
    [wait, 'fail', true],
    [throwing, 'fail', true],
    [throwing, 'rejected', false],
    [wait, 'approved', false],
    [timer, 'fired', false],
  ])('which end of $key sends the task back: $1', (open, outcome, back) => {
    expect(sendsBack(open, outcome)).toBe(back)
  })
})

describe('why a task fails that nobody approved (docs/semantics.md 12.2)', () => {
  const said = (value: string): SignalRow => ({
    task: 7,
    seq: 4,
    name: approvalName('ok'),
    at: now.at,
    value,
    blob: null,
    outcome: 'rejected',
  })
  const why = (
    outcome: Parameters<typeof refusalOf>[3],
    { open = wait, rejections = 3, taken }: { open?: WaitRow; rejections?: number; taken?: SignalRow } = {},
  ) => {
    const ws = workingSet({ tasks: [task], verdicts: new Map([[7, { approvedSeq: 0, rejections }]]) })
    return refusalOf(ws, task, open, outcome, taken)
  }
  const because = (message: string) =>
    `{"code":"not_approved","message":${JSON.stringify(message)},"name":"RuntimeError"}`

  test('nobody answered in time', () => {
    expect(why('fail', { rejections: 0 })).toBe(
      because("nobody answered the request for approval 'ok' in time"),
    )
  })

  test.each<[string, string, string]>([
    ['what the reviewer said', '{"by":"ann","feedback":"say \\"more\\""}', ': say "more"'],
    ['no word of a reviewer who said nothing', '{"by":"ann"}', ''],
    ['no word of what is no text', '{"by":"ann","feedback":5}', ''],
  ])('it was rejected more often than it may be, with %s', (_, value, text) => {
    expect(why('rejected', { taken: said(value) })).toBe(
      because(`'ok' was rejected 4 times since the last approval (maxRetries 3)${text}`),
    )
  })

  test('it was rejected because nobody answered, once, and is not to be tried again', () => {
    const open = { ...wait, terms: { ...terms, maxRetries: 0 } }
    expect(why('rejected', { open, rejections: 0 })).toBe(
      because("'ok' was rejected once since the last approval (maxRetries 0)"),
    )
  })

  test.each<[string, Parameters<typeof refusalOf>[3], WaitRow, number]>([
    ['a rejection after which it may try again', 'rejected', wait, 2],
    ['one that the handler gets', 'rejected', throwing, 9],
    ['an approval', 'approved', wait, 9],
    ['a timer, however often something was rejected', 'fired', timer, 9],
  ])('it does not fail of %s', (_, outcome, open, rejections) => {
    expect(why(outcome, { open, rejections })).toBeUndefined()
  })
})

describe('a rejection that a person is asked about (docs/semantics.md 14.3)', () => {
  const escalating: WaitRow = { ...wait, terms: { ...terms, escalates: true } }
  const asks = (open: WaitRow, outcome: Parameters<typeof escalatesNow>[3], rejections: number) =>
    escalatesNow(
      workingSet({ tasks: [task], verdicts: new Map([[7, { approvedSeq: 0, rejections }]]) }),
      task,
      open,
      outcome,
    )

  test('14.3 is one more than is allowed', () => {
    expect([2, 3, 4].map((rejections) => asks(escalating, 'rejected', rejections))).toEqual([
      false,
      true,
      true,
    ])
  })

  test.each<[string, WaitRow, Parameters<typeof escalatesNow>[3]]>([
    ['no rejection', escalating, 'approved'],
    ['the end of its time', escalating, 'fail'],
    ['one of a task without a table of recovery', wait, 'rejected'],
    [
      'one that the handler gets',
      { ...escalating, terms: { ...terms, escalates: true, onReject: 'throw' } },
      'rejected',
    ],
    ['a timer', timer, 'rejected'],
  ])('14.3 is not %s', (_, open, outcome) => {
    expect(asks(open, outcome, 9)).toBe(false)
  })
})
