import type { TaskRow } from '../task/row.ts'
import type { WaitRow } from '../wait/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { isWaitOver, partOf, type PipelineLog, stageBegun, stageEnded } from './log.ts'
import { stageIn, type StagePart, stageWaitIn } from './pipeline.ts'
import type { PipelineRow } from './row.ts'

/** Whether a wait of a task is one of a stage, and is over. */
export function isStageWaitOver(
  ws: WorkingSet,
  task: Pick<TaskRow, 'id' | 'parent'>,
  { key }: Pick<WaitRow, 'key'>,
): boolean {
  const wait = stageWaitIn(key)
  const stage = stageOf(ws, task)
  return wait !== undefined && stage !== undefined && isWaitOver(stage.row, stage.at, wait)
}

/** The pipeline that a task is a stage of, and its place there. */
export function stageOf(ws: WorkingSet, { id, parent }: Pick<TaskRow, 'id' | 'parent'>) {
  const row = parent === null ? undefined : ws.pipelines.get(parent)
  const part = row && partOf(row, id)
  return part && { row, ...part }
}

/** A child was spawned: under the key of a stage it is a task of the stage. */
export function beginStage(ws: WorkingSet, parent: number, key: string, task: number): void {
  ofStage(ws, parent, key, (row, stage) => stageBegun(row, stage, task))
}

/** A child has completed: as a task of a stage it publishes nothing more. One that failed fails its pipeline, and nobody takes what it published for all. */
export function endStage(ws: WorkingSet, parent: number, key: string): void {
  ofStage(ws, parent, key, stageEnded)
}

function ofStage(
  ws: WorkingSet,
  parent: number,
  key: string,
  logAfter: (row: PipelineRow, stage: StagePart) => PipelineLog,
): void {
  const stage = stageIn(key)
  const row = ws.pipelines.get(parent)
  if (stage !== undefined && row !== undefined) ws.putPipeline({ ...row, log: logAfter(row, stage) })
}
