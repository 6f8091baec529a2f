import { type AccessScope, ENDED_TOKEN_MS } from '@ku0/agent-runtime-core'
import type { AccessTokenRow, WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import { listed, type RowOf } from './columns.ts'
import { storedList } from './stored.ts'

/** An access token as a row of its table. */
export function accessTokenRow(it: AccessTokenRow): readonly (string | number | null)[] {
  return [
    it.name,
    it.hash,
    JSON.stringify(it.scopes),
    it.client,
    it.types === null ? null : JSON.stringify(it.types),
    it.createdAt,
    it.expiresAt,
    it.revokedAt,
  ]
}

/** Up to when a token has to have ended to be deleted by this flush; undefined if it puts no token. */
export function endedTokensUpTo({ accessTokens, now }: WorkingSet): number | undefined {
  const isPut = [...accessTokens.changed.values()].some(({ revokedAt }) => revokedAt === null)
  return isPut ? now.at - ENDED_TOKEN_MS : undefined
}

/** What a flush and readers ask of access tokens. */
export function prepareAccessTokenLoad(db: Queries) {
  const all = listed('access_token')
  const one = db
    .prepare<[string], RowOf<'access_token'>>(`SELECT ${all} FROM access_token WHERE name = ?`)
    .raw()
  const every = db.prepare<[], RowOf<'access_token'>>(`SELECT ${all} FROM access_token ORDER BY name`).raw()
  const count = db.prepare<[], number>('SELECT count(*) FROM access_token').pluck()
  return {
    byName: (name: string): AccessTokenRow | undefined => {
      const row = one.get(name)
      return row === undefined ? undefined : accessTokenOf(row)
    },
    all: (): readonly AccessTokenRow[] => every.all().map(accessTokenOf),
    count: (): number => count.get() ?? 0,
  }
}

function accessTokenOf([
  name,
  hash,
  scopes,
  client,
  types,
  createdAt,
  expiresAt,
  revokedAt,
]: RowOf<'access_token'>): AccessTokenRow {
  return {
    name,
    hash,
    scopes: storedList<AccessScope>(scopes, 'access_token.scopes'),
    client,
    types: types === null ? null : storedList<string>(types, 'access_token.types'),
    createdAt,
    expiresAt,
    revokedAt,
  }
}
