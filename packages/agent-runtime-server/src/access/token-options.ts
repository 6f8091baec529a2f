import { type AccessScope, accessScopes } from '@ku0/agent-runtime-core'

/**
 * The rights of a token. `read`: look at tasks and the store. `submit`: submit tasks. `operate`: cancel, retry, fork, signal, resume,
 * answer approvals and budgets, change schedules. `work`: run tasks as a remote worker. `admin`: all of that, change clients and tokens, prune the store, verify and inspect it.
 */
export const scopes = accessScopes
export type Scope = AccessScope

/** A token that the server accepts. It is given by its hash, so that no configuration holds a secret; {@link hashToken} makes one. */
export interface TokenOptions {
  /** The name of its holder, for the log: 1 to 255 characters. */
  readonly name: string
  /** The SHA-256 of the token, 64 hex digits. */
  readonly hash: string
  readonly scopes: readonly Scope[]
  /**
   * The client of the fair shares whose token it is. A task that it submits is this client's, whatever the request says, and it sees the tasks
   * of this client only.
   */
  readonly client?: string | undefined
  /** The task types that it may submit and see; all by default. */
  readonly types?: readonly string[] | undefined
  /** From this moment on it is refused, epoch ms or a Date. */
  readonly expiresAt?: number | Date | undefined
}
