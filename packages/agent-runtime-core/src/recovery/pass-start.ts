import type { WaitRecord } from '../wait/schema.ts'
import type { Recovered } from './decide.ts'
import { failureAsked } from './escalation.ts'
import { type PastFailure, type PastFailures, workedOnBy } from './past-failure.ts'
import { nextAgent, type RecoveryPolicy } from './recovery.ts'

/** The facts that decide how a pass begins. */
export interface PassStartCase extends Pick<PastFailures, 'failure' | 'crash' | 'handedOver'> {
  /** The waits of the task that have ended: among them the answers of people to questions about its failures. */
  readonly waits: Iterable<Pick<WaitRecord, 'key' | 'outcome' | 'seq'>>
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
  crash: ended,
  handedOver,
  waits,
  policy,
  currentModel,
}: PassStartCase): PassStart {
  // The end of a process, or of a pass that came to nothing, is nothing to the other task.
  if (workedOnBy({ handedOver }) !== undefined) return run
  const last = ended ?? failure
  if (last === undefined) return run
  const answers = answersIn(waits)
  // No is final, whatever has ended since: no handler ran after it.
  for (const [about, { outcome }] of answers)
    if (outcome !== 'approved') return { as: 'refuse', failure: failure?.seq === about ? failure : last }
  let crash = ended
  if (failure?.recovery?.strategy === 'human_escalation') {
    const answer = answers.get(failure.seq)
    if (answer === undefined) return { as: 'ask', failure }
    // Before the answer no handler ran: that pass was only to ask.
    if (crash !== undefined && crash.seq < answer.seq) crash = undefined
  }
  if (crash === undefined || policy === undefined) return run
  switch (policy.table.crash) {
    case 'human_escalation':
      return answers.has(crash.seq) ? run : { as: 'ask', failure: crash }
    case 'fail':
      return { as: 'fail', failure: crash }
    case 'fallback_agent': {
      const next = nextAgent(policy, { model: currentModel(), hasHandedOver: handedOver !== undefined })
      if (next === undefined) return run
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

type Answer = Pick<WaitRecord, 'outcome' | 'seq'>

/** How and when people answered, by the seq of the failure that they were asked about. */
function answersIn(waits: PassStartCase['waits']): ReadonlyMap<number, Answer> {
  const answers = new Map<number, Answer>()
  for (const wait of waits) {
    const about = failureAsked(wait.key)
    if (about !== undefined) answers.set(about, wait)
  }
  return answers
}

const run: PassStart = { as: 'run' }
