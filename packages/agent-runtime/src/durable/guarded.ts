import { describeError } from '@ku0/agent-runtime-core'
import { Waiting } from '../execution/cancellation.ts'
import type { Scope } from './scope.ts'

/**
 * A write of a handler that answers nothing: refused when the handler may no longer act, and `lease_lost` when the store says
 * so. A handler may leave the promise alone: its rejection never counts as unhandled, and is logged.
 */
export function guarded(scope: Scope, write: () => Promise<'ok' | 'stale'>): Promise<void> {
  const written = attempted(scope, write)
  written.catch((error: unknown) => {
    if (scope.attempt.stopped === undefined)
      scope.attempt.log('warn', 'a write was refused', { error: describeError(error) })
  })
  return written
}

/** For promises whose rejection is the runtime's own doing: the handler hears of it in what it awaits, if it does. */
export function ignore(): void {}

/** A promise that is rejected with `reason`, and never counts as unhandled. */
export function refused(reason: unknown): Promise<never> {
  if (reason instanceof Waiting) return new Promise(ignore)
  const promise = Promise.reject(reason)
  promise.catch(ignore)
  return promise
}

async function attempted(scope: Scope, write: () => Promise<'ok' | 'stale'>): Promise<void> {
  const { attempt, closedBy } = scope
  if (closedBy !== undefined) return refused(closedBy)
  if ((await write()) === 'stale') attempt.lose()
  if (attempt.stopped !== undefined) return refused(attempt.stopped.error)
}
