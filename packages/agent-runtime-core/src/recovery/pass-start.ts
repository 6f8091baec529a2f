import type { WaitOutcome } from '../wait/wait.ts'
import type { Recovered } from './decide.ts'
import { type PastFailure, type PastFailures, workedOnBy } from './past-failure.ts'
import { nextAgent, type RecoveryPolicy } from './recovery.ts'

/** The facts that decide how a pass begins. */
export interface PassStartCase extends Pick<PastFailures, 'failure' | 'crash' | 'handedOver'> {
  /** How a person answered the question about the failure with this seq; undefined before that. */
  readonly verdictOn: (seq: number) => WaitOutcome | undefined
  /** Undefined: without a table each task goes on after a crash. */
  readonly policy: RecoveryPolicy | undefined
  /** The model that the task has now. */
  readonly currentModel: () => string | undefined
}

/** How a pass begins: with the handler, or with what has to come before it. */
export type PassStart =
  | { readonly as: 'run' }
  /** A person is asked first, and the task waits. */
  | { readonly as: 'ask'; readonly failure: PastFailure }
  /** It goes on with another model, or another task. */
  | { readonly as: 'fall_back'; readonly failure: PastFailure; readonly recovery: Recovered }
  /** The table wants no other try. */
  | { readonly as: 'fail'; readonly failure: PastFailure }
  /** A person wants none: no supervisor starts it again either. */
  | { readonly as: 'refuse'; readonly failure: PastFailure }

/**
 * Decides what comes before the handler after a failure. A process that died decided nothing: the process that has the task next decides for
 * it. Nothing is remembered but events, so that a crash at any place decides the same again. Source: `docs/semantics.md 14.3`.
 */
export function decidePassStart({
  failure,
  crash,
  handedOver,
  verdictOn,
  policy,
  currentModel,
}: PassStartCase): PassStart {
  // The end of a process, or of a pass that came to nothing, is nothing to the other task.
  if (workedOnBy({ handedOver }) !== undefined) return run
  if (failure?.recovery?.strategy === 'human_escalation') {
    const answered = answer(failure, verdictOn)
    if (answered.as !== 'run') return answered
  }
  switch (crash === undefined ? undefined : policy?.table.crash) {
    case 'human_escalation':
      return crash === undefined ? run : answer(crash, verdictOn)
    case 'fail':
      return crash === undefined ? run : { as: 'fail', failure: crash }
    case 'fallback_agent': {
      const agent = { model: currentModel(), hasHandedOver: handedOver !== undefined }
      const next = policy === undefined ? undefined : nextAgent(policy, agent)
      if (crash === undefined || next === undefined) return run
      const recovery = {
        category: 'crash',
        kind: 'crashed',
        strategy: 'fallback_agent',
        ...next,
      } as const
      return { as: 'fall_back', failure: crash, recovery }
    }
    default:
      return run
  }
}

function answer(failure: PastFailure, verdictOn: PassStartCase['verdictOn']): PassStart {
  const verdict = verdictOn(failure.seq)
  if (verdict === undefined) return { as: 'ask', failure }
  return verdict === 'approved' ? run : { as: 'refuse', failure }
}

const run: PassStart = { as: 'run' }
