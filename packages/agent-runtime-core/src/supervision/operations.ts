import type { Operations } from '../transition/operation.ts'
import { restartChildNeeds, startChildNeeds } from './needs.ts'
import { restartChild, startChild } from './start-child.ts'
import type { SupervisionWrites } from './port.ts'

export const supervisionOperations: Operations<SupervisionWrites> = {
  startChild: { rank: 3, needs: startChildNeeds, fold: startChild },
  restartChild: { rank: 3, needs: restartChildNeeds, fold: restartChild },
}
