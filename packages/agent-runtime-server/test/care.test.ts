import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { storeCareOf } from '../src/care/store-care.ts'
import { Verifications } from '../src/care/verifications.ts'
import { createServer } from '../src/index.ts'
import { system } from '../src/system.ts'
import { API_VERSION } from '../src/version.ts'
import { type Call, callerOf, servedRuntime, serverOn, token } from './served.ts'

const folder = mkdtempSync(join(tmpdir(), 'server-care-'))
const path = join(folder, 'tasks.db')
const runtime = await servedRuntime({ store: `sqlite:${path}`, thread: false })
afterAll(() => rmSync(folder, { recursive: true, force: true }))
for (let n = 0; n < 5; n += 1) await runtime.result(await runtime.submit('add', { a: n, b: 1 }))
const server = serverOn(runtime)
const call = callerOf(server)

/** A verification once it is over. */
async function over(ask: Call, body: unknown = {}) {
  const { status, json, headers } = await ask('POST', '/api/v1/verifications', body)
  expect([status, json.state]).toEqual([202, 'running'])
  const at = headers.get('location') ?? ''
  const seen = async () => (await ask('GET', at)).json
  await expect.poll(async () => (await seen()).state).not.toBe('running')
  return seen()
}

test('a server verifies its store while it answers, and what is new since a seal', async () => {
  const { report, ...run } = await over(call)
  const { since, lastGood, ...own } = await verifyStore(`sqlite:${path}`)
  const at = lastGood.at === null ? null : new Date(lastGood.at).toISOString()
  // The anchor follows the commits when the store has time for it.
  const anchored = expect.any(Number) as number
  expect(report).toEqual({ ...own, lastGood: { ...lastGood, at }, sealed: since, anchored })
  expect(run).toMatchObject({ state: 'done', tasks: 5, events: own.events })

  await runtime.result(await runtime.submit('add', { a: 9, b: 9 }))
  const { report: newer } = await over(call, { since: report.seal, maxFaults: 1 })
  expect(newer).toMatchObject({ ok: true, tasks: 1, sealed: report.seal.commit })
  const foreign = { ...report.seal, storeId: '0'.repeat(17) }
  expect(await over(call, { since: foreign })).toMatchObject({
    state: 'failed',
    code: 'invalid_argument',
    problem: expect.stringContaining('since is the seal of store') as string,
  })
})

test('one verification runs at a time; one that is stopped stays so, and an unknown one is none', async () => {
  const first = await call('POST', '/api/v1/verifications', {})
  const second = await call('POST', '/api/v1/verifications', {})
  const at = `/api/v1/verifications/${first.json.id}`
  expect([second.status, second.json.detail]).toEqual([429, expect.stringContaining(first.json.id)])
  expect((await call('DELETE', at)).json.state).toBe('stopped')
  expect((await call('GET', at)).json).toMatchObject({ state: 'stopped' })
  expect((await call('GET', `${at.slice(0, -1)}x`)).status).toBe(400)
  const unknown = at.replace(first.json.id, '00000000-0000-4000-8000-000000000000')
  expect((await call('GET', unknown)).status).toBe(404)
})

test('an older verification makes room, and the end of the server ends one', async () => {
  const closing = new AbortController()
  const errors: unknown[] = []
  const runs = new Verifications(closing.signal, system.timers, (error) => errors.push(error))
  const report = await verifyStore(`sqlite:${path}`)
  for (let n = 0; n < 9; n += 1) {
    await runs.start(`run ${n}`, {}, async () => report)
    await setImmediate()
  }
  expect(() => runs.find('run 0')).toThrow('there is no verification run 0')
  expect(runs.find('run 1').report).toBe(report)
  await runs.start('broken', {}, () => Promise.reject(new Error('the disk said no')))
  await setImmediate()
  expect(runs.find('broken')).toMatchObject({
    state: 'failed',
    code: 'internal',
    problem: expect.not.stringContaining('disk') as string,
  })
  expect(errors).toEqual([new Error('the disk said no')])
  const endless = ({ signal }: { readonly signal?: AbortSignal }) =>
    new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error))
    })
  await runs.start('last', {}, endless)
  closing.abort()
  await setImmediate()
  expect(runs.find('last').state).toBe('stopped')
})

test('a verification waits for the thread of one that was stopped, and not for ever', async () => {
  const armed: (() => void)[] = []
  const timers = {
    after(_: number, run: () => void) {
      armed.push(run)
      return { cancel: () => void armed.splice(armed.indexOf(run), 1) }
    },
  }
  const runs = new Verifications(new AbortController().signal, timers, () => {})
  const thread = Promise.withResolvers<never>()
  const start = (id: string) => runs.start(id, {}, () => new Promise<never>(() => {}))
  await runs.start('first', {}, () => thread.promise)
  await expect(start('second')).rejects.toThrow('the verification first runs; one runs at a time')
  expect([runs.stop('first').state, armed]).toEqual(['stopped', []])

  const late = start('late')
  armed[0]?.()
  await expect(late).rejects.toThrow('the verification first is about to end; one runs at a time')
  const [third, fourth] = [start('third'), start('fourth')]
  thread.reject(new Error('stopped'))
  expect([(await third).state, runs.find('first').state]).toEqual(['running', 'stopped'])
  await expect(fourth).rejects.toThrow('the verification third runs; one runs at a time')
  expect(armed).toEqual([])
})

test('the end of a server ends a verification that waits, and leaves no copy behind', async () => {
  const temporary = mkdtempSync(join(folder, 'temporary-'))
  vi.stubEnv('TMPDIR', temporary)
  onTestFinished(() => void vi.unstubAllEnvs())
  const silent = createTcpServer((socket) => void socket.resume().on('error', () => {}))
  onTestFinished(() => void silent.close())
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const { port } = silent.address() as AddressInfo
  const ending = createServer(runtime, { storeUrl: `postgres://somebody@127.0.0.1:${port}/none` })
  onTestFinished(() => ending.close())
  const reached = once(silent, 'connection')
  const { status } = await callerOf(ending)('POST', '/api/v1/verifications', {})
  expect(status).toBe(202)
  await reached
  expect(readdirSync(temporary)).toHaveLength(1)
  await ending.close()
  expect(readdirSync(temporary)).toEqual([])
})

test('inspections that are asked for at once are one, and HEAD makes none', async () => {
  const care = storeCareOf(runtime, undefined)
  const [one, same] = await Promise.all([care.inspect(), care.inspect()])
  expect(same).toBe(one)
  expect(await care.inspect()).not.toBe(one)
  const asked = new Request('http://localhost/api/v1/inspection', { method: 'HEAD' })
  const { status, headers } = await server.fetch(asked)
  expect([status, headers.get('allow')]).toEqual([405, 'GET'])
})

test('a server says how its store is set up, to the scope admin alone', async () => {
  const { status, json } = await call('GET', '/api/v1/inspection')
  expect([status, json]).toMatchObject([
    200,
    {
      ok: true,
      path,
      storeId: runtime.info.storeId,
      counts: { tasks: 6 },
      durability: { journalMode: 'wal' },
    },
  ])
  const ask = callerOf(serverOn(runtime, { tokens: [token('all', ['read', 'submit', 'operate', 'work'])] }), {
    authorization: 'Bearer all',
  })
  expect((await ask('GET', '/api/v1/inspection')).status).toBe(403)
  expect((await ask('POST', '/api/v1/verifications', {})).status).toBe(403)
})

test('a read-only server verifies, since that changes nothing', async () => {
  const ask = callerOf(serverOn(runtime, { readOnly: true }))
  const { status, headers } = await ask('POST', '/api/v1/verifications', {})
  expect([status, (await ask('DELETE', headers.get('location') ?? '')).json.state]).toEqual([202, 'stopped'])
  expect((await ask('GET', '/api/v1/inspection')).status).toBe(403)
})

test('a store in memory is not looked at beside its runtime', async () => {
  const ask = callerOf(serverOn(await servedRuntime()))
  const answers = [await ask('POST', '/api/v1/verifications', {}), await ask('GET', '/api/v1/inspection')]
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
    [501, 'no_store_place'],
    [501, 'no_store_place'],
  ])
})

test('a server says which it is, what time it has, and what the token allows', async () => {
  const { json } = await call('GET', '/api/v1/info')
  expect(json).toMatchObject({
    apiVersion: API_VERSION,
    versions: { node: process.versions.node },
    readOnly: false,
    remoteWorkers: false,
  })
  expect(json).not.toHaveProperty('token')
  expect(new Date(json.at).toISOString()).toBe(json.at)
  const expiresAt = '2999-01-01T00:00:00.000Z'
  const bound = token('mine', ['read'], { client: 'acme', types: ['add'], expiresAt: new Date(expiresAt) })
  const ask = callerOf(serverOn(runtime, { tokens: [bound], readOnly: true }), {
    authorization: 'Bearer mine',
  })
  expect((await ask('GET', '/api/v1/info')).json).toMatchObject({
    readOnly: true,
    scopes: ['read'],
    token: { name: 'mine', client: 'acme', types: ['add'], expiresAt },
  })
})
