import type { result } from './records.ts'

/** A task, by its receipt or its id. `Output` is the type of its result. */
export type TaskLike<Output = unknown> = string | { readonly taskId: string; readonly [result]?: Output }

/** The id of a task that is named by its id, its receipt, or what else has one. */
export function taskIdOf(task: TaskLike): string {
  return typeof task === 'string' ? task : task.taskId
}
