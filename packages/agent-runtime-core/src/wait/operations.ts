import { suspend } from './suspend.ts'
import { signal } from './signal.ts'
import { suspendNeeds } from './needs.ts'
import { taskNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { WaitWrites } from './port.ts'

export const waitOperations: Operations<WaitWrites> = {
  suspend: { rank: 1, needs: suspendNeeds, fold: suspend },
  signal: { rank: 3, needs: taskNeeds, fold: signal },
}
