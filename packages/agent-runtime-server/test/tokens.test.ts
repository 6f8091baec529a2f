import type { Timers } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { hashToken, serve } from '../src/index.ts'
import { system } from '../src/system.ts'
import { callerOf, servedRuntime, serverOn } from './served.ts'

/** A server with the tokens of its store, on a clock of its own. */
async function storeServer({ timers = system.timers, ...more }: { exposed?: boolean; timers?: Timers } = {}) {
  const runtime = await servedRuntime()
  const time = { at: 1_800_000_000_000 }
  const clock = { now: () => time.at, monotonic: () => time.at }
  const server = serverOn(runtime, { tokens: 'store', environment: { ...system, clock, timers }, ...more })
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

test('a stream and a long poll that are open end at the next beat once their token was revoked or has expired', async () => {
  const { runtime, time, server, beat } = await beatingServer()
  const { taskId } = await runtime.submit('wait', null)
  const expiresAt = new Date(time.at + 5_000)
  await runtime.accessTokens.put('kept', { hash: hashToken('kept'), scopes: ['read'] })
  await runtime.accessTokens.put('lost', { hash: hashToken('lost'), scopes: ['read'] })
  await runtime.accessTokens.put('late', { hash: hashToken('late'), scopes: ['read'], expiresAt })
  const get = (path: string, token: string, accept: string) =>
    server.fetch(
      new Request(`http://localhost/api/v1/tasks/${taskId}/${path}`, {
        headers: { accept, authorization: `Bearer ${token}` },
      }),
    )
  const open = (token: string) => get('events', token, 'text/event-stream')
  const [kept, lost, late] = await Promise.all(['kept', 'lost', 'late'].map(open))
  const rests = [lost, late].map((stream) => stream?.text())
  const result = get('result?waitMs=60000', 'lost', 'application/json')
  await beat()
  await runtime.accessTokens.revoke('lost')
  time.at += 5_000
  await beat()
  for (const rest of rests) {
    const text = await rest
    expect(text?.split('event: ')[1]).toMatch(/^problem\ndata: .*"code":"unauthenticated"/)
    expect(text).toContain('the token was revoked or has expired')
  }
  expect((await result).status).toBe(401)
  const following = kept?.text()
  await beat()
  await runtime.signal(taskId, 'go')
  expect(await following).toMatch(/task\.completed[^]*event: end/)
})

test('a submission whose token was revoked while it waits is answered with its receipt alone', async () => {
  const { runtime, time, server, beat } = await beatingServer()
  await runtime.accessTokens.put('lost', { hash: hashToken('lost'), scopes: ['read', 'submit'] })
  const asked = server.fetch(
    new Request('http://localhost/api/v1/tasks?waitMs=60000', {
      method: 'POST',
      headers: { authorization: 'Bearer lost', 'content-type': 'application/json' },
      body: JSON.stringify({ task: 'wait', input: null, options: { taskId: 'stored' } }),
    }),
  )
  await expect.poll(async () => (await runtime.status('stored'))?.state, { timeout: 50_000 }).toBe('waiting')
  await runtime.accessTokens.revoke('lost')
  time.at += 1_000
  await beat()
  const answer = await asked
  expect([answer.status, await answer.json()]).toEqual([
    201,
    { accepted: true, taskId: 'stored', sequence: 1, deduplicated: false },
  ])
})

test('a stream of an open server ends once its store holds a token', async () => {
  const { runtime, time, server, beat } = await beatingServer()
  const { taskId } = await runtime.submit('wait', null)
  const { body } = await server.fetch(
    new Request(`http://localhost/api/v1/tasks/${taskId}/events`, {
      headers: { accept: 'text/event-stream' },
    }),
  )
  const text = new Response(body).text()
  await runtime.accessTokens.put('ci', { hash: hashToken('one'), scopes: ['read'] })
  time.at += 1_000
  await beat()
  expect(await text).toContain('event: problem')
})

/** The same with timers that fire when the test says so, and a way to await what they began. */
async function beatingServer() {
  const armed = new Set<() => void>()
  const after = (_delayMs: number, run: () => void) => {
    armed.add(run)
    return { cancel: () => void armed.delete(run) }
  }
  const made = await storeServer({ timers: { after } })
  const beat = async () => {
    const due = [...armed]
    armed.clear()
    for (const run of due) run()
    // A look at the store in memory ends within a few turns.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  return { ...made, beat }
}
