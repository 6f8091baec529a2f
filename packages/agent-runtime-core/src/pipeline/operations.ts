import type { Operations } from '../transition/operation.ts'
import { openPipelineNeeds, stageNeeds } from './needs.ts'
import { openPipeline, publish, receive } from './transitions.ts'
import type { PipelineWrites } from './port.ts'

export const pipelineOperations: Operations<PipelineWrites> = {
  openPipeline: { rank: 1, needs: openPipelineNeeds, fold: openPipeline },
  publish: { rank: 1, needs: stageNeeds, fold: publish },
  receive: { rank: 1, needs: stageNeeds, fold: receive },
}
