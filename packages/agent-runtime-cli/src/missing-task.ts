import { RuntimeError } from '@ku0/agent-runtime-core'

/** The error for an id that no task has. */
export function noTask(taskId: string): RuntimeError {
  return new RuntimeError('not_found', `no task has the id ${taskId}`, { details: { taskId } })
}
