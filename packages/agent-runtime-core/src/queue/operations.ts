import type { Lane } from '../task/lane.ts'
import { noNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import { pauseQueue } from './pause.ts'

/** Writes about the queue. */
export interface QueueWrites {
  /** No task of these types and lanes is started from the commit on, or tasks are started again; the outcome is how many were not so before. */
  pauseQueue: {
    fields: { readonly types: readonly string[]; readonly lanes: readonly Lane[]; readonly paused: boolean }
    outcome: number
  }
}

export const queueOperations: Operations<QueueWrites> = {
  pauseQueue: { rank: 2, needs: noNeeds, fold: pauseQueue },
}
