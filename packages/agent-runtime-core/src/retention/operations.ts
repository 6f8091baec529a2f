import type { Operations } from '../transition/operation.ts'
import { prune, pruneNeeds } from './prune.ts'
import type { RetentionWrites } from './port.ts'

export const retentionOperations: Operations<RetentionWrites> = {
  prune: { rank: 4, needs: pruneNeeds, fold: prune },
}
