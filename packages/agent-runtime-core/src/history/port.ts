import type { Rejection } from '../approval/approval.ts'
import type { UsageSum } from '../budget/usage.ts'
import type { ChildRecord } from '../child/schema.ts'
import type { RejectionReason, StoredEvent } from '../event/event.ts'
import type { Divergence } from './divergence-schema.ts'
import type { HistoryFault } from './history-fault.ts'
import type { Fenced } from '../lease/lease.ts'
import type { PastFailures } from '../recovery/past-failure.ts'
import type { StepRecord } from '../step/schema.ts'
import type { Receipt, Submission } from '../submit/submission.ts'
import type { TaskState } from '../task/states.ts'
import type { WaitKind } from '../wait/wait.ts'
import type { OpenWait, WaitRecord } from '../wait/schema.ts'

/** Writes about histories. */
export interface HistoryWrites {
  /**
   * Parks a task whose code and history differ: its lease ends, and it waits until it is resumed. Its open waits and unread signals are
   * kept, and none of them brings it back. Source: `docs/semantics.md 6.4`.
   */
  diverge: {
    fields: { readonly leaseId: string; readonly divergence: Divergence; readonly charged?: UsageSum }
    outcome: Fenced
  }
  /** Puts a parked task back into the queue, past its limits, with the same attempt. Source: `docs/semantics.md 6.4`. */
  resume: {
    fields: { readonly taskId: string }
    outcome: { readonly resumed: boolean; readonly state?: TaskState }
  }
  /**
   * Submits a task again as a new one that keeps the memos before `fromStep` (all without one), some with other results
   * (`edits`, by step key, in the codec's form). `onlyOver`: of a failed, canceled or parked task alone. Source: `docs/semantics.md
   * 1.2, 6.3`.
   */
  fork: {
    fields: {
      readonly taskId: string
      readonly fromStep?: string
      readonly edits: Readonly<Record<string, string>>
      readonly onlyOver: boolean
      /** The options that differ from the submission. */
      readonly change: Partial<
        Pick<Submission, 'taskId' | 'input' | 'lane' | 'labels' | 'trace' | 'idempotencyKey' | 'budget'>
      >
    }
    outcome:
      | { readonly as: 'submitted'; readonly receipt: Receipt }
      | { readonly as: 'unknown_task' }
      | { readonly as: 'not_over'; readonly state: TaskState }
      /** Its caller ran it, and nobody else can. */
      | { readonly as: 'held' }
      /** It opened a pipeline, whose log is its own. */
      | { readonly as: 'pipeline' }
      /** `inDoubt`: it was started, and nobody knows how it ended. */
      | { readonly as: 'unknown_step'; readonly key: string; readonly inDoubt?: true }
      /** The decision of a race or an all answers for the step of this key. */
      | { readonly as: 'inside_decision'; readonly key: string; readonly decision: string }
      /** The key is that of a race or an all, and its edit is not what one is decided as; `names`: of the branches of an all, where they are known. */
      | {
          readonly as: 'no_decision'
          readonly key: string
          readonly branches: 'race' | 'all'
          readonly names: readonly string[]
        }
      /** The history is not the one that was written. */
      | { readonly as: 'edited'; readonly fault: HistoryFault }
      /**
       * An edit of something that is not a step of the new task; `recorded` is the kind of record with the
       * key, if there is one.
       */
      | {
          readonly as: 'not_editable'
          readonly key: string
          readonly recorded?: 'step' | WaitKind
          readonly inDoubt?: true
        }
  }
  /**
   * Submits those of the tasks again that have failed or were canceled, and are in one of `states` if that is said, as `fork` with `onlyOver` does, all in one
   * commit and in their order. A task is retried once: its retry has the idempotency key `retry of <id>`, unless `again` is true. The first one for which
   * there is no room ends it. Source: `docs/semantics.md 6.3`.
   */
  retryMany: {
    fields: {
      readonly taskIds: readonly string[]
      readonly states?: readonly TaskState[]
      readonly again?: boolean
    }
    outcome: RetriedSlice
  }
}

/** The effect of a retry of several tasks; each of them counts once. */
export interface RetriedSlice {
  /** Submitted again. */
  readonly retried: number
  /** Retried before, and left alone. */
  readonly before: number
  /** The new task was refused, for another reason than want of room. */
  readonly rejected: number
  /** Not to be retried: in another state, unknown, a pipeline, run by its caller, or with a history that was edited. */
  readonly skipped: number
  /** Why there was no room for the next one. The rest was not looked at. */
  readonly full?: { readonly reason: RejectionReason; readonly message: string }
}

/** Reads about histories. */
export interface HistoryReads {
  /** Events of one task with `seq > after`, in order. */
  events: {
    fields: { readonly taskId: string; readonly after: number; readonly limit: number }
    answer: readonly StoredEvent[] | undefined
  }
  /** Checks a task's events against their chain: what is wrong first, or undefined. Source: `docs/semantics.md 6.2`. */
  integrity: { fields: { readonly taskId: string }; answer: HistoryFault | undefined }
  /**
   * All that earlier passes recorded, and how they failed, for a pass to go through the handler with. Rejects with the error of `historyEdited` when the
   * history is not the one that was written.
   */
  memos: {
    fields: { readonly taskId: string }
    answer: {
      readonly steps: readonly StepRecord[]
      readonly waits: readonly WaitRecord[]
      /** Waits that began and have not ended. */
      readonly open: readonly OpenWait[]
      /** Steps that were started and of which nobody knows how they ended, by key: how often they were started. */
      readonly inDoubt: readonly {
        readonly key: string
        readonly starts: number
        /** When the last start was, epoch ms. */
        readonly startedAt: number
        readonly seq: number
      }[]
      /** The idempotency keys of steps that were started in the task that this one is a fork of. */
      readonly effectKeys: readonly { readonly key: string; readonly effectKey: string }[]
      /** The rejections that sent the task back, in order. */
      readonly rejections: readonly Rejection[]
      /** Steps and races that failed finally in a pass that went on all the same; errors in the codec's form. */
      readonly failures: readonly { readonly key: string; readonly seq: number; readonly error: string }[]
      /** The seq of the last event that says that a step failed finally; absent when none did. */
      readonly lastFailure?: number
      readonly children: readonly ChildRecord[]
    } & PastFailures
  }
}
