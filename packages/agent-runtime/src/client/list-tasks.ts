import type { Reads, TaskFilter } from '@ku0/agent-runtime-core'
import type { TaskStatus } from '../api/status.ts'
import { toStatus } from './task-status.ts'

/**
 * A page of tasks. The store scans a bounded number of rows per read, so a filter that matches few tasks
 * takes several reads.
 */
export async function listTasks(
  read: (filter: TaskFilter) => Promise<Reads['tasks']['answer']>,
  filter: TaskFilter,
): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }> {
  let page = await read(filter)
  while (page.tasks.length === 0 && page.cursor !== undefined)
    page = await read({ ...filter, cursor: page.cursor })
  return { ...page, tasks: page.tasks.map(toStatus) }
}
