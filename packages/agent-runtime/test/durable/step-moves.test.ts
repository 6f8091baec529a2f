import {
  doubtKey,
  decode,
  encode,
  rateLimitIn,
  RateLimited,
  type RetryPolicy,
  type WaitRecord,
} from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { TimeoutError } from '../../src/index.ts'
import {
  mayCharge,
  moveStep,
  type Step,
  type StepEvent,
  type StepRules,
} from '../../src/durable/step/step-moves.ts'

type State = Step['state']
type Name = State['as']

const plain: StepRules = {
  key: 'ask',
  retry: undefined,
  inDoubt: undefined,
  verdicts: new Map(),
  encode: (value) => encode(value, { what: 'a result', maxBytes: 100 }),
  decode,
  rateLimit: rateLimitIn,
}
const backoff = { initialMs: 1, factor: 1, maxMs: 1, jitter: 0 }
const thrice: RetryPolicy = { attempts: 3, backoff }
const doubts = {
  ask: { ...plain, inDoubt: { as: 'ask' } },
  fail: { ...plain, inDoubt: { as: 'fail' } },
  verify: { ...plain, inDoubt: { as: 'verify', verify: () => ({ done: false }) } },
} satisfies Record<string, StepRules>

const started = { starts: 1, startedAt: 5, seq: 7, isOpen: true }
const stepIn = (state: State, more: Partial<Step> = {}): Step => ({
  state,
  tried: 1,
  retries: 0,
  limits: 0,
  doubt: { starts: 0, startedAt: 0, seq: Infinity, isOpen: false },
  verdict: undefined,
  ...more,
})
const retry = { as: 'retry', number: 1 } as const
const late = new TimeoutError("step 'ask'", 10)
const broken = new Error('broken')
const verdict = (more: Partial<WaitRecord> = {}): WaitRecord => ({
  key: 'doubt/1/ask',
  kind: 'approval',
  position: 0,
  seq: 9,
  at: 0,
  outcome: 'approved',
  ...more,
})

const events = {
  resumed: { is: 'resumed', retry },
  admitted: { is: 'admitted', mayHaveSlept: false },
  asleep: { is: 'admitted', mayHaveSlept: true },
  confirmed: { is: 'confirmed' },
  intended: { is: 'intended', at: 42, hasSlept: false },
  sleptMeanwhile: { is: 'intended', at: 42, hasSlept: true },
  returned: { is: 'returned', tried: 1, result: '"answer"' },
  failed: { is: 'failed', tried: 1, reason: broken },
  late: { is: 'failed', tried: 1, reason: late },
  undone: { is: 'undone', tried: 1 },
  recorded: { is: 'recorded', memo: undefined },
  known: { is: 'recorded', memo: '"earlier"' },
  failureRecorded: { is: 'failureRecorded', delayMs: 30 },
  due: { is: 'due' },
  judged: { is: 'judged', verdict: verdict() },
  stopped: { is: 'stopped', reason: broken },
} as const satisfies Record<string, StepEvent>

const states = {
  ready: { as: 'ready' },
  confirmingStart: { as: 'confirming', next: 'begin' },
  confirmingIntent: { as: 'confirming', next: 'run' },
  intending: { as: 'intending' },
  running: { as: 'running' },
  verifying: { as: 'verifying' },
  verifyingLate: { as: 'verifying', late },
  asking: { as: 'asking' },
  recording: { as: 'recording', result: '"answer"' },
  failingWithRetry: { as: 'recordingFailure', next: { retry } },
  failingLate: { as: 'recordingFailure', next: { late } },
  waitingRetry: { as: 'waitingRetry', retry },
  ended: { as: 'ended' },
} as const satisfies Record<string, State>

/** State, event, the rules and what else is known; the next state, and what is done on the way. */
type Row = readonly [
  state: keyof typeof states,
  event: keyof typeof events,
  how: StepRules,
  next: Name,
  effects: string,
  more?: Partial<Step>,
]

const inDoubt = { doubt: started }
const legal: readonly Row[] = [
  ['ready', 'resumed', plain, 'waitingRetry', 'wait'],
  ['ready', 'admitted', plain, 'running', 'enter begin call'],
  ['ready', 'admitted', doubts.ask, 'intending', 'enter begin intend'],
  ['ready', 'admitted', doubts.ask, 'asking', 'enter begin ask', inDoubt],
  ['ready', 'admitted', doubts.verify, 'verifying', 'enter begin verify', inDoubt],
  ['ready', 'admitted', doubts.fail, 'ended', 'enter begin recordFailure reject', inDoubt],
  ['ready', 'asleep', plain, 'confirming', 'enter confirm'],
  ['confirmingStart', 'confirmed', plain, 'running', 'begin call'],
  ['confirmingStart', 'confirmed', doubts.verify, 'intending', 'begin intend'],
  ['confirmingIntent', 'confirmed', doubts.ask, 'running', 'call'],
  ['intending', 'intended', doubts.ask, 'running', 'call'],
  ['intending', 'sleptMeanwhile', doubts.ask, 'confirming', 'confirm'],
  ['running', 'returned', plain, 'recording', 'endTry record'],
  ['running', 'failed', plain, 'ended', 'recordFailure reject'],
  ['running', 'failed', { ...plain, retry: thrice }, 'recordingFailure', 'recordFailure dropTry'],
  ['running', 'failed', { ...plain, retry: thrice }, 'ended', 'recordFailure reject', { retries: 2 }],
  ['running', 'late', plain, 'ended', 'recordFailure reject'],
  ['running', 'late', { ...doubts.ask, retry: thrice }, 'recordingFailure', 'recordFailure dropTry'],
  ['running', 'late', doubts.ask, 'recordingFailure', 'recordFailure dropTry'],
  ['running', 'late', doubts.verify, 'recordingFailure', 'recordFailure dropTry'],
  ['running', 'late', doubts.fail, 'ended', 'recordFailure reject'],
  ['verifying', 'returned', doubts.verify, 'recording', 'endTry record', inDoubt],
  ['verifying', 'failed', doubts.verify, 'ended', 'recordFailure reject', inDoubt],
  ['verifying', 'undone', doubts.verify, 'intending', 'intend', inDoubt],
  ['verifyingLate', 'undone', doubts.verify, 'ended', 'recordFailure reject', inDoubt],
  ['asking', 'judged', doubts.ask, 'ready', 'admit', inDoubt],
  ['recording', 'recorded', plain, 'ended', 'resolve'],
  ['recording', 'known', plain, 'ended', 'resolve'],
  ['failingWithRetry', 'failureRecorded', plain, 'waitingRetry', 'wait'],
  ['failingLate', 'failureRecorded', doubts.verify, 'verifying', 'verify', inDoubt],
  ['failingLate', 'failureRecorded', doubts.ask, 'asking', 'ask', inDoubt],
  ['waitingRetry', 'due', plain, 'ready', 'admit'],
]

const moved = (step: Step, event: StepEvent, rules: StepRules = plain) => {
  const move = moveStep(rules, step, event)
  return { ...move, as: move.step.state.as, does: move.effects.map((effect) => effect.do).join(' ') }
}

describe('the moves of a step', () => {
  test.each(legal.map((row) => ({ name: `${row[0]}, ${row[1]}: ${row[3]}`, row })))('$name', ({ row }) => {
    const [state, event, rules, next, effects, more] = row
    const { as, does } = moved(stepIn(states[state], more), events[event], rules)
    expect({ as, does }).toEqual({ as: next, does: effects })
  })

  test('every state but the last can be stopped, with the reason', () => {
    for (const state of Object.values(states)) {
      const { as, effects } = moved(stepIn(state), events.stopped)
      const expected = state.as === 'ended' ? [] : [{ do: 'reject', reason: broken }]
      expect([as, effects]).toEqual(['ended', expected])
    }
  })

  test('no other event can be in any state: it throws and says which', () => {
    const known = new Set(legal.map(([state, event]) => `${states[state].as} ${events[event].is}`))
    let refused = 0
    for (const state of Object.values(states).filter(({ as }) => as !== 'ended')) {
      for (const event of Object.values(events)) {
        const pair = `${state.as} ${event.is}`
        if (event.is === 'stopped' || known.has(pair)) continue
        expect(() => moved(stepIn(state), event)).toThrow(
          `step 'ask' is ${state.as} and cannot be ${event.is}`,
        )
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(100)
  })

  test('nothing changes a step that has ended, and nothing that an earlier try says changes any', () => {
    for (const event of Object.values(events)) {
      const step = stepIn(states.ended)
      expect(moveStep(plain, step, event)).toEqual({ step, effects: [] })
    }
    for (const state of Object.values(states)) {
      const step = stepIn(state, { tried: 2 })
      for (const event of [events.returned, events.failed, events.undone])
        expect(moveStep(plain, step, event)).toEqual({ step, effects: [] })
    }
  })

  test('each call of a function has a number of its own, and a failed try has none any more', () => {
    const run = moved(stepIn(states.ready, { tried: 0 }), events.admitted)
    expect(run).toMatchObject({ step: { tried: 1 }, effects: [{}, {}, { do: 'call', tried: 1 }] })
    const failed = moved(run.step, events.failed, { ...plain, retry: thrice })
    expect(failed.step.tried).toBe(2)
    const due = moved(moved(failed.step, events.failureRecorded, plain).step, events.due)
    expect(moved(due.step, events.admitted)).toMatchObject({ effects: [{}, {}, { do: 'call', tried: 3 }] })
  })

  test('a try may charge from its call until its result is recorded', () => {
    const may = Object.entries(states).flatMap(([name, state]) => (mayCharge(stepIn(state), 1) ? [name] : []))
    expect(may).not.toContain('recording')
    expect(may).not.toContain('ended')
    expect(may).toContain('running')
    expect(mayCharge(stepIn(states.running, { tried: 2 }), 1)).toBe(false)
  })

  test('a wait that is over counts for what it was: a try of the policy, or the time a provider asked for', () => {
    const limited = { as: 'limit', number: 1, delayMs: 50 } as const
    const count = (of: typeof retry | typeof limited) => {
      const { retries, limits } = moved(stepIn({ as: 'waitingRetry', retry: of }), events.due).step
      return { retries, limits }
    }
    expect([count(retry), count(limited)]).toEqual([
      { retries: 1, limits: 0 },
      { retries: 0, limits: 1 },
    ])
    const reason = new RateLimited({ retryAfterMs: 5_000 })
    const once = { ...plain, retry: { attempts: 1, backoff } }
    expect(moved(stepIn(states.running), { is: 'failed', tried: 1, reason }, once).step.state).toEqual({
      as: 'recordingFailure',
      next: { retry: { as: 'limit', number: 1, delayMs: 5_000 } },
    })
  })

  test('a start is in doubt from its record until its end, and so is a try that ran out of time', () => {
    const intended = moved(stepIn(states.intending, inDoubt), events.intended, doubts.ask)
    expect(intended.step.doubt).toEqual({ starts: 2, startedAt: 42, seq: Infinity, isOpen: false })
    const timedOut = moved(intended.step, { ...events.late, tried: 2 }, doubts.ask)
    expect(timedOut.step.doubt).toMatchObject({ starts: 2, isOpen: true })
    const asked = moved(timedOut.step, events.failureRecorded, doubts.ask)
    expect(asked.effects).toEqual([{ do: 'ask', doubt: timedOut.step.doubt }])
  })

  test.each([
    ['approved with a result', verdict({ value: '{"value":3}' }), 'recording', 'enter begin endTry record'],
    ['approved without one', verdict({ value: '{}' }), 'intending', 'enter begin intend'],
    ['rejected', verdict({ outcome: 'rejected' }), 'ended', 'enter begin recordFailure reject'],
    [
      'approved with too much',
      verdict({ value: `{"value":"${'x'.repeat(101)}"}` }),
      'ended',
      'enter begin recordFailure reject',
    ],
  ])("a human's decision is carried out when the step is let in again: %s", (_, said, next, effects) => {
    const { as, does, step } = moved(
      stepIn(states.ready, { doubt: started, verdict: said }),
      events.admitted,
      doubts.ask,
    )
    expect([as, does, step.verdict]).toEqual([next, effects, undefined])
  })

  test('a verdict of an earlier pass answers, unless it is about a start before the last', () => {
    for (const [seq, next] of [
      [9, 'intending'],
      [7, 'asking'],
    ] as const) {
      const rules = { ...doubts.ask, verdicts: new Map([[doubtKey('ask', 1), verdict({ seq })]]) }
      expect(moved(stepIn(states.ready, inDoubt), events.admitted, rules).as).toBe(next)
    }
  })

  test('the error of a late try that nothing happened in is the timeout itself', () => {
    expect(moved(stepIn(states.verifyingLate, inDoubt), events.undone, doubts.verify).effects.at(-1)).toEqual(
      {
        do: 'reject',
        reason: late,
      },
    )
  })
})
