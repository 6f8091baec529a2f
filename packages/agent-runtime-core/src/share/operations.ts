import { putClient, removeClient } from './put-client.ts'
import { clientNeeds } from './needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { ShareWrites } from './port.ts'

export const shareOperations: Operations<ShareWrites> = {
  putClient: { rank: 3, needs: clientNeeds, fold: putClient },
  removeClient: { rank: 3, needs: clientNeeds, fold: removeClient },
}
