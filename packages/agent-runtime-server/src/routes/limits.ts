import { z } from '../wire/zod.ts'
import { clientTiers, RuntimeError } from '@ku0/agent-runtime-core'
import { problemOf } from '../problem/problem.ts'
import { answer, nothing } from '../serving.ts'
import { ClientPath, CursorText, LimitText, TaskPath } from '../wire/parameters.ts'
import { BudgetAmounts, BudgetSchema } from '../wire/records.ts'
import { Moment } from '../wire/schema.ts'
import { endpoint } from './endpoint.ts'

export const listBudgets = endpoint({
  method: 'get',
  path: '/budgets',
  id: 'listBudgets',
  tag: 'limits',
  summary: 'Budgets that passed a soft line and wait for an answer',
  scope: 'read',
  bound: 'none',
  query: z.strictObject({ limit: LimitText, cursor: CursorText }),
  answers: {
    200: {
      description: 'A page of budgets',
      schema: z.object({ budgets: z.array(BudgetSchema), cursor: z.string().optional() }),
    },
  },
  async run({ serving, query: { limit, cursor } }) {
    const page = await serving.runtime.budgets.list({ limit, cursor })
    return answer(serving, {
      budgets: page.budgets,
      ...(page.cursor === undefined ? {} : { cursor: String(page.cursor) }),
    })
  },
})

export const showBudget = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/budget',
  id: 'showBudget',
  tag: 'limits',
  summary: 'The budget that a task draws on first: its own, or one above it',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  answers: { 200: { description: 'The budget', schema: BudgetSchema } },
  problems: [404],
  async run({ serving, params: { taskId } }) {
    const budget = await serving.runtime.budgets.get(taskId)
    if (budget === undefined)
      throw problemOf(new RuntimeError('not_found', `task ${taskId} has no budget, nor has a task above it`))
    return answer(serving, budget)
  },
})

const BudgetReceipt = z.object({ taskId: z.string(), resumed: z.int() }).openapi('BudgetReceipt')

export const continueBudget = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/budget/continue',
  id: 'continueBudget',
  repeat: 'anew',
  tag: 'limits',
  summary: 'Let the tasks under a budget that asks go on',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  body: z.strictObject({ raise: BudgetAmounts.optional() }),
  bodyOptional: true,
  answers: { 200: { description: 'They go on', schema: BudgetReceipt } },
  problems: [404, 409],
  run: async ({ serving, params: { taskId }, body: { raise } }) =>
    answer(serving, await serving.runtime.budgets.continue(taskId, { raise })),
})

export const stopBudget = endpoint({
  method: 'post',
  path: '/tasks/{taskId}/budget/stop',
  id: 'stopBudget',
  repeat: 'refused',
  tag: 'limits',
  summary: 'End the tasks under a budget that asks',
  scope: 'operate',
  bound: 'task',
  params: TaskPath,
  answers: { 200: { description: 'They have ended', schema: BudgetReceipt } },
  problems: [404, 409],
  run: async ({ serving, params: { taskId } }) => answer(serving, await serving.runtime.budgets.stop(taskId)),
})

export const listQuotas = endpoint({
  method: 'get',
  path: '/quotas',
  id: 'listQuotas',
  tag: 'limits',
  summary: 'The quotas for which something was counted',
  scope: 'read',
  bound: 'none',
  answers: {
    200: {
      description: 'All quotas',
      schema: z.object({
        quotas: z.array(
          z
            .looseObject({
              key: z.string(),
              queued: z.int(),
              running: z.int(),
              blockedUntil: Moment.optional(),
            })
            .openapi('Quota'),
        ),
      }),
    },
  },
  async run({ serving }) {
    const { quotas } = await serving.runtime.stats()
    return answer(serving, { quotas })
  },
})

const ClientSchema = z
  .looseObject({ name: z.string(), credits: z.number(), tier: z.enum(clientTiers) })
  .openapi('Client')

export const listClients = endpoint({
  method: 'get',
  path: '/clients',
  id: 'listClients',
  tag: 'limits',
  summary: 'The clients of the fair shares, in the order of their names',
  scope: 'read',
  bound: 'none',
  query: z.strictObject({ after: z.string().max(255).optional(), limit: LimitText }),
  answers: {
    200: { description: 'A page of clients', schema: z.object({ clients: z.array(ClientSchema) }) },
  },
  run: async ({ serving, query }) => answer(serving, { clients: await serving.runtime.clients.list(query) }),
})

export const setClient = endpoint({
  method: 'put',
  path: '/clients/{client}',
  id: 'setClient',
  repeat: 'harmless',
  tag: 'limits',
  summary: 'Set the share of a client',
  scope: 'admin',
  bound: 'none',
  params: ClientPath,
  body: z.strictObject({ credits: z.number().min(0).optional(), tier: z.enum(clientTiers).optional() }),
  answers: { 200: { description: 'The client', schema: ClientSchema } },
  run: async ({ serving, params: { client }, body }) =>
    answer(serving, await serving.runtime.clients.set(client, body)),
})

export const removeClient = endpoint({
  method: 'delete',
  path: '/clients/{client}',
  id: 'removeClient',
  repeat: 'harmless',
  tag: 'limits',
  summary: 'Forget a client',
  scope: 'admin',
  bound: 'none',
  params: ClientPath,
  answers: { 204: { description: 'It is forgotten' } },
  problems: [404],
  async run({ serving, params: { client } }) {
    if (await serving.runtime.clients.remove(client)) return nothing
    throw problemOf(new RuntimeError('not_found', `there is no client ${client}`))
  },
})
