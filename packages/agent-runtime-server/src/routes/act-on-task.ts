import { z } from '../wire/zod.ts'
import type { ForkOptions } from '@ku0/agent-runtime'
import { taskStates } from '@ku0/agent-runtime-core'
import { noTask, refusal } from '../problem/problem.ts'
import { answer, nothing } from '../serving.ts'
import { TaskPath } from '../wire/parameters.ts'
import { AcceptedSchema, BudgetOptionsSchema } from '../wire/records.ts'
import { Value } from '../wire/schema.ts'
import { valueFromJson } from '../wire/values.ts'
import { endpoint } from './endpoint.ts'
import { KeyHeader, keyOf } from './idempotency-key.ts'
import { rejection } from './submit-tasks.ts'

export const cancelTask = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/cancel',
  id: 'cancelTask',
  repeat: 'harmless',
  tag: 'tasks',
  summary: 'Cancel a task and its children',
  description: '`canceled` is false if the task had already ended.',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  body: z.strictObject({ reason: z.string().max(10_000).optional() }),
  bodyOptional: true,
  answers: {
    200: { description: 'The cancellation is committed', schema: z.object({ canceled: z.boolean() }) },
  },
  problems: [404],
  async run({ serving, params: { taskId }, body: { reason } }) {
    const canceled = await serving.runtime.cancel(taskId, { reason })
    if (!canceled && (await serving.runtime.status(taskId)) === undefined) throw noTask(taskId)
    return answer(serving, { canceled })
  },
})

const again = {
  taskId: z.string().min(1).max(255).optional(),
  idempotencyKey: z.string().min(1).max(255).optional(),
  budget: BudgetOptionsSchema.optional(),
}

export const retryTask = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/retry',
  id: 'retryTask',
  repeat: 'keyed',
  tag: 'tasks',
  summary: 'Submit a failed, canceled or parked task again as a new task',
  description:
    'The new task keeps the completed steps. A task is retried once: a second retry answers with the first one (`deduplicated`), unless `again` is true or the request has a key of its own, as `idempotencyKey` or in the header Idempotency-Key.',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  headers: KeyHeader,
  body: z.strictObject({ ...again, again: z.boolean().optional() }),
  bodyOptional: true,
  answers: { 201: { description: 'The new task', schema: AcceptedSchema } },
  problems: [404, 409, 422],
  async run({ serving, caller, request, params: { taskId }, body: { again: anew = false, ...options } }) {
    const key = keyOf(caller, options.idempotencyKey, request.header('idempotency-key'), 'body')
    // The same key as the command line has.
    const once = anew ? undefined : `retry of ${taskId}`
    const receipt = await serving.runtime.retry(taskId, { ...options, idempotencyKey: key ?? once })
    if (!receipt.accepted) throw await rejection(serving, receipt)
    return answer(serving, receipt, 201)
  },
})

export const forkTask = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/fork',
  id: 'forkTask',
  repeat: 'keyed',
  tag: 'tasks',
  summary: 'Submit a task again from one of its steps, with other results if wanted',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  headers: KeyHeader,
  body: z.strictObject({
    ...again,
    fromStep: z.string().min(1).optional(),
    edits: z.record(z.string(), Value).optional(),
  }),
  bodyOptional: true,
  answers: { 201: { description: 'The new task', schema: AcceptedSchema } },
  problems: [404, 409, 413, 422],
  async run({ serving, caller, request, params: { taskId }, body: { edits, ...options } }) {
    const receipt = await serving.runtime.fork(taskId, {
      ...options,
      idempotencyKey: keyOf(caller, options.idempotencyKey, request.header('idempotency-key'), 'body'),
      ...(edits === undefined
        ? {}
        : { edits: valueFromJson(edits, 'body.edits') as NonNullable<ForkOptions['edits']> }),
    })
    if (!receipt.accepted) throw await rejection(serving, receipt)
    return answer(serving, receipt, 201)
  },
})

export const signalTask = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/signal',
  id: 'signalTask',
  repeat: 'anew',
  tag: 'tasks',
  summary: 'Send a signal to a task',
  description: 'The signal is kept until the task waits for it. Every call is a signal of its own.',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  body: z.strictObject({ name: z.string().min(1).max(255), value: Value.optional() }),
  answers: {
    200: {
      description: 'The signal is committed',
      schema: z.object({ delivered: z.literal(true), state: z.enum(taskStates), awaited: z.boolean() }),
    },
  },
  problems: [404, 409],
  async run({ serving, params: { taskId }, body: { name, value } }) {
    return answer(serving, await serving.runtime.signal(taskId, name, valueFromJson(value, 'body.value')))
  },
})

export const resumeTask = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/resume',
  id: 'resumeTask',
  repeat: 'refused',
  tag: 'tasks',
  summary: 'Queue a task again that is parked because its code took another path than its history',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  answers: { 204: { description: 'It is queued' } },
  problems: [404, 409],
  async run({ serving, params: { taskId } }) {
    await serving.runtime.resume(taskId)
    return nothing
  },
})

export const explainTask = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/explain',
  id: 'explainTask',
  tag: 'tasks',
  summary: 'Explain why a task is in its state and what it waits for',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  answers: {
    200: {
      description: 'Why it is in its state',
      schema: z
        .looseObject({ taskId: z.string(), state: z.enum(taskStates), summary: z.string() })
        .openapi('Explanation'),
    },
  },
  problems: [404],
  async run({ serving, params: { taskId } }) {
    const explanation = await serving.runtime.explain(taskId)
    if (explanation === undefined) throw noTask(taskId)
    return answer(serving, explanation)
  },
})

export const replayTask = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/replay',
  id: 'replayTask',
  repeat: 'harmless',
  tag: 'tasks',
  summary: 'Replay a task with the code of the server, and compare',
  description:
    'Nothing is executed and nothing is written. Needs a server that is made with a runtime, which has the handlers.',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  body: z.strictObject({ timeoutMs: z.number().min(0).max(60_000).optional() }),
  bodyOptional: true,
  answers: {
    200: {
      description: 'What the replay has found',
      schema: z
        .looseObject({ taskId: z.string(), type: z.string(), verdict: z.string(), unused: z.int() })
        .openapi('ReplayReport'),
    },
  },
  problems: [404, 501],
  async run({ serving, params: { taskId }, body: { timeoutMs } }) {
    const { runtime } = serving
    if (runtime.replay === undefined)
      throw refusal('not_served', 'this server is made with a client, which has no handlers to replay')
    return answer(serving, await runtime.replay(taskId, { mode: 'verify', timeoutMs }))
  },
})
