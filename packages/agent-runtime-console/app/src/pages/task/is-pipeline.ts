import type { TaskDetails } from '@ku0/agent-runtime-client'

/** Whether a task has opened a pipeline: it has the memo of one. */
export function isPipeline({ steps }: Pick<TaskDetails, 'steps'>): boolean {
  return steps.some(({ key }) => key === '$ku0/pipeline')
}
