import {
  assertOptions,
  type ExecutionConfig,
  type ExecutionStore,
  invalid,
  isAmount,
  isName,
  MAX_CREDITS,
  type Rules,
  RuntimeError,
  show,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { Credits, EntriesPage, PurchaseOptions } from '../api/credits.ts'
import { clientRule } from './clients.ts'

/** The API of credits. */
export function creditsOf({
  store,
  config,
  assertOpen,
}: {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  /** Throws if the runtime takes no more calls. */
  readonly assertOpen: () => void
}): Credits {
  return {
    async purchase(client, amount, options) {
      assertOpen()
      assertClient('purchase', client)
      if (!isAmount(amount) || amount > MAX_CREDITS || Math.round(amount * 1e6) === 0)
        throw invalid(`credits.purchase: an amount from 0.000001, a millionth, to 1e9; given ${show(amount)}`)
      assertOptions('credits.purchase', options, purchaseRules)
      const { key } = options ?? {}
      const outcome = await store.write({
        kind: 'purchaseCredits',
        name: client,
        amount,
        ...withoutUndefined(options ?? {}),
      })
      if (outcome.as === 'purchased') {
        const { entry, deduplicated } = outcome
        return { entry, deduplicated }
      }
      if (outcome.as === 'conflict')
        throw new RuntimeError(
          'idempotency_conflict',
          `the key ${show(key)} belongs to a purchase of ${outcome.entry.amount} credits by client ${show(client)}; use a new key`,
          { details: { client, key, amount: outcome.entry.amount } },
        )
      if (outcome.as === 'too_many')
        throw new RuntimeError(
          'limit_exceeded',
          `client ${show(client)} has ${outcome.credits} credits, and may have ${MAX_CREDITS}; buy fewer`,
          { details: { client, credits: outcome.credits } },
        )
      const { maxClients } = config
      throw new RuntimeError(
        'limit_exceeded',
        `the limit maxClients ${maxClients} is reached; remove a client first`,
        { details: { client, maxClients } },
      )
    },
    async balance(client) {
      assertOpen()
      assertClient('balance', client)
      const [found] = await store.read({ kind: 'clients', name: client })
      if (found === undefined) return undefined
      const { name, credits, reserved, spent, entries, asks } = found
      return { client: name, credits, reserved, spent, entries, ...(asks === undefined ? {} : { asks }) }
    },
    async entries(client, page) {
      assertOpen()
      assertClient('entries', client)
      assertOptions('credits.entries', page, pageRules)
      return store.read({ kind: 'ledger', name: client, ...withoutUndefined(page ?? {}) })
    },
  }
}

const purchaseRules: Rules<PurchaseOptions> = {
  key: ['1 to 255 characters, no lone surrogates', isName],
  note: ['1 to 255 characters, no lone surrogates', isName],
}

const pageRules: Rules<EntriesPage> = {
  after: ['a whole number from 0 on', (value) => Number.isSafeInteger(value) && (value as number) >= 0],
  limit: [
    'a whole number from 1 to 1000',
    (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1_000,
  ],
}

function assertClient(call: string, client: unknown): asserts client is string {
  const [expected, accepts] = clientRule
  if (!accepts(client)) throw invalid(`credits.${call}: a client of ${expected}; given ${show(client)}`)
}
