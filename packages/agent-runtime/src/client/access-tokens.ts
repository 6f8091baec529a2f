import {
  accessScopes,
  assertOptions,
  type Clock,
  type ExecutionStore,
  invalid,
  isName,
  listOf,
  MAX_ACCESS_TOKENS,
  nameRule,
  type Rules,
  RuntimeError,
  show,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { AccessTokens, AccessTokenTerms } from '../api/access-tokens.ts'

/** The API of access tokens. */
export function accessTokensOf({
  store,
  clock,
  assertOpen,
}: {
  readonly store: ExecutionStore
  readonly clock: Clock
  /** Throws if the runtime takes no more calls. */
  readonly assertOpen: () => void
}): AccessTokens {
  return {
    async put(name, terms) {
      assertOpen()
      assertName('put', name)
      if (terms === undefined) throw invalid('accessTokens.put: an object with hash, scopes; given undefined')
      assertOptions('accessTokens.put', terms, termRules)
      const { hash, scopes, client, types } = terms
      const expiresAt = terms.expiresAt === undefined ? undefined : Number(terms.expiresAt)
      if (hash === undefined || scopes === undefined)
        throw invalid('accessTokens.put: an object with hash, scopes; one of them is missing')
      if (expiresAt !== undefined && expiresAt <= clock.now())
        throw invalid('accessTokens.put: expiresAt: a time to come')
      const given = { name, hash: hash.toLowerCase(), scopes: [...new Set(scopes)] }
      const more = withoutUndefined({ client, types, expiresAt })
      const outcome = await store.write({ kind: 'putAccessToken', ...given, ...more })
      if (outcome.as === 'put') return outcome.token
      if (outcome.as === 'taken')
        throw new RuntimeError(
          'already_exists',
          `there is a token ${name}: revoke it first, or take another name`,
          { details: { name } },
        )
      throw new RuntimeError(
        'limit_exceeded',
        `a store keeps ${MAX_ACCESS_TOKENS} tokens at the most; use the name of one that was revoked or has expired`,
        { details: { name, limit: MAX_ACCESS_TOKENS } },
      )
    },
    async list() {
      assertOpen()
      return store.read({ kind: 'accessTokens' })
    },
    async revoke(name) {
      assertOpen()
      assertName('revoke', name)
      return store.write({ kind: 'revokeAccessToken', name })
    },
  }
}

const termRules: Rules<AccessTokenTerms> = {
  hash: [
    'the SHA-256 of the token, 64 hex digits: hashToken makes it',
    (it) => typeof it === 'string' && /^[\da-f]{64}$/i.test(it),
  ],
  scopes: [
    `a list of one or more of ${accessScopes.join(', ')}`,
    (it) => isFilled(it) && it.every((scope) => accessScopes.some((known) => known === scope)),
  ],
  client: nameRule,
  types: ['a list of one or more task types', (it) => isFilled(it) && listOf('', isName)[1](it)],
  expiresAt: [
    'a Date or epoch ms, a time to come',
    (it) => Number.isSafeInteger(it instanceof Date ? it.getTime() : it),
  ],
}

function isFilled(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= 1_000
}

function assertName(call: string, name: unknown): asserts name is string {
  const [expected, accepts] = nameRule
  if (!accepts(name)) throw invalid(`accessTokens.${call}: a name of ${expected}; given ${show(name)}`)
}
