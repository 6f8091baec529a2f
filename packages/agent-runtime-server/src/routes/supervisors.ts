import { z } from '../wire/zod.ts'
import type { SupervisedOptions } from '@ku0/agent-runtime'
import { childRestarts, lanes, supervisionStrategies, taskStates } from '@ku0/agent-runtime-core'
import { answer } from '../serving.ts'
import { TaskPath } from '../wire/parameters.ts'
import { BudgetOptionsSchema } from '../wire/records.ts'
import { Moment, Value } from '../wire/schema.ts'
import { valueFromJson } from '../wire/values.ts'
import { endpoint } from './endpoint.ts'

const name = z.string().min(1).max(255)
const ChildPath = z.strictObject({ taskId: TaskPath.shape.taskId, child: name })

const SupervisorSchema = z
  .looseObject({
    taskId: z.string(),
    terms: z.looseObject({ strategy: z.enum(supervisionStrategies) }).optional(),
    restartedAt: z.array(Moment),
    children: z.array(
      z.looseObject({
        id: z.string(),
        taskId: z.string(),
        type: z.string(),
        state: z.enum(taskStates),
        attempt: z.int(),
      }),
    ),
  })
  .openapi('Supervisor')

const supervisor = { tag: 'tasks', bound: 'task' } as const
const Started = z.object({ taskId: z.string() })

export const showSupervised = endpoint({
  ...supervisor,
  method: 'get',
  path: '/tasks/{taskId}/supervised',
  id: 'showSupervised',
  summary: 'The children of a supervisor, in the order in which they were started first',
  scope: 'read',
  params: TaskPath,
  answers: { 200: { description: 'The supervisor', schema: SupervisorSchema } },
  problems: [404],
  run: async ({ serving, params: { taskId } }) =>
    answer(serving, await serving.runtime.supervisors.which(taskId)),
})

export const startSupervised = endpoint({
  ...supervisor,
  method: 'post',
  path: '/tasks/{taskId}/supervised',
  id: 'startSupervised',
  summary: 'Start one more child of a supervisor',
  scope: 'operate',
  params: TaskPath,
  body: z.strictObject({
    id: name,
    task: name,
    input: Value,
    options: z
      .strictObject({
        restart: z.enum(childRestarts).optional(),
        lane: z.enum(lanes).optional(),
        model: z.string().optional(),
        tools: z.array(z.string()).optional(),
        labels: z.record(z.string(), z.string()).optional(),
        timeoutMs: z.number().min(0).optional(),
        tokens: z.number().min(0).optional(),
        cost: z.number().min(0).optional(),
        budget: BudgetOptionsSchema.optional(),
      })
      .optional(),
  }),
  answers: { 201: { description: 'The task of the child', schema: Started } },
  problems: [404, 409, 413, 422],
  async run({ serving, params: { taskId }, body: { id, task, input, options } }) {
    const value = valueFromJson(input, 'body.input')
    const given = options as SupervisedOptions | undefined
    return answer(serving, await serving.runtime.supervisors.start(taskId, id, task, value, given), 201)
  },
})

export const stopSupervised = endpoint({
  ...supervisor,
  method: 'post',
  path: '/tasks/{taskId}/supervised/{child}/stop',
  id: 'stopSupervised',
  summary: 'Cancel a child of a supervisor, which does not start it again',
  scope: 'operate',
  params: ChildPath,
  answers: {
    200: {
      description: 'Whether this call ended it, and its state',
      schema: z.object({ stopped: z.boolean(), taskId: z.string(), state: z.enum(taskStates) }),
    },
  },
  problems: [404],
  run: async ({ serving, params: { taskId, child } }) =>
    answer(serving, await serving.runtime.supervisors.stop(taskId, child)),
})

export const restartSupervised = endpoint({
  ...supervisor,
  method: 'post',
  path: '/tasks/{taskId}/supervised/{child}/restart',
  id: 'restartSupervised',
  summary: 'Start a child of a supervisor that has ended once more, as a new task',
  scope: 'operate',
  params: ChildPath,
  answers: { 201: { description: 'The new task', schema: Started } },
  problems: [404, 409],
  run: async ({ serving, params: { taskId, child } }) =>
    answer(serving, await serving.runtime.supervisors.restart(taskId, child), 201),
})
