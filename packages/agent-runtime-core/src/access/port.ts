import type { AccessScope } from './access-scope.ts'
import type { AccessTokenRecord } from './access-token.ts'

/** Writes about access tokens. */
export interface AccessWrites {
  /** Keeps the hash of a token under a name that no accepted token has. Source: `docs/decisions/0068-tokens-in-the-store.md`. */
  putAccessToken: {
    fields: {
      readonly name: string
      readonly hash: string
      readonly scopes: readonly AccessScope[]
      readonly client?: string
      readonly types?: readonly string[]
      readonly expiresAt?: number
    }
    outcome:
      | { readonly as: 'put'; readonly token: AccessTokenRecord }
      /** A token of this name is accepted. */
      | { readonly as: 'taken'; readonly token: AccessTokenRecord }
      /** There are {@link MAX_ACCESS_TOKENS} already. */
      | { readonly as: 'full' }
  }
  /** Undefined: there is no token of this name, or it was revoked before. */
  revokeAccessToken: { fields: { readonly name: string }; outcome: AccessTokenRecord | undefined }
}

/** Reads about access tokens. */
export interface AccessReads {
  /** All of them in the order of their names, revoked and expired ones among them. */
  accessTokens: { fields: Record<never, never>; answer: readonly AccessTokenRecord[] }
}
