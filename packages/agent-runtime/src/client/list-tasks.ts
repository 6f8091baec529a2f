import type { Reads, TaskFilter, ValueCodec } from '@ku0/agent-runtime-core'
import type { TaskStatus } from '../api/status.ts'
import { toStatus } from './task-status.ts'

/**
 * A page of tasks. The store scans a bounded number of rows per read, so a filter that matches few tasks
 * takes several reads.
 */
export async function listTasks(
  read: (filter: TaskFilter) => Promise<Reads['tasks']['answer']>,
  filter: TaskFilter,
  values: ValueCodec,
): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }> {
  let page = await read(filter)
  while (page.tasks.length === 0 && page.cursor !== undefined)
    page = await read({ ...filter, cursor: page.cursor })
  const statuses = page.tasks.map((task) => toStatus(task, values))
  return { ...page, tasks: filter.values === false ? statuses.map(withoutOutput) : statuses }
}

function withoutOutput(task: TaskStatus): TaskStatus {
  return task.state === 'completed' ? { ...task, output: undefined } : task
}

/**
 * Number of tasks that a filter selects, counted slice by slice, and the place where that began: a read of the filter with it as the cursor
 * leaves out tasks that were submitted since.
 */
export async function countTasks(
  read: (filter: TaskFilter) => Promise<Reads['taskCount']['answer']>,
  filter: TaskFilter,
): Promise<{ readonly count: number; readonly start: number }> {
  let { count, start, cursor } = await read(filter)
  while (cursor !== undefined) {
    const slice = await read({ ...filter, cursor })
    count += slice.count
    ;({ cursor } = slice)
  }
  return { count, start }
}
