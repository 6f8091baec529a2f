import { runsType } from '../queue/placement.ts'
import type { WorkerState } from '../worker/worker.ts'

/** A pipeline that has more tasks than its workers can run at once. */
export interface SlotShortage {
  /** Its tasks that have not ended: one for each stage, and one for each partition of a stage that has some. */
  readonly tasks: number
  /** How many of them the workers can run at once. */
  readonly slots: number
}

/** The part of a worker that decides how many tasks of a pipeline it can run. */
export interface StageWorker {
  readonly types: readonly string[]
  readonly capacity: number
  readonly state: WorkerState
}

/**
 * Says whether the tasks of a pipeline have to share slots. Undefined if each can have its own, or if nobody runs any of them, which is another
 * matter. `types`: the task type of each task. Source: `docs/semantics.md 13.2`.
 */
export function slotShortage(
  types: readonly string[],
  workers: readonly StageWorker[],
): SlotShortage | undefined {
  const able = workers.filter(
    ({ state, types: own }) =>
      state !== 'draining' && state !== 'silent' && types.some((type) => runsType(own, type)),
  )
  const slots = able.reduce((sum, { capacity }) => sum + capacity, 0)
  return slots === 0 || slots >= types.length ? undefined : { tasks: types.length, slots }
}

/** Words for it, and the setting that ends it. */
export function slotShortageText({ tasks, slots }: SlotShortage): string {
  const its = slots === 1 ? '1 slot' : `${slots} slots`
  return `its ${tasks} tasks share ${its}, so they take turns, which is slow; raise workers.capacity to ${tasks} or start more workers`
}
