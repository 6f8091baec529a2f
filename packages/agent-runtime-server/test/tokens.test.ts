import { expect, test } from 'vitest'
import { hashToken, serve } from '../src/index.ts'
import { system } from '../src/system.ts'
import { callerOf, servedRuntime, serverOn } from './served.ts'

/** A server with the tokens of its store, on a clock of its own. */
async function storeServer(more: { readonly exposed?: boolean } = {}) {
  const runtime = await servedRuntime()
  const time = { at: 1_800_000_000_000 }
  const clock = { now: () => time.at, monotonic: () => time.at }
  const server = serverOn(runtime, { tokens: 'store', environment: { ...system, clock }, ...more })
  const raw = callerOf(server)
  const call = (method: string, path: string, token?: string, body?: unknown) =>
    raw(method, `/api/v1${path}`, body, token === undefined ? {} : { authorization: `Bearer ${token}` })
  const status = async (token?: string) => (await call('GET', '/tasks', token)).status
  return { runtime, time, server, call, status }
}

test('a server on loopback is open until its store holds a token, and never again', async () => {
  const { runtime, time, status } = await storeServer()
  expect(await status()).toBe(200)
  await runtime.accessTokens.put('ci', { hash: hashToken('one'), scopes: ['read'] })
  time.at += 1_000
  expect([await status(), await status('two'), await status('one')]).toEqual([401, 401, 200])
  await runtime.accessTokens.revoke('ci')
  expect(await status('one')).toBe(200)
  time.at += 1_000
  expect([await status('one'), await status()]).toEqual([401, 401])
})

test('a token that has expired is refused at that moment', async () => {
  const { runtime, time, status } = await storeServer()
  const expiresAt = new Date(Date.UTC(2999, 0))
  await runtime.accessTokens.put('ci', { hash: hashToken('one').toUpperCase(), scopes: ['read'], expiresAt })
  time.at = Number(expiresAt) - 1
  expect(await status('one')).toBe(200)
  time.at += 1
  expect(await status('one')).toBe(401)
})

test('a server that other machines reach is never open, and does not start without a token', async () => {
  const { runtime, status } = await storeServer({ exposed: true })
  expect(await status()).toBe(401)
  const options = { host: '0.0.0.0', hosts: ['tasks.example.com'], port: 0, tokens: 'store' } as const
  await expect(serve(runtime, options)).rejects.toThrow(/tokens: at least one token in the store/)
  const behindProxy = { hosts: ['tasks.example.com'], port: 0, tokens: 'store' } as const
  await expect(serve(runtime, behindProxy)).rejects.toThrow(/tokens: at least one token in the store/)
  await runtime.accessTokens.put('ci', { hash: hashToken('one'), scopes: ['read'] })
  await runtime.accessTokens.revoke('ci')
  await expect(serve(runtime, options)).rejects.toThrow(/tokens: at least one token in the store/)
})

test('a token is made, used, listed without its hash, and revoked over HTTP', async () => {
  const { time, call, status } = await storeServer()
  const made = await call('POST', '/tokens', undefined, { name: 'chief', scopes: ['admin'] })
  const { token } = made.json
  expect([made.status, token]).toEqual([201, expect.stringMatching(/^ku0_[\w-]{43}$/)])
  time.at += 1_000
  expect(await status()).toBe(401)
  const hash = hashToken('mine')
  const kept = await call('POST', '/tokens', token, { name: 'mine', scopes: ['read'], hash })
  expect([kept.status, kept.json.token]).toEqual([201, undefined])
  expect((await call('POST', '/tokens', token, { name: 'mine', scopes: ['read'] })).status).toBe(409)
  const listed = await call('GET', '/tokens', token)
  expect(listed.json.tokens).toMatchObject([{ name: 'chief', scopes: ['admin'] }, { name: 'mine' }])
  expect(listed.text).not.toContain(hash)
  time.at += 1_000
  expect([await status('mine'), (await call('GET', '/tokens', 'mine')).status]).toEqual([200, 403])
  expect((await call('DELETE', '/tokens/mine', token)).json).toMatchObject({ name: 'mine' })
  expect((await call('DELETE', '/tokens/mine', token)).status).toBe(404)
  time.at += 1_000
  expect(await status('mine')).toBe(401)
})

test('while the store cannot be read the tokens that are known stay, and before that nobody is let in', async () => {
  const { runtime, time, server, status } = await storeServer()
  await runtime.accessTokens.put('ci', { hash: hashToken('one'), scopes: ['read'] })
  expect(await status('one')).toBe(200)
  const late = serverOn(runtime, { tokens: 'store' })
  await runtime.close()
  time.at += 1_000
  expect([await status('one'), await status('two'), await status()]).toEqual([503, 401, 401])
  expect(server.errors).toHaveLength(1)
  expect((await callerOf(late)('GET', '/api/v1/tasks')).status).toBe(503)
})
