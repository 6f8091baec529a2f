import type { ClientRecord, ClientTier } from '@ku0/agent-runtime-core'

/** What a client's share goes by; what is left out stays as it is. */
export interface ClientSettings {
  /** Twice the credits, twice the service: 0 to 1e9; 1 000 where nobody said. Below 1 counts as 1, so that nobody waits for ever. */
  readonly credits?: number | undefined
  /** `marketplace` where nobody said. */
  readonly tier?: ClientTier | undefined
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
  list(page?: {
    readonly after?: string | undefined
    readonly limit?: number | undefined
  }): Promise<readonly ClientRecord[]>
  /**
   * Forgets a client with its credits, tier and times; false where nothing is known of it. Throws `invalid_argument` as long as tasks of
   * it are queued, delayed ones included, or run. Tasks that wait do not count: where one goes on, its client is made anew, with the defaults.
   */
  remove(name: string): Promise<boolean>
}
