import {
  assertOptions,
  type ClientRecord,
  type ClientTier,
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
} from '@ku0/agent-runtime-core'

/** What a client's share goes by; what is left out stays as it is. */
export interface ClientSettings {
  /** Twice the credits, twice the service: 0 to 1e9; 1 000 where nobody said. Below 1 counts as 1, so that nobody waits for ever. */
  readonly credits?: number
  /** `marketplace` where nobody said. */
  readonly tier?: ClientTier
}

/**
 * The clients of a store, by name: whoever a submission names as its `client`; `''` is the one of all tasks that name none. Without `shares` in the configuration what is set
 * here is kept, and has no effect. Source: `docs/shares.md`, `docs/semantics.md 11`.
 */
export interface Clients {
  /** Says what a client's share goes by; one that is unknown is made, with the defaults for what is left out. Queued tasks move to their new place at once. Throws `limit_exceeded` above `maxClients`. */
  set(name: string, settings: ClientSettings): Promise<ClientRecord>
  /** Undefined where nothing is known of it. */
  get(name: string): Promise<ClientRecord | undefined>
  /** In the order of their names, the one without a name first: up to `limit` (100, at most 1 000) after the name `after`. */
  list(page?: { readonly after?: string; readonly limit?: number }): Promise<readonly ClientRecord[]>
  /**
   * Forgets a client with its credits, tier and times; false where nothing is known of it. Throws `invalid_argument` as long as tasks of
   * it are queued, delayed ones included, or run. Tasks that wait do not count: where one goes on, its client is made anew, with the defaults.
   */
  remove(name: string): Promise<boolean>
}

/** The clients, as a runtime's callers see them. */
export function clientsOf({
  store,
  config,
  assertOpen,
}: {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  /** Throws when no call is taken. */
  readonly assertOpen: () => void
}): Clients {
  return {
    async set(name, settings) {
      assertOpen()
      assertName('set', name)
      if (settings === undefined) throw invalid('clients.set: an object of credits, tier; given undefined')
      assertOptions('clients.set', settings, settingRules)
      const outcome = await store.write({ kind: 'putClient', name, ...settings })
      if (outcome.as === 'put') return outcome.client
      const { maxClients } = config
      throw new RuntimeError('limit_exceeded', `there are maxClients ${maxClients} clients already`, {
        details: { name, maxClients },
      })
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
      return store.read({ kind: 'clients', ...page })
    },
    async remove(name) {
      assertOpen()
      assertName('remove', name)
      const outcome = await store.write({ kind: 'removeClient', name })
      if (outcome.as !== 'busy') return outcome.as === 'removed'
      const { delayed } = outcome
      const { queued, running } = outcome.client
      throw new RuntimeError(
        'invalid_argument',
        `client '${name}' has ${queued} tasks queued, ${delayed} delayed and ${running} running: remove it when they are over`,
        { details: { name, queued, delayed, running } },
      )
    },
  }
}

const settingRules: Rules<ClientSettings> = {
  credits: ['a number from 0 to 1e9', (value) => isAmount(value) && value <= 1e9],
  tier: isOneOf(clientTiers),
}

/** The empty name is that of the client of all tasks that name none. */
const clientRule: Rule = [
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
