import { settle, release } from './settle.ts'
import { cancel, cancelMany } from './cancel.ts'
import { cancelManyNeeds, cancelNeeds, settleNeeds } from './needs.ts'
import { leaseNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { TaskWrites } from './port.ts'

export const taskOperations: Operations<TaskWrites> = {
  settle: { rank: 1, needs: settleNeeds, fold: settle },
  release: { rank: 1, needs: leaseNeeds, fold: release },
  cancel: { rank: 3, needs: cancelNeeds, fold: cancel },
  cancelMany: { rank: 3, needs: cancelManyNeeds, fold: cancelMany },
}
