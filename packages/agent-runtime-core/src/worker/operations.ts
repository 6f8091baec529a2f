import { askDrain, registerWorkers, drainWorkers, removeWorkers } from './registry.ts'
import { noNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { WorkerWrites } from './port.ts'

export const workerOperations: Operations<WorkerWrites> = {
  registerWorkers: { rank: 2, needs: noNeeds, fold: registerWorkers },
  drainWorkers: { rank: 2, needs: noNeeds, fold: drainWorkers },
  askDrain: {
    rank: 2,
    needs: (needs, { workerId }) => needs.workersNamed(workerId),
    fold: askDrain,
  },
  removeWorkers: { rank: 2, needs: noNeeds, fold: removeWorkers },
}
