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
 * What a task was submitted with (blobs put back), the memos that it has, in order, and the waits that its failure tells the end of; or why
 * none of it is to be believed.
 */
export type History =
  | {
      readonly submission: string
      readonly memos: readonly MemoRow[]
      /** Of which nobody knows how they ended. */
      readonly doubts: readonly StartedStep[]
      /** By key. */
      readonly failedOf: readonly string[]
      /** The seq of the last event that says that a step failed; 0 when none does. */
      readonly lastFailure: number
    }
  | { readonly fault: HistoryFault }
