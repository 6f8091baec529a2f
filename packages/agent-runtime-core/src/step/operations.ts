import { recordStep, startStep, failStep, checkpoint, appendOutput, progress } from './record.ts'
import { appendOutputNeeds, failStepNeeds, recordStepNeeds } from './needs.ts'
import { leaseNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { StepWrites } from './port.ts'

export const stepOperations: Operations<StepWrites> = {
  recordStep: { rank: 1, needs: recordStepNeeds, fold: recordStep },
  startStep: { rank: 1, needs: leaseNeeds, fold: startStep },
  failStep: { rank: 1, needs: failStepNeeds, fold: failStep },
  checkpoint: { rank: 1, needs: leaseNeeds, fold: checkpoint },
  appendOutput: { rank: 1, needs: appendOutputNeeds, fold: appendOutput },
  progress: { rank: 1, needs: leaseNeeds, fold: progress },
}
