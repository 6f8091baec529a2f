import type { AccessScope } from './access-scope.ts'

/** An access token: who holds it, the hash under which it is known, and what it allows. */
export interface AccessTokenRow {
  readonly name: string
  /** The SHA-256 of the token, 64 hex digits. */
  readonly hash: string
  readonly scopes: readonly AccessScope[]
  readonly client: string | null
  readonly types: readonly string[] | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}
