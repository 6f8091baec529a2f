import { describeError } from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'

/**
 * A write of a handler that answers nothing: refused when the handler may no longer act, and `lease_lost` when the store says
 * so. A handler may leave the promise alone: its rejection never counts as unhandled, and is logged.
 */
export function guarded(attempt: Attempt, write: () => Promise<'ok' | 'stale'>): Promise<void> {
  const written = attempted(attempt, write)
  written.catch((error: unknown) => {
    if (attempt.stopped === undefined)
      attempt.log('warn', 'a write was refused', { error: describeError(error) })
  })
  return written
}

/** For promises whose rejection is the runtime's own doing: the handler hears of it in what it awaits, if it does. */
export function ignore(): void {}

/** A promise that is rejected with `reason`, and never counts as unhandled. */
export function refused(reason: unknown): Promise<never> {
  const promise = Promise.reject(reason)
  promise.catch(ignore)
  return promise
}

async function attempted(attempt: Attempt, write: () => Promise<'ok' | 'stale'>): Promise<void> {
  attempt.assertOpen()
  if ((await write()) === 'stale') attempt.lose()
  if (attempt.stopped !== undefined) throw attempt.stopped.error
}
