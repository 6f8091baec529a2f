import { resolveApproval } from './resolve.ts'
import { taskNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { ApprovalWrites } from './port.ts'

export const approvalOperations: Operations<ApprovalWrites> = {
  resolveApproval: { rank: 3, needs: taskNeeds, fold: resolveApproval },
}
