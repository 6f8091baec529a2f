import type { AccountRow } from '../budget/row.ts'
import type { WaitReason } from '../wait/wait.ts'
import type { TaskState } from './states.ts'

/**
 * The rows a store keeps, as the transitions see them: integers inside, frozen by type; a change is a new row. Times are epoch
 * ms; those of a lease are by the lease clock (`docs/semantics.md 4.7`).
 */
export interface TaskRow {
  /** Also its sequence of submission. */
  readonly id: number
  /** Undefined for a rejected task, which never queued. */
  readonly stream: number | null
  readonly state: TaskState
  readonly attempt: number
  /** The last lease's fencing token, 0 before the first: the next is one more, unless a new incarnation begins higher. */
  readonly fence: number
  /** The live lease, when running. */
  readonly lease: number | null
  readonly crashes: number
  /** Memos recorded. */
  readonly steps: number
  /** Open waits, signals not taken yet, and children that have not ended: 0 for most. */
  readonly waits: number
  /** The last event's seq, and the integrity chain up to it. */
  readonly seq: number
  readonly tail: Uint8Array
  readonly submittedAt: number
  /** Queued: not to be claimed before; null once promoted. Waiting: when the first of its waits is due. */
  readonly dueAt: number | null
  /** Since when it could be claimed. */
  readonly queuedAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly waitReason: WaitReason | null
  readonly tokens: number
  /** An id of the submitter's own. */
  readonly explicitId: string | null
  /** The task that spawned it. */
  readonly parent: number | null
  /** Its cost account; null for a task without any. */
  readonly account: AccountRow | null
  /** The task, itself or one above it, whose budget it draws on first; null for most. */
  readonly budget: number | null
}
