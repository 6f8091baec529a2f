import {
  categoriesOf,
  type Claim,
  type ErrorRecord,
  type PastFailures,
  workedOnBy,
  decideOutcome,
  describeError,
  encode,
  type HandlerEnd,
  type Outcome as TaskOutcome,
  type RateLimited,
  RuntimeError,
  type Settlement,
} from '@ku0/agent-runtime-core'
import { check, describeIssues } from '../terms/schema.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { Attempt } from './attempt.ts'
import type { Parts } from './parts.ts'
import { isCollected } from './collected.ts'
import { waitsBehind } from '../durable/wait/ended-waits.ts'
import { isForWantOfBudget } from './want-of-budget.ts'

/**
 * The value that a handler returned, as the end of its pass: checked with the task's output schema and encoded. It is a
 * promise only if the schema is asynchronous. Source: `docs/semantics.md 7.4, 7.5, 8.8`.
 */
export function judgeReturn(
  attempt: Attempt,
  definition: TaskDefinition,
  value: unknown,
): HandlerEnd | Promise<HandlerEnd> {
  if (definition.output === undefined) return encoded(attempt, value)
  const judge = (checked: Awaited<ReturnType<typeof check>>): HandlerEnd =>
    checked.issues === undefined
      ? encoded(attempt, checked.value)
      : invalidOutput(definition, describeIssues('output', checked.issues))
  try {
    const checked = check(definition.output, value)
    return checked instanceof Promise
      ? checked.then(judge).catch((error: unknown) => threw(attempt, definition, error))
      : judge(checked)
  } catch (error) {
    return threw(attempt, definition, error)
  }
}

/** The error that a handler threw, as the end of its pass. */
export function threw(attempt: Attempt, definition: TaskDefinition | undefined, error: unknown): HandlerEnd {
  const waits = waitsBehind(error)
  const told = waits.length === 0 ? {} : { waits }
  const spent = isForWantOfBudget(error) ? ({ spent: true } as const) : {}
  const rateLimit = attempt.limits.in(attempt, error, definition?.rateLimited)
  const categories = definition?.recovery === undefined ? {} : { categories: categoriesOf(error) }
  return { as: 'threw', error: describeError(error), ...told, rateLimit, ...spent, ...categories }
}

/** A pass that can be settled. */
interface Settling {
  readonly claim: Claim
  readonly parts: Pick<Parts, 'environment'>
  /** The model that the task has now. */
  readonly model: string | undefined
  /** The failures of the task so far. */
  readonly past: PastFailures
  settle(settlement: Settlement, rateLimit?: RateLimited): void
}

/** Decides what the end means for the task, and sends it to the store. Nothing waits for the commit. */
export function settle(
  attempt: Settling,
  definition: TaskDefinition | undefined,
  how: HandlerEnd,
  breach?: 'deadline' | 'hard',
): void {
  const end = workedOnBy(attempt.past) === undefined ? how : besideTheOther(how)
  const { attempt: tried, crashes } = attempt.claim
  const { retry, recovery } = definition ?? {}
  const draws = end.as !== 'returned' && (retry ?? recovery) !== undefined
  const random = draws ? attempt.parts.environment.random.next() : 0
  const model = recovery === undefined ? undefined : attempt.model
  const { handedOver, triesBefore } = attempt.past
  const outcome = decideOutcome(end, {
    attempt: tried,
    crashes,
    retry,
    recovery,
    model,
    hasHandedOver: handedOver !== undefined,
    triesBefore,
    random,
  })
  const limit = end.as === 'threw' ? end.rateLimit : undefined
  attempt.settle(settlementOf(outcome, end, breach), limit)
}

/**
 * The end of a pass that calls the other task. Where the pass itself ended, or the store did not answer, the other still works: it has to be
 * found again, and the table is not asked. Source: `docs/semantics.md 14.3`.
 */
function besideTheOther(end: HandlerEnd): HandlerEnd {
  switch (end.as) {
    case 'stopped':
      return end.kind === 'timeout' || end.kind === 'hard_limit' || end.kind === 'crashed'
        ? { as: 'interrupted', error: end.error }
        : end
    case 'threw':
      return isOfStore(end.error) ? { as: 'interrupted', error: end.error } : end
    default:
      return end
  }
}

/** The store, or the line to it, is at fault; the failure of another task only reports what that one met. */
function isOfStore({ name, code }: ErrorRecord): boolean {
  return name !== 'TaskFailed' && (code?.startsWith('store_') === true || code === 'server_unreachable')
}

function settlementOf(
  outcome: TaskOutcome,
  end: HandlerEnd,
  breach: 'deadline' | 'hard' | undefined,
): Settlement {
  if (outcome.as === 'completed') return outcome
  const error = encode(outcome.error, { what: 'an error' })
  const late = breach === undefined ? {} : { breach }
  switch (outcome.as) {
    case 'failed': {
      const spent = end.as === 'threw' && end.spent === true ? ({ spent: true } as const) : {}
      return { ...outcome, error, ...late, ...spent }
    }
    case 'retry':
      return { ...outcome, error, ...late }
    case 'rate_limited':
      return { ...outcome, error }
  }
}

function encoded(attempt: Attempt, value: unknown): HandlerEnd {
  try {
    const what = `the output of task '${attempt.claim.type}'`
    const { maxPayloadBytes } = attempt.parts.config
    const limit = isCollected(value) ? {} : { maxBytes: maxPayloadBytes }
    return { as: 'returned', output: attempt.parts.values.encode(value, { what, ...limit }) }
  } catch (error) {
    return threw(attempt, undefined, error)
  }
}

function invalidOutput(definition: TaskDefinition, issues: string): HandlerEnd {
  const error = new RuntimeError(
    'invalid_output',
    `the output of task '${definition.type}' does not fit its output schema: ${issues}`,
  )
  return { as: 'stopped', kind: 'invalid_output', error: describeError(error) }
}
