import { branchLimitKey, RuntimeError } from '@ku0/agent-runtime-core'
import { TimeoutError } from '../../api/errors.ts'
import { endOfWait } from '../wait/ended-waits.ts'
import { LIVE } from '../pass/scope.ts'

/** The arguments of a race or an all that decide how it ends. */
export interface ContestRules {
  /**
   * The first branch that settles decides a `race`. The first that fails, or else the last that returns,
   * decides an `all`.
   */
  readonly kind: 'race' | 'all'
  readonly key: string
  /** The branches, in the order in which they were given. */
  readonly branches: readonly string[]
  readonly timeoutMs: number | undefined
  /** The text of a result. Throws for a value that cannot be stored. */
  readonly encode: (value: unknown) => string
}

/** How a branch settled, and the place of its last answer in the history. */
export interface Result {
  /** Undefined if it is the time limit of all branches, not a branch. */
  readonly branch: string | undefined
  readonly outcome:
    | { readonly as: 'returned'; readonly value: unknown }
    | { readonly as: 'threw'; readonly error: unknown }
  readonly seq: number
}

/** The state of a race or an all that no memo answers. */
type ContestState =
  | { readonly as: 'running' }
  /** The first result that can decide it has arrived; it waits at the gate of its pass. */
  | { readonly as: 'ready' }
  /**
   * Memos decide it. It looks again in a later turn, until nothing inside is about to be decided by memos:
   * two branches that memos answer settle in any order, but one turn later both have settled.
   */
  | { readonly as: 'settling'; readonly wasStill: boolean }
  | { readonly as: 'recording'; readonly result: string }
  /** It was decided only for the race or all around it, whose time is over: nothing is recorded. */
  | { readonly as: 'decidedLate' }
  | { readonly as: 'ended' }

/** A race or an all, and the facts that stay known from state to state. */
export interface Contest {
  readonly state: ContestState
  readonly results: readonly Result[]
  /** Its time is over: the place of that in the history, and how many results had arrived by then. */
  readonly late: { readonly seq: number; readonly results: number } | undefined
  /** The place in the history of the result that decided it. */
  readonly decidedAt: number
}

/**
 * An event of a race or an all. `isLate`: the time of the surrounding call is over, and nothing new begins in
 * it.
 */
export type ContestEvent =
  | { readonly is: 'settled'; readonly result: Result; readonly isLate: boolean }
  /** Its own time is over, since `seq` in the history. */
  | { readonly is: 'timedOut'; readonly seq: number; readonly isLate: boolean }
  /** All branches of a call whose time was over in an earlier pass have been started. */
  | { readonly is: 'entered'; readonly isLate: boolean }
  /** The pass allows the decision. */
  | { readonly is: 'admitted'; readonly isLate: boolean }
  /** `isStill`: nothing inside is about to be decided by memos. */
  | { readonly is: 'looked'; readonly isStill: boolean; readonly isLate: boolean }
  | { readonly is: 'recorded'; readonly memo: string | undefined }
  /** Its caller has to stop or has lost, or the store refused a write. */
  | { readonly is: 'stopped'; readonly reason: unknown }

/** What a race or an all needs done. Effects are listed in the order in which they have to be done. */
export type ContestEffect =
  /** Wait at the gate. */
  | { readonly do: 'admit' }
  /** From now on it keeps the pass alive. */
  | { readonly do: 'enter' }
  /** Its branches start nothing more. */
  | { readonly do: 'closeDoors' }
  /** Check one turn later whether something inside is about to be decided. */
  | { readonly do: 'look' }
  /** Nothing in the branches counts any more, because of this result. */
  | { readonly do: 'closeBranches'; readonly decisive: Result }
  | { readonly do: 'record'; readonly result: string }
  | { readonly do: 'recordFailure'; readonly reason: unknown }
  /** Answer, and stay until the surrounding call is decided. */
  | { readonly do: 'answer'; readonly seq: number; readonly outcome: LateOutcome }
  /** It has ended: without a further answer, or with its answer. */
  | { readonly do: 'drop' }
  | { readonly do: 'resolve'; readonly result: string }
  | { readonly do: 'reject'; readonly reason: unknown }

type LateOutcome = { readonly result: string } | { readonly reason: unknown }

export interface ContestMove {
  readonly contest: Contest
  readonly effects: readonly ContestEffect[]
}

/** The initial state. `lateSince`: its time was over in an earlier pass, at this place in the history. */
export function newContest(lateSince: number | undefined): Contest {
  const late = lateSince === undefined ? undefined : { seq: lateSince, results: 0 }
  return { state: { as: 'running' }, results: [], late, decidedAt: LIVE }
}

/**
 * The next state of a race or an all, and what has to be done on the way to it. Throws `internal` for an
 * event that is not possible in the state. Source: `docs/semantics.md 12.4`.
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

/** Whether memos decide it, which takes one more turn or commit. */
export function isSettling({ state, late, results }: Contest, isLate: boolean): boolean {
  const isUnderWay = state.as === 'settling' || state.as === 'recording' || (state.as === 'ready' && isLate)
  return isUnderWay && (late !== undefined || results.at(-1)?.seq !== LIVE)
}

/** The reason why nothing in a branch counts any more. */
export function reasonToClose(
  { kind, key, timeoutMs }: ContestRules,
  { results }: Contest,
  { branch: decisive, outcome }: Result,
  branch: string,
): RuntimeError {
  const name = `branch '${branch}' of ${kind} '${key}'`
  const hasSettled = results.some((result) => result.branch === branch)
  if (hasSettled && (branch === decisive || kind === 'all'))
    return new RuntimeError('step_outside_handler', `${name} has ended: await everything that it starts`)
  const won = kind === 'race' ? `lost to '${decisive}'` : `was stopped because '${decisive}' failed`
  const why = decisive === undefined ? `was stopped after ${timeoutMs} ms` : won
  return new RuntimeError('step_outside_handler', `${name} ${why}; its calls are refused`, {
    details: { branch, key },
    ...(outcome.as === 'threw' ? { cause: outcome.error } : {}),
  })
}

type In<S extends ContestState['as']> = Contest & { readonly state: Extract<ContestState, { as: S }> }
type On<E extends ContestEvent['is']> = Extract<ContestEvent, { is: E }>
type AnyMove = (rules: ContestRules, contest: never, event: never) => ContestMove

/** Every possible move, by state and event. */
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
    // It has its answer: later results of its branches or its time limit decide nothing.
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

/** If the time of the surrounding call is over, nothing has to be admitted: memos alone decide. */
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

/** The result that counts: among the results that arrived in time and decide, the first in the history. */
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
