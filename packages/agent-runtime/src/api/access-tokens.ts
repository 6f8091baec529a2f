import type { AccessScope, AccessTokenRecord } from '@ku0/agent-runtime-core'

/** The rights of an access token, and the hash under which it is known. */
export interface AccessTokenTerms {
  /** The SHA-256 of the token in 64 hex digits: `hashToken` of `@ku0/agent-runtime-server` makes it. Draw the token at random, 32 bytes or more. */
  readonly hash: string
  readonly scopes: readonly AccessScope[]
  /** The client that it submits for, whatever a request says, and whose tasks it sees: 1 to 255 characters. */
  readonly client?: string | undefined
  /** The task types that it may submit and see; all by default. */
  readonly types?: readonly string[] | undefined
  /** From this moment on it is refused, epoch ms or a Date; a time to come. */
  readonly expiresAt?: number | Date | undefined
}

/**
 * The tokens that servers on this store accept, if they are given `tokens: 'store'`. The store has their hashes, never the tokens. Source:
 * `docs/http-api.md`.
 */
export interface AccessTokens {
  /**
   * Keeps a token under the name of who holds it, 1 to 255 characters. Throws `already_exists` if a token of this name is accepted, `limit_exceeded` if
   * there are 1 000, ended ones among them. A token that ended 90 days ago is deleted.
   */
  put(name: string, terms: AccessTokenTerms): Promise<AccessTokenRecord>
  /** All of them by name, revoked and expired ones among them. */
  list(): Promise<readonly AccessTokenRecord[]>
  /** Servers refuse it within a second. Undefined if there is no such token, or if it was revoked before. */
  revoke(name: string): Promise<AccessTokenRecord | undefined>
}
