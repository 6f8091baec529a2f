import type { FailureKind } from '../task/failure-kind.ts'
import { type Backoff, decideBackoff } from '../task/backoff.ts'
import {
  type FailureCategory,
  nextAgent,
  type RecoveryChoice,
  type RecoveryPolicy,
  type RecoveryStrategy,
  strongestRecovery,
} from './recovery.ts'

/** The decision about a failure, as the event of the next try has it. */
export interface Recovered {
  readonly category: FailureCategory
  readonly kind: FailureKind
  readonly strategy: RecoveryStrategy
  /** The model that the task has from now on. */
  readonly model?: string
  /** The task type that it is handed over to, the model that the other task has in place of its own, and its estimated cost. */
  readonly task?: string
  readonly taskModel?: string
  readonly taskCost?: number
}

/** The facts that decide what is done about a failure. */
export interface RecoveryCase {
  readonly kind: FailureKind
  /** Its category, or those of all its parts. */
  readonly categories: readonly FailureCategory[]
  /** The error says that trying the same again cannot help. */
  readonly isFinal: boolean
  /** Tries so far, the failed one included; crashes of the process are none. */
  readonly tries: number
  readonly retry: { readonly attempts: number; readonly backoff: Backoff }
  readonly policy: RecoveryPolicy
  /** The model that the task has now. */
  readonly model: string | undefined
  /** It was handed over to another task before. */
  readonly hasHandedOver: boolean
  /** A number in [0, 1), for the jitter of the back-off. */
  readonly random: number
}

/** A further try, and how long it waits. */
export interface FurtherTry {
  readonly recovery: Recovered
  readonly delayMs: number
}

/**
 * Decides what is done about a failure: the strongest answer that the table has for its parts. Undefined: the task fails. The same try again is
 * no use where the error is final, and does not go beyond the number of tries. Each model and the other task have their turn, and a person may
 * be asked, whatever the number is. Source: agent-scheduler-paper 7.5; `docs/semantics.md 14.3`.
 */
export function decideRecovery(it: RecoveryCase): FurtherTry | undefined {
  const { kind, categories, policy, retry, tries } = it
  const other = nextAgent(policy, it)
  const isLastTry = it.isFinal || tries >= retry.attempts
  // Where one answer is not to be had, what another part of the failure asks for is still done.
  const choiceOf = (part: FailureCategory): RecoveryChoice => {
    const choice = policy.table[part]
    if (choice === 'human_escalation') return choice
    return (choice === 'fallback_agent' ? other === undefined : isLastTry) ? 'fail' : choice
  }
  const strategy = strongestRecovery(categories.map(choiceOf))
  const category = categories.find((part) => choiceOf(part) === strategy)
  if (category === undefined || strategy === 'fail') return undefined
  const recovery = { category, kind, strategy }
  switch (strategy) {
    case 'human_escalation':
    case 'restart':
    case 'retry_with_feedback':
      return { recovery, delayMs: 0 }
    case 'fallback_agent':
      return { recovery: { ...recovery, ...other }, delayMs: 0 }
    case 'retry_with_backoff':
      return { recovery, delayMs: decideBackoff(retry.backoff, tries, it.random) }
  }
}
