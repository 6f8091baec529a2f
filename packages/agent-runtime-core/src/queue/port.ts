import type { Lane } from '../task/lane.ts'

/** Writes about the queue. */
export interface QueueWrites {
  /** No task of these types and lanes is started from the commit on, or tasks are started again; the outcome is how many were not so before. */
  pauseQueue: {
    fields: { readonly types: readonly string[]; readonly lanes: readonly Lane[]; readonly paused: boolean }
    outcome: number
  }
  /** Gives a worker of this process one certain queued task, whatever stands before it. Source: `docs/semantics.md 4.12`. */
  claimTask: {
    fields: { readonly taskId: string; readonly workerId: string }
    outcome:
      | { readonly as: 'claimed'; readonly leaseId: string; readonly attempt: number }
      | { readonly as: 'refused'; readonly why: ClaimRefusal }
  }
}

/** Why a task that was asked for by its id was not given. */
export type ClaimRefusal =
  /** No such task. */
  | 'unknown'
  /** It runs, waits or is over. */
  | 'not_queued'
  | 'not_due'
  | 'paused'
  /** A quota has no room for it, or a budget above it asks. */
  | 'no_quota'
  | 'no_budget'
  /** The credits of its client do not cover its estimate. */
  | 'no_credits'
  /** The worker is full, drains or is not registered. */
  | 'no_room'
  /** A task of the runtime's own, such as a graph. */
  | 'reserved'

/** A task type or a lane of which no task is started until somebody resumes it. `since`: epoch ms. Source: `docs/semantics.md 3.10`. */
export type QueuePause =
  | { readonly type: string; readonly since: number }
  | { readonly lane: Lane; readonly since: number }
