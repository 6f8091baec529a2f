import { diverge, resume } from './diverge.ts'
import { fork } from './fork.ts'
import { retryMany } from './retry-many.ts'
import { forkNeeds, retryManyNeeds } from './needs.ts'
import { leaseNeeds, taskNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { HistoryWrites } from './port.ts'

export const historyOperations: Operations<HistoryWrites> = {
  diverge: { rank: 1, needs: leaseNeeds, fold: diverge },
  resume: { rank: 3, needs: taskNeeds, fold: resume },
  fork: { rank: 3, needs: forkNeeds, fold: fork },
  retryMany: { rank: 3, needs: retryManyNeeds, fold: retryMany },
}
