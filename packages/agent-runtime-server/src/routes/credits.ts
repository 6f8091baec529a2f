import { z } from '../wire/zod.ts'
import { entryKinds, RuntimeError } from '@ku0/agent-runtime-core'
import { problemOf } from '../problem/problem.ts'
import { answer } from '../serving.ts'
import { PayerPath, SeqPage } from '../wire/parameters.ts'
import { Moment } from '../wire/schema.ts'
import { endpoint } from './endpoint.ts'
import { KeyHeader, ownKeyOf } from './idempotency-key.ts'

const EntrySchema = z
  .looseObject({
    client: z.string(),
    seq: z.int(),
    at: Moment,
    kind: z.enum(entryKinds),
    amount: z.number(),
    held: z.number(),
    credits: z.number(),
    reserved: z.number(),
    why: z.string(),
  })
  .openapi('LedgerEntry')

const credits = { tag: 'limits', bound: 'none', params: PayerPath } as const

export const showCredits = endpoint({
  ...credits,
  method: 'get',
  path: '/clients/{client}/credits',
  id: 'showCredits',
  summary: 'The credits of a client: free, reserved and spent',
  scope: 'read',
  answers: {
    200: {
      description: 'The credits',
      schema: z
        .object({
          client: z.string(),
          credits: z.number(),
          reserved: z.number(),
          spent: z.number(),
          entries: z.int(),
          asks: z
            .object({ taskId: z.string(), asked: z.number(), missing: z.number(), since: Moment })
            .optional()
            .openapi({ description: 'An open request for credits, by the task whose turn has come' }),
        })
        .openapi('CreditBalance'),
    },
  },
  problems: [404],
  async run({ serving, params: { client } }) {
    const balance = await serving.runtime.credits.balance(client)
    if (balance === undefined)
      throw problemOf(
        new RuntimeError('not_found', `there is no client ${client === '' ? 'without a name' : client}`),
      )
    return answer(serving, balance)
  },
})

export const purchaseCredits = endpoint({
  ...credits,
  method: 'post',
  path: '/clients/{client}/credits',
  id: 'purchaseCredits',
  repeat: 'keyed',
  summary: 'Add credits to those of a client',
  description:
    'A purchase with a key that was used before is not made again: its entry is returned, and `deduplicated` is true.',
  scope: 'admin',
  headers: KeyHeader,
  body: z.strictObject({
    amount: z.number().positive(),
    key: z.string().min(1).max(255).optional(),
    note: z.string().min(1).max(255).optional(),
  }),
  answers: {
    201: {
      description: 'The purchase, as it stands in the ledger',
      schema: z.object({ entry: EntrySchema, deduplicated: z.boolean() }),
    },
  },
  problems: [409, 422],
  async run({ serving, request, params: { client }, body: { amount, key, ...rest } }) {
    const options = { ...rest, ...ownKeyOf(key, request.header('idempotency-key')) }
    return answer(serving, await serving.runtime.credits.purchase(client, amount, options), 201)
  },
})

export const listEntries = endpoint({
  ...credits,
  method: 'get',
  path: '/clients/{client}/ledger',
  id: 'listEntries',
  summary: 'The entries of the ledger of a client, the oldest first',
  scope: 'read',
  query: SeqPage,
  answers: {
    200: { description: 'A page of entries', schema: z.object({ entries: z.array(EntrySchema) }) },
  },
  run: async ({ serving, params: { client }, query }) =>
    answer(serving, { entries: await serving.runtime.credits.entries(client, query) }),
})
