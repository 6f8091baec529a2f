import { conclude } from '../wait/conclude.ts'
import { isWaiting } from '../wait/wait.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { isStageWaitOver } from './standing.ts'

/** Stages that wait go on, where what they wait for has come by what changed in their pipelines since the last look. Source: `docs/semantics.md 13.2`. */
export function settlePipelines(ws: WorkingSet): void {
  for (let row = ws.nextPipeline(); row !== undefined; row = ws.nextPipeline())
    for (const { task } of row.log.parts) if (task !== undefined) wakeStage(ws, task)
}

/** One that is parked looks for itself, when it comes to wait again. */
function wakeStage(ws: WorkingSet, id: number): void {
  const task = ws.task(id)
  if (task === undefined || !isWaiting(task)) return
  const over = ws.waitsOf(task).find((wait) => isStageWaitOver(ws, task, wait))
  if (over !== undefined) conclude(ws, task, { wait: over, outcome: 'fired', at: ws.now.at })
}
