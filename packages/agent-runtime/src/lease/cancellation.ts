import { LeaseLost, RuntimeError, TaskCanceled } from '@ku0/agent-runtime-core'
import type { CleanupReason } from '../api/task-context.ts'
import { TimeoutError } from '../api/errors.ts'

/**
 * Why a handler has to stop before it has returned. `error` is the reason of its signal, and what its calls
 * throw.
 */
export interface Stop {
  readonly kind: Exclude<CleanupReason, 'failed'>
  readonly error: Error
}

export function canceled(taskId: string, reason?: string): Stop {
  return { kind: 'canceled', error: new TaskCanceled(taskId, reason) }
}

/** The lease expired or was taken over, or the store has failed (`cause`). */
export function lost(leaseId: string, taskId: string, cause?: unknown): Stop {
  return {
    kind: 'lost',
    error: new LeaseLost(leaseId, { taskId, ...(cause === undefined ? {} : { cause }) }),
  }
}

export function timedOut(taskId: string, timeoutMs: number): Stop {
  return { kind: 'timeout', error: new TimeoutError(`task ${taskId}`, timeoutMs) }
}

/** The lease ran past its deadline, or above a hard limit. Source: `docs/semantics.md 10.5`. */
export function exceeded(message: string): Stop {
  return { kind: 'budget_exceeded', error: new RuntimeError('budget_exceeded', message) }
}

export function overBudget(taskId: string, reason: string): Stop {
  const message = `task ${taskId} was ended: ${reason}`
  return {
    kind: 'budget_exceeded',
    error: new RuntimeError('budget_exceeded', message, { details: { taskId } }),
  }
}

export function shutDown(): Stop {
  return {
    kind: 'shutdown',
    error: new RuntimeError('shutdown', 'the runtime is stopping; the task goes back to the queue'),
  }
}

export function yielded(): Stop {
  return { kind: 'yielded', error: new Suspended() }
}

/**
 * The store has ended the lease: the task goes on when one of its waits has ended. Source: `docs/semantics.md
 * 12.3, 12.4`.
 */
export function waiting(): Stop {
  return { kind: 'waiting', error: new Suspended() }
}

/**
 * Ends a pass at a step boundary, or at its waits, so that the task releases its slot. Only signals report
 * it: promises that the handler awaits never settle, and neither do its later calls.
 */
class Suspended extends Error {
  static {
    this.prototype.name = 'Suspended'
  }

  constructor() {
    super('this pass ends here; the task continues in a later one')
  }
}
