import type { UsageSum } from '../budget/usage.ts'
import type { Fenced, LeaseEndReason } from '../lease/lease.ts'
import type { BackOff } from '../quota/quota.ts'
import type { Lane } from './lane.ts'
import type { TaskRecord } from './schema.ts'
import type { Settlement } from './settlement.ts'
import type { TaskState } from './states.ts'

/**
 * Which tasks to list; newest first. `cursor` comes from the page before: as long as there is one there may be more, even after a
 * page that is short or empty, since a page is bounded in the rows it looks at and the bytes it holds.
 */
export interface TaskFilter {
  readonly states?: readonly TaskState[] | undefined
  readonly types?: readonly string[] | undefined
  readonly lanes?: readonly Lane[] | undefined
  /** The children of this task; null: the tasks that are no child. */
  readonly parent?: string | null | undefined
  /** Tasks of this client. */
  readonly client?: string | undefined
  /** Tasks with each of these labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Whether the tasks come with their inputs and outputs, which may be large. True by default. */
  readonly values?: boolean | undefined
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
  readonly cursor?: number | undefined
}

/** Writes about tasks. */
export interface TaskWrites {
  /** Ends a lease. The same settlement again gets the first answer. Source: `docs/semantics.md 4.4`. */
  settle: {
    fields: {
      readonly leaseId: string
      readonly settlement: Settlement
      /** The usage of the pass outside of steps, and in steps that have not ended. */
      readonly charged?: UsageSum
      readonly backOff?: BackOff
    }
    outcome: Fenced
  }
  /** Gives a running task back, same attempt. One that yields while a budget above it asks is parked. Source: `docs/semantics.md 3.6, 5.6, 11.5`. */
  release: {
    fields: {
      readonly leaseId: string
      readonly reason: Extract<LeaseEndReason, 'yielded' | 'drained'>
      /** Usage of step runs without a result. */
      readonly charged?: UsageSum
    }
    outcome: Fenced
  }
  /** Source: `docs/semantics.md 5`. `canceled` is false for a final or unknown task. */
  cancel: {
    fields: { readonly taskId: string; readonly reason?: string }
    outcome: { readonly canceled: boolean; readonly state?: TaskState }
  }
  /**
   * Cancels those of the tasks that are open, and in one of `states` if that is said, all in one commit. `canceled` counts them; what ends with
   * them does not count unless it is named, too. Source: `docs/semantics.md 5.8`.
   */
  cancelMany: {
    fields: {
      readonly taskIds: readonly string[]
      readonly states?: readonly TaskState[]
      readonly reason?: string
    }
    outcome: { readonly canceled: number }
  }
}

/** Reads about tasks. */
export interface TaskReads {
  task: { fields: { readonly taskId: string }; answer: TaskRecord | undefined }
  /** Where the filter asks for no values, tasks have no input, and `null` as their output. */
  tasks: {
    fields: { readonly filter: TaskFilter }
    answer: { readonly tasks: readonly TaskRecord[]; readonly cursor?: number }
  }
  /** The ids alone, in the same order. `cursor` of the filter that starts again at the same task: `start`. */
  taskIds: {
    fields: { readonly filter: TaskFilter }
    answer: { readonly taskIds: readonly string[]; readonly start: number; readonly cursor?: number }
  }
  /** Number of tasks of one slice, whatever the limit is. The slices that follow, by `cursor`, have the rest. `start` as of `taskIds`. */
  taskCount: {
    fields: { readonly filter: TaskFilter }
    answer: { readonly count: number; readonly start: number; readonly cursor?: number }
  }
}
