import { noNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import { claimTask, claimTaskNeeds } from './claim-task.ts'
import { pauseQueue } from './pause.ts'
import type { QueueWrites } from './port.ts'

export const queueOperations: Operations<QueueWrites> = {
  claimTask: { rank: 4, needs: claimTaskNeeds, fold: claimTask },
  pauseQueue: { rank: 2, needs: noNeeds, fold: pauseQueue },
}
