import type { TaskState } from '@ku0/agent-runtime-core'
import { type Caller, sees } from '../access/caller.ts'
import { fieldsRefused } from '../problem/problem.ts'
import { pageOfTasks, type TaskWish } from '../routes/list-tasks.ts'
import type { Serving } from '../serving.ts'

/** All tasks that are wished for and that the caller sees, as they are now, newest first. */
export async function selectTasks(
  serving: Serving,
  caller: Caller,
  wish: TaskWish,
): Promise<readonly string[]> {
  const { maxBulkTasks } = serving.limits
  const selected: string[] = []
  let cursor: number | undefined
  do {
    const page = await pageOfTasks(serving, caller, { ...wish, values: false }, 1_000, cursor)
    for (const { taskId } of page.tasks) selected.push(taskId)
    if (selected.length > maxBulkTasks)
      throw fieldsRefused([
        {
          field: 'body.filter',
          allowed: `a filter that selects at most ${maxBulkTasks} tasks (maxBulkTasks)`,
        },
      ])
    cursor = page.cursor === undefined ? undefined : Number(page.cursor)
  } while (cursor !== undefined)
  return selected
}

/** The named tasks, unless the caller does not see them or they are in another state. */
export async function selectNamed(
  { runtime }: Serving,
  caller: Caller,
  taskIds: readonly string[],
  states: readonly TaskState[],
): Promise<readonly string[]> {
  const named = [...new Set(taskIds)]
  const selected: string[] = []
  for (let first = 0; first < named.length; first += READS) {
    const slice = named.slice(first, first + READS)
    const tasks = await Promise.all(slice.map((taskId) => runtime.status(taskId)))
    for (const task of tasks)
      if (task !== undefined && sees(caller, task) && states.includes(task.state)) selected.push(task.taskId)
  }
  return selected
}

/** Reads at once. */
const READS = 100
