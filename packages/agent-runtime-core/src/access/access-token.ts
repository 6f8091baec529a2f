import type { AccessScope } from './access-scope.ts'
import type { AccessTokenRow } from './row.ts'

/** An access token as a store keeps it: never the token itself. Times are epoch ms. Source: `docs/decisions/0068-tokens-in-the-store.md`. */
export interface AccessTokenRecord {
  readonly name: string
  /** The SHA-256 of the token, 64 hex digits. */
  readonly hash: string
  readonly scopes: readonly AccessScope[]
  /** The client that it submits for, and whose tasks it sees. */
  readonly client?: string
  /** The task types that it submits and sees. */
  readonly types?: readonly string[]
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

/** A store keeps so many access tokens at the most, revoked and expired ones among them. */
export const MAX_ACCESS_TOKENS = 1_000
/** A token that was revoked or has expired is listed for 90 days. When a token is put after that, it is deleted. */
export const ENDED_TOKEN_MS = 90 * 24 * 3_600_000

/** Whether a token was revoked, or has expired at a moment. */
export function isEndedToken(
  { revokedAt, expiresAt }: Pick<AccessTokenRow, 'revokedAt' | 'expiresAt'>,
  now: number,
): boolean {
  return revokedAt !== null || (expiresAt !== null && expiresAt <= now)
}

/** An access token's row as readers get it. */
export function accessTokenRecordOf(row: AccessTokenRow): AccessTokenRecord {
  const { name, hash, scopes, client, types, createdAt, expiresAt, revokedAt } = row
  return {
    name,
    hash,
    scopes,
    ...(client === null ? {} : { client }),
    ...(types === null ? {} : { types }),
    createdAt,
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(revokedAt === null ? {} : { revokedAt }),
  }
}
