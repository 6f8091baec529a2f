import type { OutcomeOf, Write } from '../store/port.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { accessTokenRecordOf, isEndedToken, MAX_ACCESS_TOKENS } from './access-token.ts'

/** Keeps a token. A name can be used again once its token was revoked or has expired, so that nobody loses access without being asked. */
export function putAccessToken(
  ws: WorkingSet,
  { name, hash, scopes, client, types, expiresAt }: Write<'putAccessToken'>,
): OutcomeOf<'putAccessToken'> {
  const known = ws.accessTokens.get(name)
  if (known !== undefined && !isEndedToken(known, ws.now.at))
    return { as: 'taken', token: accessTokenRecordOf(known) }
  if (known === undefined && ws.accessTokenCount >= MAX_ACCESS_TOKENS) return { as: 'full' }
  const row = {
    name,
    hash,
    scopes,
    client: client ?? null,
    types: types ?? null,
    createdAt: ws.now.at,
    expiresAt: expiresAt ?? null,
    revokedAt: null,
  }
  ws.putAccessToken(row)
  return { as: 'put', token: accessTokenRecordOf(row) }
}

/** The token stays in the list, with the time. */
export function revokeAccessToken(
  ws: WorkingSet,
  { name }: Write<'revokeAccessToken'>,
): OutcomeOf<'revokeAccessToken'> {
  const known = ws.accessTokens.get(name)
  if (known === undefined || known.revokedAt !== null) return undefined
  const row = { ...known, revokedAt: ws.now.at }
  ws.putAccessToken(row)
  return accessTokenRecordOf(row)
}
