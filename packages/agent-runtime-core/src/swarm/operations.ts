import { putSwarm, closeSwarm } from './swarm.ts'
import { closeSwarmNeeds } from './needs.ts'
import { noNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { SwarmWrites } from './port.ts'

export const swarmOperations: Operations<SwarmWrites> = {
  putSwarm: { rank: 3, needs: noNeeds, fold: putSwarm },
  closeSwarm: { rank: 3, needs: closeSwarmNeeds, fold: closeSwarm },
}
