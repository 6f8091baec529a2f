import { z } from '../wire/zod.ts'
import { lanes, RuntimeError, taskStates } from '@ku0/agent-runtime-core'
import { fieldsRefused, problemOf } from '../problem/problem.ts'
import type { BulkAction, BulkStep } from '../bulk/bulk-actions.ts'
import { selectTasks } from '../bulk/select-tasks.ts'
import { answer } from '../serving.ts'
import { endpoint } from './endpoint.ts'

const BulkPath = z.strictObject({ token: z.uuid() })

const Filter = z.strictObject({
  states: z.array(z.enum(taskStates)).min(1).optional(),
  types: z.array(z.string().min(1).max(255)).min(1).optional(),
  lanes: z.array(z.enum(lanes)).min(1).optional(),
  parent: z.string().min(1).max(255).optional(),
  client: z.string().max(255).optional(),
  kind: z.string().max(64).optional().openapi({ description: 'For failed tasks: of what kind' }),
  labels: z.record(z.string(), z.string()).optional(),
  text: z.string().min(1).max(255).optional(),
})

const BulkSchema = z
  .object({
    token: z.string(),
    action: z.enum(['cancel', 'retry']),
    state: z.enum(['counted', 'running', 'stopped', 'done', 'failed']),
    count: z.int().openapi({ description: 'The tasks that the filter selected' }),
    done: z.int().openapi({ description: 'The tasks that were looked at so far' }),
    changed: z.int().openapi({ description: 'The tasks that were canceled or submitted again' }),
    problem: z.string().optional(),
  })
  .openapi('BulkAction')

const bulk = { tag: 'tasks', scope: 'operate', bound: 'own' } as const

export const countBulk = endpoint({
  ...bulk,
  method: 'post',
  path: '/tasks:bulk',
  id: 'countBulk',
  summary: 'Count the tasks that a filter selects, to cancel or retry them',
  description:
    'Nothing is done yet: it answers the count and a token, which starts the action. Tasks that are submitted later are not among them.',
  body: z.strictObject({
    action: z.enum(['cancel', 'retry']),
    filter: Filter,
    reason: z.string().max(10_000).optional(),
  }),
  answers: { 201: { description: 'The count and the token', schema: BulkSchema } },
  async run({ serving, caller, body: { action, filter, reason } }) {
    const allowed = action === 'cancel' ? open : retryable
    const wrong = filter.states?.filter((state) => !allowed.includes(state)) ?? []
    if (wrong.length > 0)
      throw fieldsRefused([{ field: 'body.filter.states', allowed: `${allowed.join(', ')}, to ${action}` }])
    const { labels = {}, states = allowed, ...wish } = filter
    const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`)
    const whole = { ...wish, states, ...(label.length === 0 ? {} : { label }) }
    const { runtime, environment, bulk: actions } = serving
    const tasks = await selectTasks(serving, caller, whole)
    const token = environment.ids.uuid()
    const step: BulkStep = async ({ taskId, sequence }) => {
      if (action === 'cancel') return runtime.cancel(taskId, { reason })
      // A second try of the same slice finds the task of the first.
      const again = runtime.retry(taskId, { idempotencyKey: `bulk:${token}:${sequence}` })
      return (await again).accepted
    }
    return answer(serving, shown(actions.add(caller, token, action, tasks, step)), 201)
  },
})

const open: readonly (typeof taskStates)[number][] = ['queued', 'running', 'waiting']
const retryable: readonly (typeof taskStates)[number][] = ['failed', 'canceled']

export const startBulk = endpoint({
  ...bulk,
  method: 'post',
  path: '/tasks:bulk/{token}',
  id: 'startBulk',
  summary: 'Start what was counted',
  description: 'It is done in slices. A second start changes nothing.',
  params: BulkPath,
  answers: { 202: { description: 'It runs', schema: BulkSchema } },
  problems: [404],
  async run({ serving, caller, params: { token } }) {
    const action = found(serving.bulk.start(caller, token), token)
    return answer(serving, shown(action), 202)
  },
})

export const showBulk = endpoint({
  ...bulk,
  method: 'get',
  path: '/tasks:bulk/{token}',
  id: 'showBulk',
  summary: 'How far a bulk action is',
  params: BulkPath,
  answers: { 200: { description: 'Its progress', schema: BulkSchema } },
  problems: [404],
  run: async ({ serving, caller, params: { token } }) =>
    answer(serving, shown(found(serving.bulk.find(caller, token), token))),
})

export const stopBulk = endpoint({
  ...bulk,
  method: 'delete',
  path: '/tasks:bulk/{token}',
  id: 'stopBulk',
  summary: 'Stop a bulk action after the slice that is under way',
  params: BulkPath,
  answers: { 200: { description: 'It stops', schema: BulkSchema } },
  problems: [404],
  run: async ({ serving, caller, params: { token } }) =>
    answer(serving, shown(found(serving.bulk.stop(caller, token), token))),
})

function shown({ token, action, state, count, done, changed, problem }: BulkAction) {
  return { token, action, state, count, done, changed, problem }
}

function found(action: BulkAction | undefined, token: string): BulkAction {
  if (action === undefined) throw problemOf(new RuntimeError('not_found', `there is no bulk action ${token}`))
  return action
}
