import {
  describeError,
  type ErrorRecord,
  isA,
  type RateLimited,
  type RetryPolicy,
  RuntimeError,
  type WaitRecord,
} from '@ku0/agent-runtime-core'
import { StepInDoubt, TimeoutError } from '../../api/errors.ts'
import { type Doubt, type DoubtPolicy, readVerdict, verdictOn } from './doubt.ts'
import type { Memos } from '../pass/memos.ts'
import { counted, decideRetry, type Retry, type RetryCount } from './retry.ts'
import { LIVE } from '../pass/scope.ts'

/** The facts about a call of a step that decide how it goes on. */
export interface StepRules {
  readonly key: string
  readonly retry: RetryPolicy | undefined
  /** Undefined if the step may simply run again. */
  readonly inDoubt: DoubtPolicy | undefined
  /** The verdicts of earlier passes. */
  readonly verdicts: Memos['waits']
  /** The text of a result. Throws for a value that cannot be stored. */
  readonly encode: (value: unknown) => string
  readonly decode: (text: string) => unknown
  /** The refusal of a provider that an error reports. */
  readonly rateLimit: (error: unknown) => RateLimited | undefined
}

/**
 * The state of a step that no memo answers. It keeps its pass alive except in `ready`, `asking`,
 * `waitingRetry` and `ended`.
 */
type StepState =
  /** It waits at the gate of its pass. */
  | { readonly as: 'ready' }
  /** The store is asked whether the lease has survived a sleep of the process. */
  | { readonly as: 'confirming'; readonly next: 'begin' | 'run' }
  /** Its start is being recorded: whatever happens, a later pass knows that it was started. */
  | { readonly as: 'intending' }
  /** Its function runs. */
  | { readonly as: 'running' }
  /**
   * The program checks whether the last start took effect. If not, the step fails with `late`, or starts
   * again if `late` is absent.
   */
  | { readonly as: 'verifying'; readonly late?: Error }
  /** A human decides that: the task waits for the verdict. */
  | { readonly as: 'asking' }
  | { readonly as: 'recording'; readonly result: string }
  /**
   * The step continues when its failure is recorded: with another try, or with the question whether the late
   * one took effect.
   */
  | { readonly as: 'recordingFailure'; readonly next: { readonly retry: Retry } | { readonly late: Error } }
  /** The task waits for the time of the next try. */
  | { readonly as: 'waitingRetry'; readonly retry: Retry }
  | { readonly as: 'ended' }

/** A step, and the facts that stay known from state to state. */
export interface Step extends RetryCount {
  readonly state: StepState
  /** The number of the last call of one of the program's functions: results of earlier calls are ignored. */
  readonly tried: number
  readonly doubt: Doubt
  /** A human's verdict that the step has not reached yet. */
  readonly verdict: WaitRecord | undefined
}

/** An event of a step. */
export type StepEvent =
  /** An earlier pass left the wait before the next try open. */
  | { readonly is: 'resumed'; readonly retry: Retry }
  /** The pass lets it start. */
  | { readonly is: 'admitted'; readonly mayHaveSlept: boolean }
  /** The lease is live. */
  | { readonly is: 'confirmed' }
  /** Its start is recorded. `hasSlept`: the process slept while the store was asked. */
  | { readonly is: 'intended'; readonly at: number; readonly hasSlept: boolean }
  /** One of the program's functions has returned the result, or has failed. */
  | { readonly is: 'returned'; readonly tried: number; readonly result: string }
  | { readonly is: 'failed'; readonly tried: number; readonly reason: unknown }
  /** The program reports that the last start did not take effect. */
  | { readonly is: 'undone'; readonly tried: number }
  | { readonly is: 'recorded'; readonly memo: string | undefined }
  /** `delayMs`: the time until the next try, if there is one. */
  | { readonly is: 'failureRecorded'; readonly delayMs: number }
  /** The time of the next try has come. */
  | { readonly is: 'due' }
  | { readonly is: 'judged'; readonly verdict: WaitRecord }
  /** Its caller has to stop or has lost, or the store refused a write. */
  | { readonly is: 'stopped'; readonly reason: unknown }

/** What a step needs done. Effects are listed in the order in which they have to be done. */
export type StepEffect =
  /** Wait at the gate. */
  | { readonly do: 'admit' }
  /** From now on it keeps the pass alive. */
  | { readonly do: 'enter' }
  | { readonly do: 'confirm' }
  /** Its duration counts from now. */
  | { readonly do: 'begin' }
  | { readonly do: 'intend' }
  /** Call its function, or the one that verifies, as the try with that number. */
  | { readonly do: 'call'; readonly tried: number }
  | { readonly do: 'verify'; readonly tried: number }
  /** End the time limit of the current try. `dropTry`: also forget the try, because another may follow. */
  | { readonly do: 'endTry' }
  | { readonly do: 'dropTry' }
  /** Wait without a slot, if nothing else runs. */
  | { readonly do: 'ask'; readonly doubt: Doubt }
  | { readonly do: 'wait'; readonly retry: Retry; readonly delayMs: number }
  | { readonly do: 'record'; readonly result: string }
  /** Record that it failed. The step continues when the store has answered, unless it has ended. */
  | { readonly do: 'recordFailure'; readonly failure: StepFailure; readonly isLast: boolean }
  /** The step has ended. */
  | { readonly do: 'resolve'; readonly result: string }
  | { readonly do: 'reject'; readonly reason: unknown }

export interface StepFailure {
  readonly error: ErrorRecord
  readonly rateLimit: RateLimited | undefined
  /** The next try. A late try whose effect is in doubt has a number, and no wait. */
  readonly retry: Retry | undefined
  readonly number: number | undefined
}

export interface StepMove {
  readonly step: Step
  readonly effects: readonly StepEffect[]
}

/**
 * The next state of a step, and what has to be done on the way to it. Results of an earlier try, and events
 * after the end, change nothing. Throws `internal` for an event that is not possible in the state. Source:
 * `docs/semantics.md 7.1-7.7`.
 */
export function moveStep(rules: StepRules, step: Step, event: StepEvent): StepMove {
  if (!hears(step, event)) return { step, effects: [] }
  if (event.is === 'stopped') return to(step, ended, { do: 'reject', reason: event.reason })
  const move = (moves[step.state.as] as { readonly [is: string]: AnyMove | undefined })[event.is]
  if (move === undefined)
    throw new RuntimeError('internal', `step '${rules.key}' is ${step.state.as} and cannot be ${event.is}`)
  return move(rules, step as never, event as never)
}

/** Whether an event can still change a step: not after its end, and not if it comes from an earlier try. */
export function hears({ state, tried }: Step, news: StepEvent | { readonly tried: number }): boolean {
  return state.as !== 'ended' && !('tried' in news && news.tried !== tried)
}

/** Whether the function that was called as `tried` may charge the step with its usage. */
export function mayCharge(step: Step, tried: number): boolean {
  return hears(step, { tried }) && step.state.as !== 'recording'
}

type In<S extends StepState['as']> = Step & { readonly state: Extract<StepState, { as: S }> }
type On<E extends StepEvent['is']> = Extract<StepEvent, { is: E }>
type AnyMove = (rules: StepRules, step: never, event: never) => StepMove

/** Every possible move, by state and event. */
const moves: {
  readonly [S in StepState['as']]: {
    readonly [E in StepEvent['is']]?: (rules: StepRules, step: In<S>, event: On<E>) => StepMove
  }
} = {
  ready: {
    resumed: (_, step, { retry }) =>
      to(step, { as: 'waitingRetry', retry }, { do: 'wait', retry, delayMs: 0 }),
    admitted: (rules, step, { mayHaveSlept }) =>
      mayHaveSlept
        ? to(step, { as: 'confirming', next: 'begin' }, ENTER, CONFIRM)
        : first(ENTER, begin(rules, step)),
  },
  confirming: {
    confirmed: (rules, step) => (step.state.next === 'begin' ? begin(rules, step) : run(step)),
  },
  intending: {
    intended: (_, step, { at, hasSlept }) => {
      const { starts } = step.doubt
      const started = { ...step, doubt: { starts: starts + 1, startedAt: at, seq: LIVE, isOpen: false } }
      return hasSlept ? to(started, { as: 'confirming', next: 'run' }, CONFIRM) : run(started)
    },
  },
  running: {
    returned: (_, step, { result }) => record(step, result),
    failed: (rules, step, { reason }) => fail(rules, step, reason),
  },
  verifying: {
    returned: (_, step, { result }) => record(step, result),
    failed: (rules, step, { reason }) => fail(rules, step, reason),
    undone: (rules, step) =>
      step.state.late === undefined ? intend(step) : failForGood(rules, step, step.state.late),
  },
  asking: {
    judged: (_, step, { verdict }) => to({ ...step, verdict }, { as: 'ready' }, ADMIT),
  },
  recording: {
    recorded: (_, step, { memo }) => to(step, ended, { do: 'resolve', result: memo ?? step.state.result }),
  },
  recordingFailure: {
    failureRecorded: (rules, step, { delayMs }) => {
      const { next } = step.state
      if ('late' in next) return settleLate(rules, step, next.late)
      const { retry } = next
      return to(step, { as: 'waitingRetry', retry }, { do: 'wait', retry, delayMs })
    },
  },
  waitingRetry: {
    due: (_, step) => to({ ...step, ...counted(step, step.state.retry) }, { as: 'ready' }, ADMIT),
  },
  ended: {},
}

const ended = { as: 'ended' } as const
const ADMIT: StepEffect = { do: 'admit' }
const ENTER: StepEffect = { do: 'enter' }
const CONFIRM: StepEffect = { do: 'confirm' }
const BEGIN: StepEffect = { do: 'begin' }
const INTEND: StepEffect = { do: 'intend' }
const END_TRY: StepEffect = { do: 'endTry' }
const DROP_TRY: StepEffect = { do: 'dropTry' }

function to(step: Step, state: StepState, ...effects: readonly StepEffect[]): StepMove {
  return { step: { ...step, state }, effects }
}

function first(effect: StepEffect, { step, effects }: StepMove): StepMove {
  return { step, effects: [effect, ...effects] }
}

function begin(rules: StepRules, step: Step): StepMove {
  const { inDoubt } = rules
  if (inDoubt === undefined) return first(BEGIN, run(step))
  return first(BEGIN, step.doubt.isOpen ? settleDoubt(rules, step, inDoubt) : intend(step))
}

function run(step: Step): StepMove {
  const tried = step.tried + 1
  return to({ ...step, tried }, { as: 'running' }, { do: 'call', tried })
}

function intend(step: Step): StepMove {
  return to(step, { as: 'intending' }, INTEND)
}

function record(step: Step, result: string): StepMove {
  return to(step, { as: 'recording', result }, END_TRY, { do: 'record', result })
}

/** It was started before, and how that ended is unknown. */
function settleDoubt(rules: StepRules, step: Step, policy: DoubtPolicy): StepMove {
  switch (policy.as) {
    case 'fail':
      return fail(rules, step, new StepInDoubt(rules.key, "its inDoubt is 'fail'", { retryable: false }))
    case 'verify':
      return verify(step)
    case 'ask':
      return ask(rules, step)
  }
}

/**
 * Verifies a start. After a try that ran out of time, `late` is the error that the step fails with if nothing
 * happened.
 */
function verify(step: Step, late?: Error): StepMove {
  const tried = step.tried + 1
  const state = late === undefined ? { as: 'verifying' as const } : { as: 'verifying' as const, late }
  return to({ ...step, tried }, state, { do: 'verify', tried })
}

function ask(rules: StepRules, step: Step): StepMove {
  const verdict = step.verdict ?? verdictOn(rules.key, step.doubt, rules.verdicts)
  if (verdict === undefined) return to(step, { as: 'asking' }, { do: 'ask', doubt: step.doubt })
  const judged = { ...step, verdict: undefined }
  const finding = readVerdict(rules.key, verdict, rules.decode)
  switch (finding.as) {
    case 'given up':
      return fail(rules, judged, finding.error)
    case 'undone':
      return intend(judged)
    case 'done':
      try {
        return record({ ...judged, tried: step.tried + 1 }, rules.encode(finding.result))
      } catch (error) {
        return fail(rules, { ...judged, tried: step.tried + 1 }, error)
      }
  }
}

/**
 * A function has failed, or a policy fails the step: decides whether it is tried again, and what has to be
 * found out first.
 */
function fail(rules: StepRules, given: Step, reason: unknown): StepMove {
  const isLate = isA(reason, TimeoutError)
  const step = isLate ? { ...given, doubt: { ...given.doubt, isOpen: true } } : given
  const error = describeError(reason)
  const rateLimit = rules.rateLimit(reason)
  const retry = decideRetry(rules.retry, step, error, rateLimit)
  if (retry !== undefined) return recordFailure(step, { error, rateLimit, retry }, { retry })
  if (!isLate || rules.inDoubt === undefined) return failForGood(rules, step, reason)
  if (rules.inDoubt.as !== 'fail') {
    // Before the step fails for its time limit, it is settled whether the last try took effect. Source:
    // `docs/semantics.md 7.6`.
    return recordFailure(step, { error, rateLimit: undefined, retry }, { late: reason })
  }
  const why = "its time ran out, and its inDoubt is 'fail'"
  return failForGood(rules, step, new StepInDoubt(rules.key, why, { cause: reason, retryable: false }))
}

function recordFailure(
  step: Step,
  failure: Omit<StepFailure, 'number'>,
  next: Extract<StepState, { as: 'recordingFailure' }>['next'],
): StepMove {
  const number = step.retries + step.limits + 1
  return to(
    { ...step, tried: step.tried + 1 },
    { as: 'recordingFailure', next },
    { do: 'recordFailure', failure: { ...failure, number }, isLast: false },
    DROP_TRY,
  )
}

function failForGood(rules: StepRules, step: Step, reason: unknown): StepMove {
  const failure = {
    error: describeError(reason),
    rateLimit: rules.rateLimit(reason),
    retry: undefined,
    number: undefined,
  }
  return to(step, ended, { do: 'recordFailure', failure, isLast: true }, { do: 'reject', reason })
}

function settleLate(rules: StepRules, step: Step, late: Error): StepMove {
  return rules.inDoubt?.as === 'verify' ? verify(step, late) : ask(rules, step)
}
