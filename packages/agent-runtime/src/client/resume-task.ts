import { type ExecutionStore, RuntimeError } from '@ku0/agent-runtime-core'
import { noTask } from './result.ts'

/** Puts a parked task back into the queue. Source: `docs/semantics.md 6.4`. */
export async function resumeTask(store: ExecutionStore, taskId: string): Promise<void> {
  const { resumed, state } = await store.write({ kind: 'resume', taskId })
  if (resumed) return
  if (state === undefined) throw noTask(taskId)
  throw new RuntimeError(
    'invalid_argument',
    `resume: task ${taskId} is ${state}${state === 'waiting' ? ' for something that has not happened yet' : ''}; ` +
      'only a task that is parked because its handler took a different path than its recorded history can be resumed',
    { details: { taskId, state } },
  )
}
