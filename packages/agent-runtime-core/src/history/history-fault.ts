import type { Divergence } from './divergence-schema.ts'
import { StoreError } from '../error/errors.ts'

/** The first place at which a stored history is not what was written. Source: `docs/semantics.md 6.2`. */
export interface HistoryFault {
  /** The event that is wrong or missing, from 1. */
  readonly seq: number
  /** The content that the chain requires there: the start of a hash, an event, or no event. */
  readonly expected: string
  /** The content that was found, in the same terms. */
  readonly actual: string
}

/** The error of a history that is not to be believed: `store_corrupt`, with the task and the fault in its details. `then`: what to do once it is mended. */
export function historyEdited(
  taskId: string,
  fault: HistoryFault,
  then = 'resume the task; or cancel it',
): StoreError {
  return new StoreError(
    'store_corrupt',
    `the stored history of task ${taskId} was changed: ${describeFault(fault)}. Restore its rows of the table event from a backup, then ${then}`,
    { details: { taskId, ...fault } },
  )
}

/** The divergence that parks a task whose history cannot be trusted. Source: `docs/semantics.md 6.4`. */
export function divergenceOfFault({ seq, expected, actual }: HistoryFault): Divergence {
  return {
    kind: 'history_edited',
    key: '',
    position: 0,
    expected: `event ${seq}: ${expected}`,
    actual: `event ${seq}: ${actual}`,
  }
}

function describeFault({ seq, expected, actual }: HistoryFault): string {
  return `event ${seq} should be ${expected} and is ${actual}`
}
