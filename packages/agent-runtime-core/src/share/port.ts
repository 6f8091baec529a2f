import type { ClientRecord, ClientTier } from './client.ts'

/** Writes about clients and their shares. */
export interface ShareWrites {
  /**
   * Sets a client's share: credits, 0 to 1e9. Without shares it is stored for later. Source:
   * `docs/semantics.md 11.1`.
   */
  putClient: {
    fields: { readonly name: string; readonly credits?: number; readonly tier?: ClientTier }
    /** There are `maxClients` already. */
    outcome: { readonly as: 'put'; readonly client: ClientRecord } | { readonly as: 'full' }
  }
  removeClient: {
    fields: { readonly name: string }
    outcome:
      | { readonly as: 'removed' }
      | { readonly as: 'unknown' }
      /** It has tasks queued or running, or so many that are not due yet, or credits are reserved for tasks that wait. */
      | { readonly as: 'busy'; readonly client: ClientRecord; readonly delayed: number }
  }
}

/** Reads about clients and their shares. */
export interface ShareReads {
  /** One, or those after a name, in the order of their names; 1 to 1000, 100 by default. */
  clients: {
    fields: { readonly name?: string; readonly after?: string; readonly limit?: number }
    answer: readonly ClientRecord[]
  }
}
