import {
  cancelTask,
  explainTask,
  forkTask,
  replayTask,
  resumeTask,
  retryTask,
  signalTask,
} from './act-on-task.ts'
import type { Endpoint } from './endpoint.ts'
import { listTasks } from './list-tasks.ts'
import { showResult, showTask } from './show-task.ts'
import { submitTask, submitTasks } from './submit-tasks.ts'
import { taskEvents, taskOutput } from './task-events.ts'

/** Every route of the API. */
export const endpoints: readonly Endpoint[] = [
  listTasks,
  submitTask,
  submitTasks,
  showTask,
  showResult,
  cancelTask,
  retryTask,
  forkTask,
  signalTask,
  resumeTask,
  explainTask,
  replayTask,
  taskEvents,
  taskOutput,
]
