import type { Lane } from '../task/lane.ts'
import { noNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import { claimTask, claimTaskNeeds, type ClaimRefusal } from './claim-task.ts'
import { pauseQueue } from './pause.ts'

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

export const queueOperations: Operations<QueueWrites> = {
  claimTask: { rank: 4, needs: claimTaskNeeds, fold: claimTask },
  pauseQueue: { rank: 2, needs: noNeeds, fold: pauseQueue },
}
