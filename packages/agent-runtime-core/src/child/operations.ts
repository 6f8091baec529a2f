import { spawn } from './spawn.ts'
import { spawnNeeds } from './needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { ChildWrites } from './port.ts'

export const childOperations: Operations<ChildWrites> = {
  spawn: { rank: 1, needs: spawnNeeds, fold: spawn },
}
