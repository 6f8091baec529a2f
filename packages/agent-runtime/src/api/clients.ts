import type { ClientRecord, ClientTier } from '@ku0/agent-runtime-core'

/** Settings of a client's share. A setting that is left out keeps its value. */
export interface ClientSettings {
  /**
   * Twice the credits get twice the service: 0 to 1e9; 1 000 by default. Values below 1 count as 1, so that
   * no client waits for ever.
   */
  readonly credits?: number | undefined
  /** `marketplace` by default. */
  readonly tier?: ClientTier | undefined
}

/**
 * The clients of a store, by name. A client is whatever submissions name as their `client`; `''` is the
 * client of all tasks that name none. Without `shares` in the configuration the settings are stored and have
 * no effect. Source: `docs/shares.md`, `docs/semantics.md 11`.
 */
export interface Clients {
  /**
   * Sets a client's share. An unknown client is created, with defaults for what is left out. Queued tasks
   * move to their new place at once. Throws `limit_exceeded` above `maxClients`.
   */
  set(name: string, settings: ClientSettings): Promise<ClientRecord>
  /** Undefined for an unknown client. */
  get(name: string): Promise<ClientRecord | undefined>
  /**
   * Clients in the order of their names, the one without a name first: up to `limit` (100 by default, at most
   * 1 000), after the name `after`.
   */
  list(page?: {
    readonly after?: string | undefined
    readonly limit?: number | undefined
  }): Promise<readonly ClientRecord[]>
  /**
   * Forgets a client with its credits, tier and times. Returns false for an unknown client. Throws
   * `invalid_argument` while tasks of the client are queued, delayed or running. Tasks that wait do not
   * count: when one goes on, its client is created again with the defaults.
   */
  remove(name: string): Promise<boolean>
}
