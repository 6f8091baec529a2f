import {
  assertOptions,
  clientTiers,
  type ExecutionConfig,
  type ExecutionStore,
  invalid,
  isAmount,
  isName,
  isOneOf,
  type Rule,
  type Rules,
  RuntimeError,
  show,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { Clients, ClientSettings } from '../api/clients.ts'

/** The API of clients. */
export function clientsOf({
  store,
  config,
  assertOpen,
}: {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  /** Throws if the runtime takes no more calls. */
  readonly assertOpen: () => void
}): Clients {
  return {
    async set(name, settings) {
      assertOpen()
      assertName('set', name)
      if (settings === undefined) throw invalid('clients.set: an object with credits, tier; given undefined')
      assertOptions('clients.set', settings, settingRules)
      const outcome = await store.write({ kind: 'putClient', name, ...withoutUndefined(settings) })
      if (outcome.as === 'put') return outcome.client
      const { maxClients } = config
      throw new RuntimeError(
        'limit_exceeded',
        `the limit maxClients ${maxClients} is reached; remove a client first`,
        {
          details: { name, maxClients },
        },
      )
    },
    async get(name) {
      assertOpen()
      assertName('get', name)
      const [client] = await store.read({ kind: 'clients', name })
      return client
    },
    async list(page) {
      assertOpen()
      assertOptions('clients.list', page, pageRules)
      return store.read({ kind: 'clients', ...withoutUndefined(page ?? {}) })
    },
    async remove(name) {
      assertOpen()
      assertName('remove', name)
      const outcome = await store.write({ kind: 'removeClient', name })
      if (outcome.as !== 'busy') return outcome.as === 'removed'
      const { delayed } = outcome
      const { queued, running, reserved } = outcome.client
      if (queued + delayed + running === 0)
        throw new RuntimeError(
          'invalid_argument',
          `client '${name}' has ${reserved} credits reserved for tasks that wait: remove it when they have ended`,
          { details: { name, reserved } },
        )
      throw new RuntimeError(
        'invalid_argument',
        `client '${name}' has ${queued} tasks queued, ${delayed} delayed and ${running} running: remove it when they have ended`,
        { details: { name, queued, delayed, running } },
      )
    },
  }
}

const settingRules: Rules<ClientSettings> = {
  credits: ['a number from 0 to 1e9', (value) => isAmount(value) && value <= 1e9],
  tier: isOneOf(clientTiers),
}

/** The empty name is the client of all tasks that name none. */
export const clientRule: Rule = [
  "1 to 255 characters, no lone surrogates, or '' for tasks without a client",
  (value) => value === '' || isName(value),
]

const pageRules = {
  after: clientRule,
  limit: [
    'a whole number from 1 to 1000',
    (value: unknown) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1_000,
  ],
} as const

function assertName(call: string, name: unknown): asserts name is string {
  const [expected, accepts] = clientRule
  if (!accepts(name)) throw invalid(`clients.${call}: a name of ${expected}; given ${show(name)}`)
}
