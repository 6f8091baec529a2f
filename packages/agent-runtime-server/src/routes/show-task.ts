import { z } from '../wire/zod.ts'
import type { TaskStatus } from '@ku0/agent-runtime'
import { StoreError } from '@ku0/agent-runtime-core'
import { sees } from '../access/caller.ts'
import { noTask } from '../problem/problem.ts'
import { answer, type Serving } from '../serving.ts'
import { SeqPage, TaskPath, wholeText } from '../wire/parameters.ts'
import { OutcomeSchema, StepSchema, TaskDetailsSchema } from '../wire/records.ts'
import { Moment, Value } from '../wire/schema.ts'
import { endpoint } from './endpoint.ts'

export const showTask = endpoint({
  method: 'get',
  path: '/tasks/{taskId}',
  id: 'showTask',
  tag: 'tasks',
  summary: 'Show a task with its leases, steps and children',
  description:
    'It has the first steps, the last leases and the newest children, at most `maxTaskRows` of each. `task.steps` counts the steps that were recorded.',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  answers: { 200: { description: 'The task', schema: TaskDetailsSchema } },
  problems: [404],
  async run({ serving, caller, params: { taskId } }) {
    const { runtime } = serving
    const limit = serving.limits.maxTaskRows
    const [task, leases, { steps, cursor: stepsCursor }, children] = await Promise.all([
      runtime.status(taskId),
      runtime.leases(taskId, { limit: limit + 1 }),
      runtime.steps(taskId, { limit }),
      runtime.list({ parent: taskId, values: false, limit }),
    ])
    if (task === undefined) throw noTask(taskId)
    return answer(serving, {
      task,
      leases: leases.slice(-limit),
      hasOlderLeases: leases.length > limit,
      steps,
      stepsCursor,
      children: children.tasks.filter((child) => sees(caller, child)),
      childrenCursor: children.cursor?.toString(),
    })
  },
})

export const taskSteps = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/steps',
  id: 'taskSteps',
  tag: 'tasks',
  summary: 'The recorded steps of a task with their results',
  description: 'While a page has a `cursor` there may be more, even after a short one: pass it as `after`.',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  query: SeqPage,
  answers: {
    200: {
      description: 'A page of steps, in the order of their records',
      schema: z.object({ steps: z.array(StepSchema), cursor: z.int().optional() }),
    },
  },
  problems: [404],
  async run({ serving, params: { taskId }, query: { after, limit } }) {
    const page = await serving.runtime.steps(taskId, { after, limit })
    if (page.steps.length === 0 && (await serving.runtime.status(taskId)) === undefined) throw noTask(taskId)
    return answer(serving, page)
  },
})

export const showCheckpoint = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/checkpoint',
  id: 'showCheckpoint',
  tag: 'tasks',
  summary: 'The newest checkpoint of a task, with its data',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  answers: {
    200: {
      description: 'The checkpoint; empty without one',
      schema: z.object({
        checkpoint: z.object({ seq: z.int(), at: Moment, data: Value }).optional().openapi('Checkpoint'),
      }),
    },
  },
  problems: [404],
  async run({ serving, params: { taskId } }) {
    const checkpoint = await serving.runtime.checkpoint(taskId)
    if (checkpoint === undefined && (await serving.runtime.status(taskId)) === undefined) throw noTask(taskId)
    return answer(serving, { checkpoint })
  },
})

export const showResult = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/result',
  id: 'showResult',
  tag: 'tasks',
  summary: 'Wait for the result of a task',
  description:
    'Answers at once if the task has ended, or is parked because its code took another path than its history. Otherwise it waits for up to `waitMs`, and `maxWaitMs` at most, and then answers 202 with the state: ask again.',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  query: z.strictObject({ waitMs: wholeText(0, 600_000) }),
  answers: {
    200: { description: 'How it ended', schema: OutcomeSchema },
    202: { description: 'It has not ended', schema: OutcomeSchema },
  },
  problems: [404],
  async run({ serving, caller, request, params: { taskId }, query: { waitMs = 0 } }) {
    const now = await outcomeOf(serving, taskId)
    if (now.over || waitMs === 0) return answer(serving, now.outcome, now.over ? 200 : 202)
    using poll = serving.streams.poll(caller, request)
    const later = await waited(serving, taskId, waitMs, poll.signal)
    poll.assertAccepted()
    return answer(serving, later.outcome, later.over ? 200 : 202)
  },
})

/** How a task has ended, or stands after so long. */
export async function waited(
  serving: Serving,
  taskId: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  await halt(serving, taskId, Math.min(waitMs, serving.limits.maxWaitMs), signal)
  return outcomeOf(serving, taskId)
}

/** Waits until the task ends or is parked, the time is over, or nobody waits any more. */
async function halt({ runtime }: Serving, taskId: string, timeoutMs: number, signal: AbortSignal) {
  try {
    await runtime.result(taskId, { timeoutMs, signal })
  } catch (error) {
    // How it ended is read afterwards, however that was. A store that has failed is another thing.
    if (error instanceof StoreError) throw error
  }
}

async function outcomeOf({ runtime }: Serving, taskId: string): Promise<Outcome> {
  const task = await runtime.status(taskId)
  if (task === undefined) throw noTask(taskId)
  return endOf(task)
}

interface Outcome {
  readonly over: boolean
  readonly outcome: Readonly<Record<string, unknown>>
}

function endOf(task: TaskStatus): Outcome {
  const { taskId, state } = task
  switch (task.state) {
    case 'completed':
      return { over: true, outcome: { taskId, state, output: task.output } }
    case 'failed':
      return { over: true, outcome: { taskId, state, kind: task.kind, error: task.error } }
    case 'canceled':
      return { over: true, outcome: { taskId, state, reason: task.reason } }
    case 'rejected':
      return { over: true, outcome: { taskId, state, reason: task.reason, message: task.message } }
    case 'waiting': {
      const { waitingFor, divergence } = task
      return { over: divergence !== undefined, outcome: { taskId, state, waitingFor, divergence } }
    }
    case 'queued':
    case 'running':
      return { over: false, outcome: { taskId, state } }
  }
}
