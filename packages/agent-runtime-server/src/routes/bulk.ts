import { z } from '../wire/zod.ts'
import { lanes, RuntimeError, taskStates } from '@ku0/agent-runtime-core'
import { fieldsRefused, problemOf } from '../problem/problem.ts'
import type { Caller } from '../access/caller.ts'
import type { BulkAction, BulkStep } from '../bulk/bulk-actions.ts'
import { selectNamed, selectTasks } from '../bulk/select-tasks.ts'
import { answer, type Serving } from '../serving.ts'
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

const Named = z
  .array(z.string().min(1).max(255))
  .min(1)
  .max(1_000)
  .openapi({ description: 'These tasks, in place of a filter' })

const BulkSchema = z
  .object({
    token: z.string(),
    action: z.enum(['cancel', 'retry']),
    state: z.enum(['counted', 'running', 'stopped', 'done', 'failed']),
    count: z.int().openapi({ description: 'The tasks that the filter selected' }),
    done: z.int().openapi({ description: 'The tasks that were looked at so far' }),
    changed: z.int().openapi({ description: 'The tasks that were canceled or submitted again' }),
    before: z.int().openapi({ description: 'The tasks that had been retried before, and were left alone' }),
    rejected: z.int().openapi({ description: 'The tasks of which a retry was refused' }),
    problem: z.string().optional().openapi({
      description: 'Why it failed, or why it stopped: there was no room for more in the queue',
    }),
  })
  .openapi('BulkAction')

const bulk = { tag: 'tasks', scope: 'operate', bound: 'own' } as const

export const countBulk = endpoint({
  ...bulk,
  method: 'post',
  path: '/tasks:bulk',
  id: 'countBulk',
  repeat: 'harmless',
  summary: 'Count the tasks that a filter selects, to cancel or retry them',
  description:
    'Nothing is done yet: it answers the count and a token, which starts the action. Tasks that are submitted later are not among them. A retry is of failed tasks, and of canceled ones ' +
    'if the filter names that state or the task; it leaves out children, because the retry of their parent starts those again that failed, unless the filter names a parent or `children` is true. A task is retried once, unless ' +
    '`again` is true.',
  body: z.strictObject({
    action: z.enum(['cancel', 'retry']),
    filter: Filter.optional(),
    taskIds: Named.optional(),
    reason: z.string().max(10_000).optional(),
    children: z.boolean().optional().openapi({ description: 'For a retry by a filter: children, too' }),
    again: z
      .boolean()
      .optional()
      .openapi({ description: 'For a retry: also tasks that were retried before' }),
  }),
  answers: { 201: { description: 'The count and the token', schema: BulkSchema } },
  async run({ serving, caller, body: { action, reason, again, ...wanted } }) {
    const { runtime, environment, bulk: actions } = serving
    const taskIds = await select(serving, caller, action, wanted)
    const token = environment.ids.uuid()
    const step: BulkStep =
      action === 'retry'
        ? async (slice) => {
            const { retried: changed, ...others } = await runtime.retryMany(slice, { again })
            return { changed, ...others }
          }
        : async (slice) => ({ changed: await canceled(slice.map((id) => runtime.cancel(id, { reason }))) })
    return answer(serving, shown(actions.add(caller, token, action, taskIds, step)), 201)
  },
})

interface Wanted {
  readonly filter?: z.output<typeof Filter> | undefined
  readonly taskIds?: readonly string[] | undefined
  readonly children?: boolean | undefined
}

/** The tasks of an action, in the order in which it takes them: what is canceled begins with the newest, so that children go first. */
async function select(
  serving: Serving,
  caller: Caller,
  action: BulkAction['action'],
  { filter, taskIds, children }: Wanted,
): Promise<readonly string[]> {
  const allowed = action === 'cancel' ? open : retryable
  if ((filter === undefined) === (taskIds === undefined))
    throw fieldsRefused([{ field: 'body', allowed: 'either filter or taskIds' }])
  if (taskIds !== undefined) return selectNamed(serving, caller, taskIds, allowed)
  const {
    labels = {},
    states = action === 'cancel' ? open : ['failed' as const],
    parent,
    ...wish
  } = filter ?? {}
  const wrong = states.filter((state) => !allowed.includes(state))
  if (wrong.length > 0)
    throw fieldsRefused([{ field: 'body.filter.states', allowed: `${allowed.join(', ')}, to ${action}` }])
  const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`)
  const selected = await selectTasks(serving, caller, {
    ...wish,
    states,
    parent: action === 'retry' && children !== true ? (parent ?? null) : parent,
    ...(label.length === 0 ? {} : { label }),
  })
  return action === 'cancel' ? selected : selected.toReversed()
}

/** How many were canceled. A task that has changed since it was counted is left as it is. */
async function canceled(asked: readonly Promise<boolean>[]): Promise<number> {
  const ends = await Promise.all(asked)
  return ends.filter(Boolean).length
}

const open: readonly (typeof taskStates)[number][] = ['queued', 'running', 'waiting']
const retryable: readonly (typeof taskStates)[number][] = ['failed', 'canceled']

export const startBulk = endpoint({
  ...bulk,
  method: 'post',
  path: '/tasks:bulk/{token}',
  id: 'startBulk',
  repeat: 'harmless',
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
  repeat: 'harmless',
  summary: 'Stop a bulk action after the slice that is under way',
  params: BulkPath,
  answers: { 200: { description: 'It stops', schema: BulkSchema } },
  problems: [404],
  run: async ({ serving, caller, params: { token } }) =>
    answer(serving, shown(found(serving.bulk.stop(caller, token), token))),
})

function shown({ token, action, state, count, done, changed, before, rejected, problem }: BulkAction) {
  return { token, action, state, count, done, changed, before, rejected, problem }
}

function found(action: BulkAction | undefined, token: string): BulkAction {
  if (action === undefined) throw problemOf(new RuntimeError('not_found', `there is no bulk action ${token}`))
  return action
}
