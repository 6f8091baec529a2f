import type { EventType } from '../event/event.ts'
import type { HistoryFault } from './history-fault.ts'
import type { StartedStep } from '../step/doubt.ts'

/** An event that is a memo, as it stands. */
export interface MemoRow {
  readonly seq: number
  readonly type: EventType
  readonly data: string
  readonly blob: string | null
}

/**
 * The submission of a task (with blobs put back), its memos in order, and the waits whose end its failure
 * reports; or the reason why none of it can be trusted.
 */
export type History =
  | {
      readonly submission: string
      readonly memos: readonly MemoRow[]
      /** Steps whose end is unknown. */
      readonly doubts: readonly StartedStep[]
      /** By key. */
      readonly failedOf: readonly string[]
      /** The seq of the last event that says that a step failed; 0 when none does. */
      readonly lastFailure: number
    }
  | { readonly fault: HistoryFault }
