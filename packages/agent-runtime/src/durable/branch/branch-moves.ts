import { branchLimitKey, RuntimeError } from '@ku0/agent-runtime-core'
import { TimeoutError } from '../../api/errors.ts'
import { endOfWait } from '../wait/ended-waits.ts'
import { LIVE } from '../pass/scope.ts'

/** What a race or an all was called with, as far as it decides how it ends. */
export interface ContestRules {
  /** `race` is decided by the first branch that settles, `all` by the first that fails or by the last. */
  readonly kind: 'race' | 'all'
  readonly key: string
  /** The branches, in the order in which they were given. */
  readonly branches: readonly string[]
  readonly timeoutMs: number | undefined
  /** The text of a result. Throws for what cannot be stored. */
  readonly encode: (value: unknown) => string
}

/** How a branch settled, and where in the history its last answer stands. */
export interface Result {
  /** Undefined: no branch, but the time of all of them. */
  readonly branch: string | undefined
  readonly outcome:
    | { readonly as: 'returned'; readonly value: unknown }
    | { readonly as: 'threw'; readonly error: unknown }
  readonly seq: number
}

/** How far a race or an all is that no memo answers. */
type ContestState =
  | { readonly as: 'running' }
  /** The first result that can decide it has come; it stands at the gate of its pass. */
  | { readonly as: 'ready' }
  /**
   * Memos decide it: it is looked at once more in a later turn, until nothing inside is about to be decided by memos. Two branches that memos
   * answer settle in whatever order, but one turn later both have.
   */
  | { readonly as: 'settling'; readonly wasStill: boolean }
  | { readonly as: 'recording'; readonly result: string }
  /** It was decided for the race or the all around it alone, whose time is over: nothing of it is recorded. */
  | { readonly as: 'decidedLate' }
  | { readonly as: 'ended' }

/** A race or an all, and what stays known of it from state to state. */
export interface Contest {
  readonly state: ContestState
  readonly results: readonly Result[]
  /** Its time is over: since when in the history, and how many results had come by then. */
  readonly late: { readonly seq: number; readonly results: number } | undefined
  /** Where in the history the result that decided it stands. */
  readonly decidedAt: number
}

/** What happens to a race or an all. `isLate`: the time of what is around it is over, and nothing new begins in it. */
export type ContestEvent =
  | { readonly is: 'settled'; readonly result: Result; readonly isLate: boolean }
  /** Its own time is over, since `seq` in the history. */
  | { readonly is: 'timedOut'; readonly seq: number; readonly isLate: boolean }
  /** The branches have been gone through whose time was over in an earlier pass. */
  | { readonly is: 'entered'; readonly isLate: boolean }
  /** The pass lets it be decided. */
  | { readonly is: 'admitted'; readonly isLate: boolean }
  /** `isStill`: nothing inside of it is about to be decided by memos. */
  | { readonly is: 'looked'; readonly isStill: boolean; readonly isLate: boolean }
  | { readonly is: 'recorded'; readonly memo: string | undefined }
  /** Whoever called it has to stop or has lost, or the store did not take a write. */
  | { readonly is: 'stopped'; readonly reason: unknown }

/** What a race or an all needs done. Effects come in the order in which they are to be done. */
export type ContestEffect =
  /** To stand at the gate. */
  | { readonly do: 'admit' }
  /** From now on it keeps the pass alive. */
  | { readonly do: 'enter' }
  /** Its branches begin nothing more. */
  | { readonly do: 'closeDoors' }
  /** To look one turn later whether something inside is about to be decided. */
  | { readonly do: 'look' }
  /** Nothing in the branches counts any more, by this result. */
  | { readonly do: 'closeBranches'; readonly decisive: Result }
  | { readonly do: 'record'; readonly result: string }
  | { readonly do: 'recordFailure'; readonly reason: unknown }
  /** To answer, and to stay until what is around it is decided. */
  | { readonly do: 'answer'; readonly seq: number; readonly outcome: LateOutcome }
  /** It is over: without anything more to say, or with its answer. */
  | { readonly do: 'drop' }
  | { readonly do: 'resolve'; readonly result: string }
  | { readonly do: 'reject'; readonly reason: unknown }

type LateOutcome = { readonly result: string } | { readonly reason: unknown }

export interface ContestMove {
  readonly contest: Contest
  readonly effects: readonly ContestEffect[]
}

/** As it begins. `lateSince`: its time was over in an earlier pass, since then in the history. */
export function newContest(lateSince: number | undefined): Contest {
  const late = lateSince === undefined ? undefined : { seq: lateSince, results: 0 }
  return { state: { as: 'running' }, results: [], late, decidedAt: LIVE }
}

/**
 * The next state of a race or an all, and what is to be done on the way to it. Throws `internal` for an event that cannot be in the state.
 * Source: `docs/semantics.md 12.4`.
 */
export function moveContest(rules: ContestRules, contest: Contest, event: ContestEvent): ContestMove {
  if (contest.state.as === 'ended') return { contest, effects: [] }
  if (event.is === 'stopped') {
    if (contest.state.as === 'decidedLate') return to(contest, ended, DROP)
    return to(contest, ended, { do: 'reject', reason: event.reason })
  }
  const move = (moves[contest.state.as] as { readonly [is: string]: AnyMove | undefined })[event.is]
  if (move === undefined)
    throw new RuntimeError(
      'internal',
      `${rules.kind} '${rules.key}' is ${contest.state.as} and cannot be ${event.is}`,
    )
  return move(rules, contest as never, event as never)
}

/** Whether memos decide it, which a turn or a commit later they will have done. */
export function isSettling({ state, late, results }: Contest, isLate: boolean): boolean {
  const isUnderWay = state.as === 'settling' || state.as === 'recording' || (state.as === 'ready' && isLate)
  return isUnderWay && (late !== undefined || results.at(-1)?.seq !== LIVE)
}

/** Why nothing in a branch counts any more. */
export function reasonToClose(
  { kind, key, timeoutMs }: ContestRules,
  { results }: Contest,
  { branch: decisive, outcome }: Result,
  branch: string,
): RuntimeError {
  const name = `branch '${branch}' of ${kind} '${key}'`
  const hasSettled = results.some((result) => result.branch === branch)
  if (hasSettled && (branch === decisive || kind === 'all'))
    return new RuntimeError('step_outside_handler', `${name} has ended: await what it starts`)
  const won = kind === 'race' ? `lost to '${decisive}'` : `was given up: '${decisive}' failed`
  const why = decisive === undefined ? `was given up after ${timeoutMs} ms` : won
  return new RuntimeError('step_outside_handler', `${name} ${why}; it can do nothing more`, {
    details: { branch, key },
    ...(outcome.as === 'threw' ? { cause: outcome.error } : {}),
  })
}

type In<S extends ContestState['as']> = Contest & { readonly state: Extract<ContestState, { as: S }> }
type On<E extends ContestEvent['is']> = Extract<ContestEvent, { is: E }>
type AnyMove = (rules: ContestRules, contest: never, event: never) => ContestMove

/** Every move there is, by state and event. */
const moves: {
  readonly [S in ContestState['as']]: {
    readonly [E in ContestEvent['is']]?: (rules: ContestRules, contest: In<S>, event: On<E>) => ContestMove
  }
} = {
  running: {
    settled: (rules, contest, { result, isLate }) => {
      const results = [...contest.results, result]
      return decides(rules, results)
        ? toDecide({ ...contest, results }, isLate)
        : stay({ ...contest, results })
    },
    timedOut: (_, contest, { seq, isLate }) => first(CLOSE_DOORS, toDecide(lateFrom(contest, seq), isLate)),
    entered: (_, contest, { isLate }) => toDecide(contest, isLate),
  },
  ready: {
    settled: (_, contest, { result }) => stay(withResult(contest, result)),
    timedOut: (_, contest, { seq }) => to(lateFrom(contest, seq), contest.state, CLOSE_DOORS),
    admitted: (rules, contest, { isLate }) =>
      first(
        ENTER,
        contest.late === undefined && contest.results.at(-1)?.seq === LIVE
          ? decide(rules, contest, isLate)
          : look(contest, false),
      ),
  },
  settling: {
    settled: (_, contest, { result }) => stay(withResult(contest, result)),
    timedOut: (_, contest, { seq }) => to(lateFrom(contest, seq), contest.state, CLOSE_DOORS),
    looked: (rules, contest, { isStill, isLate }) =>
      isStill && contest.state.wasStill ? decide(rules, contest, isLate) : look(contest, isStill),
  },
  recording: {
    recorded: (_, contest, { memo }) =>
      to(contest, ended, { do: 'resolve', result: memo ?? contest.state.result }),
  },
  decidedLate: {
    // It has its answer: what its branches and its time still say decides nothing.
    settled: (_, contest) => stay(contest),
    timedOut: (_, contest, { seq }) => to(lateFrom(contest, seq), contest.state, CLOSE_DOORS),
  },
  ended: {},
}

const ended = { as: 'ended' } as const
const ADMIT: ContestEffect = { do: 'admit' }
const ENTER: ContestEffect = { do: 'enter' }
const CLOSE_DOORS: ContestEffect = { do: 'closeDoors' }
const DROP: ContestEffect = { do: 'drop' }
const LOOK: ContestEffect = { do: 'look' }

function to(contest: Contest, state: ContestState, ...effects: readonly ContestEffect[]): ContestMove {
  return { contest: { ...contest, state }, effects }
}

function stay(contest: Contest): ContestMove {
  return { contest, effects: [] }
}

function first(effect: ContestEffect, { contest, effects }: ContestMove): ContestMove {
  return { contest, effects: [effect, ...effects] }
}

function withResult(contest: Contest, result: Result): Contest {
  return { ...contest, results: [...contest.results, result] }
}

function lateFrom(contest: Contest, seq: number): Contest {
  return { ...contest, late: { seq, results: contest.results.length } }
}

/** Where the time around it is over nothing has to be let in: what memos say is all there is. */
function toDecide(contest: Contest, isLate: boolean): ContestMove {
  return isLate ? look(contest, false) : to(contest, { as: 'ready' }, ADMIT)
}

function look(contest: Contest, wasStill: boolean): ContestMove {
  return to(contest, { as: 'settling', wasStill }, LOOK)
}

function decide(rules: ContestRules, contest: Contest, isLate: boolean): ContestMove {
  const decisive = decisiveOf(rules, contest)
  const { outcome, seq } = decisive
  const ending = outcome.as === 'threw' ? { reason: outcome.error } : encoded(rules, contest, decisive)
  if (isLate) return to(contest, { as: 'decidedLate' }, { do: 'answer', seq, outcome: ending })
  const decided = { ...contest, decidedAt: seq }
  const closing = { do: 'closeBranches', decisive } as const
  if ('result' in ending)
    return to(decided, { as: 'recording', result: ending.result }, closing, {
      do: 'record',
      result: ending.result,
    })
  const { reason } = ending
  return to(decided, ended, closing, { do: 'recordFailure', reason }, { do: 'reject', reason })
}

/** The result that counts: of those that came in time and decide, the one that stands first in the history. */
function decisiveOf(rules: ContestRules, { results, late }: Contest): Result {
  const inTime =
    late === undefined ? results : results.filter(({ seq }, index) => index < late.results || seq < late.seq)
  if (late !== undefined && !decides(rules, inTime)) return tooLate(rules, late.seq)
  const failed = inTime.filter(({ outcome }) => outcome.as === 'threw')
  const candidates = rules.kind === 'race' || failed.length === 0 ? inTime : failed
  return candidates.reduce((least, next) => (next.seq < least.seq ? next : least))
}

function decides({ kind, branches }: ContestRules, results: readonly Result[]): boolean {
  if (kind === 'race') return results.length > 0
  return results.length === branches.length || results.some(({ outcome }) => outcome.as === 'threw')
}

function tooLate({ kind, key, timeoutMs = 0 }: ContestRules, seq: number): Result {
  const error = endOfWait(branchLimitKey(key), new TimeoutError(`${kind} '${key}'`, timeoutMs))
  return { branch: undefined, outcome: { as: 'threw', error }, seq }
}

function encoded(rules: ContestRules, contest: Contest, decisive: Result): LateOutcome {
  try {
    return { result: rules.encode(valueOf(rules, contest, decisive)) }
  } catch (reason) {
    return { reason }
  }
}

function valueOf(
  { kind, branches }: ContestRules,
  { results }: Contest,
  { branch, outcome }: Result,
): unknown {
  if (kind === 'race') return { winner: branch, value: outcome.as === 'returned' ? outcome.value : undefined }
  const values = new Map(
    results.map((result) => [
      result.branch,
      result.outcome.as === 'returned' ? result.outcome.value : undefined,
    ]),
  )
  return Object.fromEntries(branches.map((name) => [name, values.get(name)]))
}
