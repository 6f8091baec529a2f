import { describeError } from '@ku0/agent-runtime-core'
import type { Host } from '../host.ts'
import { ignore } from './answer.ts'
import type { Scope } from './scope.ts'

/**
 * A write of a handler that answers nothing: refused when the handler may no longer act, also when it is the write that finds that out.
 * A handler may leave the promise alone: its rejection never counts as unhandled, and is logged.
 */
export function guarded(scope: Scope, write: () => Promise<unknown>): Promise<void> {
  if (scope.attempt.replay !== undefined) return Promise.resolve()
  const written = attempted(scope, write)
  written.catch((error: unknown) => {
    if (scope.attempt.stopped === undefined)
      scope.attempt.log('warn', 'a write was refused', { error: describeError(error) })
  })
  return written
}

async function attempted(scope: Scope, write: () => Promise<unknown>): Promise<void> {
  const { attempt, closedBy } = scope
  if (closedBy !== undefined) return stopped(attempt, closedBy)
  await write()
  if (attempt.stopped !== undefined) return stopped(attempt, attempt.stopped.error)
}

/** In a pass that was suspended nothing settles. */
function stopped(attempt: Host, reason: Error): Promise<never> {
  return attempt.isSuspended ? new Promise(ignore) : Promise.reject(reason)
}
