import { expect, test } from 'vitest'
import { MAX_ACCESS_TOKENS } from '../../src/access/access-token.ts'
import { putAccessToken, revokeAccessToken } from '../../src/access/transitions.ts'
import type { AccessTokenRow } from '../../src/transition.ts'
import { accessToken, now, workingSet } from '../transition/rows.ts'

const { at } = now
const ci = { kind: 'putAccessToken', name: 'ci', hash: 'cd'.repeat(32), scopes: ['submit', 'read'] } as const
const having = (changes: Partial<AccessTokenRow> = {}) =>
  workingSet({ accessTokens: new Map([['ci', accessToken(changes)]]), accessTokenCount: 1 })

test('a token is kept as it was given, from the time of its commit on', () => {
  const ws = workingSet({})
  const terms = { client: 'acme', types: ['greet'], expiresAt: at + 1 }
  const { kind: _, ...given } = { ...ci, ...terms }
  expect(putAccessToken(ws, { ...ci, ...terms })).toEqual({ as: 'put', token: { ...given, createdAt: at } })
  expect([ws.accessTokenCount, ws.hasChanges]).toEqual([1, true])
  expect(ws.accessTokens.changed.get('ci')).toMatchObject({
    client: 'acme',
    types: ['greet'],
    revokedAt: null,
  })
})

test('a name is taken for as long as its token is accepted', () => {
  const ws = having({ expiresAt: at + 1 })
  expect(putAccessToken(ws, ci)).toMatchObject({ as: 'taken', token: { hash: 'ab'.repeat(32) } })
  expect(ws.hasChanges).toBe(false)
  for (const ended of [{ expiresAt: at }, { revokedAt: at - 1 }]) {
    const free = having(ended)
    expect(putAccessToken(free, ci)).toMatchObject({ as: 'put', token: { hash: ci.hash } })
    expect([free.accessTokenCount, free.accessTokens.get('ci')?.revokedAt]).toEqual([1, null])
  }
})

test('so many are kept, ended ones among them; a name that is known needs no more room', () => {
  const full = { accessTokenCount: MAX_ACCESS_TOKENS }
  expect(putAccessToken(workingSet(full), ci)).toEqual({ as: 'full' })
  expect(putAccessToken(workingSet({ accessTokenCount: MAX_ACCESS_TOKENS - 1 }), ci)).toMatchObject({
    as: 'put',
  })
  const known = new Map([['ci', accessToken({ revokedAt: 20 })]])
  expect(putAccessToken(workingSet({ ...full, accessTokens: known }), ci)).toMatchObject({ as: 'put' })
})

test('a token is revoked once, also after it has expired, and its time stays', () => {
  const ws = having({ expiresAt: 20 })
  const revoked = revokeAccessToken(ws, { kind: 'revokeAccessToken', name: 'ci' })
  expect(revoked).toMatchObject({ name: 'ci', expiresAt: 20, revokedAt: at })
  expect(revokeAccessToken(ws, { kind: 'revokeAccessToken', name: 'ci' })).toBeUndefined()
  expect(revokeAccessToken(workingSet({}), { kind: 'revokeAccessToken', name: 'ci' })).toBeUndefined()
  expect(ws.accessTokenCount).toBe(1)
})
