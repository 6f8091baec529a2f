import type { TaskRow } from '../task/row.ts'
import type { WaitRow } from '../wait/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { isWaitOver, partOf, stageBegun, stageEnded } from './log.ts'
import { stageIn, stageWaitIn } from './pipeline.ts'

/** Whether a wait of a task is one of a stage, and is over. */
export function isStageWaitOver(
  ws: WorkingSet,
  { id, parent }: Pick<TaskRow, 'id' | 'parent'>,
  { key }: Pick<WaitRow, 'key'>,
): boolean {
  const wait = stageWaitIn(key)
  if (wait === undefined || parent === null) return false
  const row = ws.pipelines.get(parent)
  const part = row === undefined ? undefined : partOf(row, id)
  return row !== undefined && part !== undefined && isWaitOver(row, part.at, wait)
}

/** A child was spawned: under the key of a stage it is a task of the stage. */
export function beginStage(ws: WorkingSet, parent: number, key: string, task: number): void {
  const stage = stageIn(key)
  const row = stage === undefined ? undefined : ws.pipelines.get(parent)
  if (row !== undefined && stage !== undefined) ws.putPipeline({ ...row, log: stageBegun(row, stage, task) })
}

/** A child has completed: as a task of a stage it publishes nothing more. One that failed fails its pipeline, and nobody takes what it published for all. */
export function endStage(ws: WorkingSet, parent: number, key: string): void {
  const stage = stageIn(key)
  const row = stage === undefined ? undefined : ws.pipelines.get(parent)
  if (row !== undefined && stage !== undefined) ws.putPipeline({ ...row, log: stageEnded(row, stage) })
}
