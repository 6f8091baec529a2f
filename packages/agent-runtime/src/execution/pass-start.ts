import {
  decidePassStart,
  decisionOfPast,
  encode,
  errorOfPast,
  escalationWait,
  type PassStart,
  type PastFailure,
} from '@ku0/agent-runtime-core'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { Memos } from '../durable/pass/memos.ts'
import type { Attempt } from './attempt.ts'

/** How the pass begins, after a failure. Source: `docs/semantics.md 14.3`. */
export function passStart(attempt: Attempt, { recovery }: TaskDefinition, memos: Memos): PassStart {
  return decidePassStart({
    ...memos,
    waits: memos.waits.values(),
    policy: recovery,
    currentModel: () => attempt.model,
  })
}

/** Ends the pass before its handler: the task goes on with another model, or fails as it did before. */
export function settleBefore(
  attempt: Attempt,
  start: Extract<PassStart, { as: 'fall_back' | 'fail' | 'refuse' }>,
): void {
  const { failure } = start
  const error = encode(errorOfPast(failure), { what: 'an error' })
  if (start.as === 'fall_back') attempt.settle({ as: 'retry', error, delayMs: 0, recovery: start.recovery })
  else {
    const refused = start.as === 'refuse' ? ({ refused: true } as const) : {}
    attempt.settle({ as: 'failed', kind: decisionOfPast(failure).kind, error, ...refused })
  }
}

/** Asks a person what becomes of the task; true if it waits for the answer. False: another of its waits was over, or the answer is there. */
export async function ask(attempt: Attempt, failure: PastFailure): Promise<boolean> {
  const taken = await attempt.lease.write({
    kind: 'suspend',
    leaseId: attempt.claim.leaseId,
    stay: false,
    waits: [escalationWait(failure)],
  })
  return taken?.suspended ?? false
}
