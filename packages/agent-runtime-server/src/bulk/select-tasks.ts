import type { Caller } from '../access/caller.ts'
import { fieldsRefused } from '../problem/problem.ts'
import { pageOfTasks, type TaskWish } from '../routes/list-tasks.ts'
import type { Serving } from '../serving.ts'
import type { Selected } from './bulk-actions.ts'

/** All tasks that are wished for and that the caller sees, as they are now. */
export async function selectTasks(
  serving: Serving,
  caller: Caller,
  wish: TaskWish,
): Promise<readonly Selected[]> {
  const { maxBulkTasks } = serving.limits
  const selected: Selected[] = []
  let cursor: number | undefined
  do {
    const page = await pageOfTasks(serving, caller, wish, 1_000, cursor)
    for (const { taskId, sequence } of page.tasks) selected.push({ taskId, sequence })
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
