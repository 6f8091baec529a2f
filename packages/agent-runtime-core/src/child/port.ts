import type { BudgetField } from '../budget/budget.ts'
import type { ChildPolicy } from './child.ts'
import type { ChildRecord } from './schema.ts'
import type { Receipt, Submission } from '../submit/submission.ts'
import type { Sibling } from '../supervision/supervision.ts'

/** Writes about children. */
export interface ChildWrites {
  /**
   * Submits a task as a child of the holder's. A key that has a child answers with it, and nothing is written; a submission
   * that is refused is a record like any other, and the key stays free. Source: `docs/semantics.md 5.5`.
   */
  spawn: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly policy: ChildPolicy
      readonly submission: Omit<Submission, 'idempotencyKey' | 'forkOf' | 'asRetry' | 'parentId'>
      /** The task that the holder's is a retry of: a child that failed there under the key is retried here, one of a supervisor that completed is kept. Source: `docs/semantics.md 6.3`. */
      readonly retryOf?: string
      /** If the queue is full, wait for room. A refusal for lack of room is not recorded. */
      readonly inLine?: boolean
      /** Children of a supervisor that have to be as far before this one starts. Source: `docs/semantics.md 14.2`. */
      readonly after?: readonly Sibling[]
      /** The open wait for room that ends with this. */
      readonly drops?: string
    }
    outcome:
      | { readonly fenced: 'ok'; readonly as: 'spawned'; readonly child: ChildRecord }
      | { readonly fenced: 'ok'; readonly as: 'refused'; readonly receipt: Receipt & { accepted: false } }
      /** Nothing was written. */
      | { readonly fenced: 'ok'; readonly as: 'no_room' }
      /** One of `after` is not as far. Nothing was written. */
      | { readonly fenced: 'ok'; readonly as: 'not_yet' }
      /** It has `maxChildren` that have not ended. */
      | { readonly fenced: 'ok'; readonly as: 'full' }
      /** Its budget is larger than what is left of one above it, that of `taskId`; nothing is stored. */
      | {
          readonly fenced: 'ok'
          readonly as: 'over_budget'
          readonly field: BudgetField
          readonly left: number
          readonly taskId: string
        }
      | { readonly fenced: 'stale' }
  }
}
