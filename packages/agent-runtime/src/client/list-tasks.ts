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
  return { ...page, tasks: page.tasks.map((task) => toStatus(task, values)) }
}

/** How many tasks a filter selects, counted page by page. */
export async function countTasks(
  read: (filter: TaskFilter) => Promise<Reads['taskIds']['answer']>,
  filter: TaskFilter,
): Promise<number> {
  let count = 0
  let page = await read({ ...filter, limit: COUNTED_AT_ONCE })
  count += page.taskIds.length
  while (page.cursor !== undefined) {
    page = await read({ ...filter, limit: COUNTED_AT_ONCE, cursor: page.cursor })
    count += page.taskIds.length
  }
  return count
}

const COUNTED_AT_ONCE = 1_000
