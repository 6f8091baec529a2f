import { abortSettled } from './abort-settled.ts'
import { startLease } from './start-lease.ts'
import { startLeaseNeeds } from './needs.ts'
import { leaseNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { LeaseWrites } from './port.ts'

export const leaseOperations: Operations<LeaseWrites> = {
  abortSettled: { rank: 3, needs: leaseNeeds, fold: abortSettled },
  startLease: { rank: 4, needs: startLeaseNeeds, fold: startLease },
}
