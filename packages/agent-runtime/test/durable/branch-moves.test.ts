import { encode } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import {
  type Contest,
  type ContestEvent,
  type ContestRules,
  isSettling,
  moveContest,
  newContest,
  reasonToClose,
  type Result,
} from '../../src/durable/branch/branch-moves.ts'

type State = Contest['state']

const rules = (kind: 'race' | 'all', timeoutMs?: number): ContestRules => ({
  kind,
  key: 'both',
  branches: ['left', 'right'],
  timeoutMs,
  encode: (value) => encode(value, { what: 'a result', maxBytes: 100 }),
})
const race = rules('race')
const all = rules('all')
const timed = rules('all', 500)
const LIVE = Number.POSITIVE_INFINITY

const returned = (branch: string, seq = LIVE, value: unknown = branch): Result => ({
  branch,
  outcome: { as: 'returned', value },
  seq,
})
const threw = (branch: string, seq = LIVE): Result => ({
  branch,
  outcome: { as: 'threw', error: new Error(`${branch} broke`) },
  seq,
})
const broken = new Error('broken')

const contest = (state: State, more: Partial<Contest> = {}): Contest => ({
  ...newContest(undefined),
  state,
  ...more,
})
const states = {
  running: { as: 'running' },
  ready: { as: 'ready' },
  settling: { as: 'settling', wasStill: false },
  wasStill: { as: 'settling', wasStill: true },
  recording: { as: 'recording', result: '"live"' },
  decidedLate: { as: 'decidedLate' },
  ended: { as: 'ended' },
} as const satisfies Record<string, State>

const events = {
  settled: { is: 'settled', result: returned('left'), isLate: false },
  settledLate: { is: 'settled', result: returned('left', 3), isLate: true },
  timedOut: { is: 'timedOut', seq: 9, isLate: false },
  entered: { is: 'entered', isLate: false },
  admitted: { is: 'admitted', isLate: false },
  still: { is: 'looked', isStill: true, isLate: false },
  moving: { is: 'looked', isStill: false, isLate: false },
  stillLate: { is: 'looked', isStill: true, isLate: true },
  recorded: { is: 'recorded', memo: undefined },
  stopped: { is: 'stopped', reason: broken },
} as const satisfies Record<string, ContestEvent>

/** State, event, how it was called and what else is known; the next state, and what is done on the way. */
type Row = readonly [
  state: keyof typeof states,
  event: keyof typeof events,
  how: ContestRules,
  next: State['as'],
  effects: string,
  more?: Partial<Contest>,
]
const live = { results: [returned('left')] }
const past = { results: [returned('left', 3)] }
const failed = { results: [threw('left')] }
const late = { late: { seq: 9, results: 0 } }

const legal: readonly Row[] = [
  ['running', 'settled', race, 'ready', 'admit'],
  ['running', 'settled', all, 'running', ''],
  ['running', 'settled', all, 'ready', 'admit', { results: [returned('right')] }],
  ['running', 'settledLate', race, 'settling', 'look'],
  ['running', 'timedOut', timed, 'ready', 'closeDoors admit'],
  ['running', 'entered', timed, 'ready', 'admit', late],
  ['ready', 'settled', race, 'ready', '', past],
  ['ready', 'timedOut', timed, 'ready', 'closeDoors', past],
  ['ready', 'admitted', race, 'recording', 'enter closeBranches record', live],
  ['ready', 'admitted', race, 'ended', 'enter closeBranches recordFailure reject', failed],
  ['ready', 'admitted', race, 'settling', 'enter look', past],
  ['ready', 'admitted', timed, 'settling', 'enter look', { ...live, ...late }],
  ['settling', 'settled', race, 'settling', '', past],
  ['settling', 'timedOut', timed, 'settling', 'closeDoors', past],
  ['settling', 'still', race, 'settling', 'look', past],
  ['wasStill', 'moving', race, 'settling', 'look', past],
  ['wasStill', 'still', race, 'recording', 'closeBranches record', past],
  ['wasStill', 'still', timed, 'ended', 'closeBranches recordFailure reject', { ...past, ...late }],
  ['wasStill', 'stillLate', race, 'decidedLate', 'answer', past],
  ['recording', 'recorded', race, 'ended', 'resolve'],
  ['decidedLate', 'settled', race, 'decidedLate', ''],
  ['decidedLate', 'timedOut', timed, 'decidedLate', 'closeDoors'],
]

const moved = (from: Contest, event: ContestEvent, how: ContestRules = race) => {
  const move = moveContest(how, from, event)
  return {
    ...move,
    as: move.contest.state.as,
    does: move.effects.map((effect) => effect.do).join(' '),
  }
}
/** The result by which one that has settled is decided, with its text or its error. */
const decided = (how: ContestRules, more: Partial<Contest>) => {
  const { contest: after, effects } = moved(contest(states.wasStill, more), events.still, how)
  const closing = effects.find((effect) => effect.do === 'closeBranches')
  const { state } = after
  return {
    by: closing?.decisive.branch,
    at: after.decidedAt,
    result: state.as === 'recording' ? (JSON.parse(state.result) as unknown) : undefined,
    error: effects.find((effect) => effect.do === 'reject')?.reason,
  }
}

describe('the moves of a race and an all', () => {
  test.each(legal.map((row) => ({ name: `${row[0]}, ${row[1]} (${row[2].kind}): ${row[3]}`, row })))(
    '$name',
    ({ row }) => {
      const [state, event, how, next, effects, more] = row
      const { as, does } = moved(contest(states[state], more), events[event], how)
      expect({ as, does }).toEqual({ as: next, does: effects })
    },
  )

  test('every state but the last can be stopped: with the reason, unless it has its answer', () => {
    for (const state of Object.values(states)) {
      const { as, does } = moved(contest(state), events.stopped)
      const expected = { ended: '', decidedLate: 'drop' } as Record<string, string>
      expect([as, does]).toEqual(['ended', expected[state.as] ?? 'reject'])
    }
  })

  test('no other event can be in any state: it throws and says which', () => {
    const known = new Set(legal.map(([state, event]) => `${states[state].as} ${events[event].is}`))
    let refused = 0
    for (const state of Object.values(states).filter(({ as }) => as !== 'ended')) {
      for (const event of Object.values(events)) {
        if (event.is === 'stopped' || known.has(`${state.as} ${event.is}`)) continue
        expect(() => moved(contest(state), event)).toThrow(
          `race 'both' is ${state.as} and cannot be ${event.is}`,
        )
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(25)
  })

  test('nothing changes one that has ended', () => {
    for (const event of Object.values(events)) {
      const over = contest(states.ended)
      expect(moveContest(race, over, event)).toEqual({ contest: over, effects: [] })
    }
  })

  test('a race is decided by the result that stands first in the history, however late it comes', () => {
    expect(decided(race, { results: [returned('left', 7), returned('right', 3)] })).toEqual({
      by: 'right',
      at: 3,
      result: { winner: 'right', value: 'right' },
      error: undefined,
    })
    expect(decided(race, { results: [threw('left', 3), returned('right', 7)] })).toMatchObject({
      by: 'left',
      error: { message: 'left broke' },
    })
  })

  test('an all gives what each branch returned in the order of the branches, or fails with the first error', () => {
    expect(decided(all, { results: [returned('right', 2), returned('left', 3, null)] })).toMatchObject({
      result: { left: null, right: 'right' },
    })
    expect(decided(all, { results: [returned('left', 1), threw('right', 5)] })).toMatchObject({
      by: 'right',
      at: 5,
      error: { message: 'right broke' },
    })
  })

  test('a value that cannot be stored fails it', () => {
    const results = [returned('left', 3, 'x'.repeat(200))]
    expect(decided(race, { results }).error).toMatchObject({ code: 'payload_too_large' })
  })

  test('its time decides where nothing that came before does: what had come by then counts, and what memos answer from before', () => {
    const error = { name: 'TimeoutError', message: "all 'both' took longer than its time limit of 500 ms" }
    const bothBy = (seq: number) => [returned('left', 4), returned('right', seq)]
    const isOver = (results: number) => ({ late: { seq: 9, results } })
    expect(decided(timed, { results: bothBy(12), ...isOver(1) })).toMatchObject({
      by: undefined,
      at: 9,
      error,
    })
    expect(decided(timed, { results: bothBy(8), ...isOver(1) })).toMatchObject({ at: 4, error: undefined })
    expect(decided(timed, { results: bothBy(12), ...isOver(2) })).toMatchObject({ error: undefined })
    expect(decided(timed, { results: [], ...isOver(0) })).toMatchObject({ at: 9, error })
  })

  test('within what is late itself the answer is given, and nothing is recorded', () => {
    const { effects } = moved(contest(states.wasStill, past), events.stillLate)
    expect(effects).toEqual([
      { do: 'answer', seq: 3, outcome: { result: '{"value":"left","winner":"left"}' } },
    ])
    const failing = moved(contest(states.wasStill, { results: [threw('left', 3)] }), events.stillLate)
    expect(failing.effects).toMatchObject([{ outcome: { reason: { message: 'left broke' } } }])
  })

  test('it is settling while memos decide it, and not while a live result does', () => {
    const of = (state: State, more: Partial<Contest>, isLate = false) =>
      isSettling(contest(state, more), isLate)
    expect(of(states.settling, past)).toBe(true)
    expect(of(states.recording, live)).toBe(false)
    expect(of(states.recording, { ...live, ...late })).toBe(true)
    expect([of(states.ready, past), of(states.ready, past, true)]).toEqual([false, true])
    expect(of(states.running, past)).toBe(false)
  })

  test.each([
    [
      race,
      'left',
      returned('left'),
      "branch 'left' of race 'both' has ended: await everything that it starts",
    ],
    [race, 'right', returned('left'), "branch 'right' of race 'both' lost to 'left'; its calls are refused"],
    [
      all,
      'right',
      threw('left'),
      "branch 'right' of all 'both' was stopped because 'left' failed; its calls are refused",
    ],
    [
      timed,
      'right',
      { ...threw('left'), branch: undefined },
      "branch 'right' of all 'both' was stopped after 500 ms; its calls are refused",
    ],
  ])('a closed subscriber learns why: %#', (how, branch, decisive, message) => {
    const results = decisive.branch === undefined ? [] : [decisive]
    const reason = reasonToClose(how, contest(states.recording, { results }), decisive, branch)
    expect(reason).toMatchObject({ code: 'step_outside_handler', message })
    expect(reason.cause).toBe(decisive.outcome.as === 'threw' ? decisive.outcome.error : undefined)
  })
})
