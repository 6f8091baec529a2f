import { describeError } from '@ku0/agent-runtime-core'
import type { Host } from '../host.ts'
import { ignore } from './answer.ts'
import type { Scope } from './scope.ts'

/**
 * A handler's write without an answer. It is refused if the handler may no longer act, also if this write
 * discovers that. A handler need not await it: its rejection never counts as unhandled, and is logged.
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

/** In a suspended pass no promise settles. */
function stopped(attempt: Host, reason: Error): Promise<never> {
  return attempt.isSuspended ? new Promise(ignore) : Promise.reject(reason)
}
