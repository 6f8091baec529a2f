import { report, scar } from './report.ts'
import { reportNeeds } from './needs.ts'
import { leaseNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { ProfileWrites } from './port.ts'

export const profileOperations: Operations<ProfileWrites> = {
  report: { rank: 1, needs: reportNeeds, fold: report },
  scar: { rank: 3, needs: leaseNeeds, fold: scar },
}
