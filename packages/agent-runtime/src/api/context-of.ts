import type { TaskContext } from './task-context.ts'
import type { TaskType } from './task-type.ts'

/** The handler's context of a task type, for functions that it calls: `ContextOf<typeof contract>`. */
export type ContextOf<Task> =
  Task extends TaskType<string, infer _, infer __, infer X> ? TaskContext<X> : never
