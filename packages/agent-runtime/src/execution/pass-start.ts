import {
  approvalName,
  decidePassStart,
  encode,
  type Escalation,
  escalationKey,
  type PassStart,
  type PastFailure,
} from '@ku0/agent-runtime-core'
import type { TaskDefinition } from '../api/task-definition.ts'
import { decisionOf, errorOf } from '../durable/failure.ts'
import type { Memos } from '../durable/pass/memos.ts'
import type { Attempt } from './attempt.ts'

/** How the pass begins, after a failure. Source: `docs/semantics.md 14.3`. */
export function passStart(attempt: Attempt, { recovery }: TaskDefinition, memos: Memos): PassStart {
  return decidePassStart({
    ...memos,
    verdictOn: (seq) => memos.waits.get(escalationKey(seq))?.outcome,
    policy: recovery,
    currentModel: () => attempt.model,
  })
}

/** Ends the pass before its handler: the task goes on with another model, or fails as it did before. */
export function settleBefore(
  attempt: Attempt,
  start: Extract<PassStart, { as: 'fall_back' | 'fail' }>,
): void {
  const { failure } = start
  const error = encode(errorOf(failure), { what: 'an error' })
  if (start.as === 'fall_back') attempt.settle({ as: 'retry', error, delayMs: 0, recovery: start.recovery })
  else attempt.settle({ as: 'failed', kind: decisionOf(failure).kind, error })
}

/** Asks a person what becomes of the task; true if it waits for the answer. False: another of its waits was over, or the answer is there. */
export async function ask(attempt: Attempt, failure: PastFailure): Promise<boolean> {
  const { category, kind } = decisionOf(failure)
  const { name, message, code } = errorOf(failure)
  const question: Escalation = {
    escalated: category,
    kind,
    error: { name, message, ...(code === undefined ? {} : { code }) },
    attempt: failure.attempt,
  }
  const key = escalationKey(failure.seq)
  const taken = await attempt.lease.write({
    kind: 'suspend',
    leaseId: attempt.claim.leaseId,
    stay: false,
    waits: [
      {
        key,
        position: 0,
        kind: 'approval',
        name: approvalName(key),
        approval: {
          artifact: encode(question, { what: 'the question what becomes of a task after its failure' }),
          mode: 'supervised',
          asked: true,
          maxRetries: 0,
          onReject: 'throw',
          onTimeout: 'throw',
        },
      },
    ],
  })
  return taken?.suspended ?? false
}
