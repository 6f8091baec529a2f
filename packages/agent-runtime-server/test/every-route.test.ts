import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { openStore } from '@ku0/agent-runtime-persistence'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { problemsOf } from '../src/document.ts'
import { scopes } from '../src/index.ts'
import { endpoints } from '../src/routes/endpoints.ts'
import { setScene } from './scene.ts'
import { type Call, callerOf, servedRuntime, serverOn, token } from './served.ts'

// On a slow machine the connection and the lease of the scene are there until the last test.
const store = await openStore('sqlite::memory:', {
  lines: true,
  thread: false,
  checked: false,
  config: { leaseTtlMs: 600_000 },
})
const runtime = await servedRuntime({ store })
// What looks after a store needs one on a file.
const folder = mkdtempSync(join(tmpdir(), 'server-routes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const storeUrl = `sqlite:${join(folder, 'tasks.db')}`
await (await openStore(storeUrl, { thread: false })).close()
const server = serverOn(runtime, {
  remoteWorkers: store,
  storeUrl,
  tokens: [
    ...scopes.map((scope) => token(scope, [scope])),
    token(
      'bound',
      scopes.filter((scope) => scope !== 'admin'),
      { client: 'acme' },
    ),
  ],
  reports: {
    list: async () => [{ name: 'main.json', bytes: 20, changedAt: 0 }],
    read: async () => '{"schemaVersion":1}',
  },
  limits: { maxBodyBytes: 10_000, maxRequestsPerSecond: 1_000_000 },
})
const raw = callerOf(server)
const as =
  (name: string): Call =>
  (method, path, body, more = {}) =>
    raw(method, `/api/v1${path}`, body, { authorization: `Bearer ${name}`, ...more })
const admin = as('admin')
const scene = await setScene(store, runtime, admin)
const goodOf = (id: string) => scene.get(id) ?? { path: '' }
const bodied = endpoints.filter(({ method }) => method !== 'get')

/** What a refused request must not change. */
async function state(): Promise<string> {
  const { tasks } = await runtime.list({ limit: 1_000 })
  const { approvals } = await runtime.approvals.list()
  const histories = await Promise.all(
    tasks.map(async ({ taskId }) => [
      taskId,
      (await runtime.history(taskId, { limit: 1_000 })).events.length,
    ]),
  )
  return JSON.stringify([
    histories,
    approvals,
    await runtime.schedules.list(),
    await runtime.clients.list(),
    await runtime.accessTokens.list(),
  ])
}

/** Runs requests that are all refused, and looks whether they did anything. */
async function withoutEffect(run: () => Promise<void>): Promise<void> {
  const before = await state()
  await run()
  expect(await state()).toBe(before)
  expect(server.errors).toEqual([])
}

describe('every route', () => {
  test('is refused without a token, under another name, and from another origin', () =>
    withoutEffect(async () => {
      for (const { id, method } of endpoints) {
        const { path, body } = goodOf(id)
        const call = (more: Record<string, string>) => raw(method.toUpperCase(), `/api/v1${path}`, body, more)
        const authorization = 'Bearer admin'
        const answers = await Promise.all([
          call({}),
          call({ authorization: 'Bearer nobody' }),
          call({ authorization, host: 'evil.example' }),
          call({ authorization, origin: 'https://evil.example' }),
          call({ authorization, 'sec-fetch-site': 'cross-site' }),
        ])
        expect([id, ...answers.map(({ status }) => status)]).toEqual([id, 401, 401, 403, 403, 403])
      }
    }))

  test('is refused to every scope but its own', () =>
    withoutEffect(async () => {
      for (const { id, method, scope } of endpoints) {
        const { path, body } = goodOf(id)
        for (const other of scopes.filter((it) => it !== scope && it !== 'admin')) {
          const { status, json } = await as(other)(method.toUpperCase(), path, body)
          expect([id, other, status, json.code]).toEqual([id, other, 403, 'forbidden'])
        }
      }
    }))

  test('is refused to a token of one client, if it is about the whole store', () =>
    withoutEffect(async () => {
      for (const { id, method, bound } of endpoints) {
        if (bound !== 'none') continue
        const { path, body } = goodOf(id)
        expect([id, (await as('bound')(method.toUpperCase(), path, body)).status]).toEqual([id, 403])
      }
    }))

  test('refuses bodies that are none, too large, or of another shape', () =>
    withoutEffect(async () => {
      for (const { id, method, body: schema, maxBytes } of bodied) {
        const { path } = goodOf(id)
        const call = (body: unknown, more = {}) => admin(method.toUpperCase(), path, body, more)
        const statuses = [
          (await call('{', {})).status,
          (await call(`"${'x'.repeat(20_000)}"`)).status,
          (await call('{}', { 'content-type': 'text/plain' })).status,
          (await call([])).status,
          (await call({ constructor: 1, __proto_: 2 })).status,
          (await call('\u{1f}"')).status,
        ]
        // Frames have a bound of their own, far above this one.
        const large = maxBytes === undefined ? 413 : 400
        expect([id, ...statuses]).toEqual([id, 400, large, 415, 400, 400, 400])
        const { json } = await call({ nonsense: 1 })
        const fields = json.fields.map(({ field }: { field: string }) => field)
        expect([id, fields]).toEqual([
          id,
          expect.arrayContaining([schema === undefined ? 'body' : 'body.nonsense']),
        ])
      }
    }))

  test('that changes something says what a repeated request does, and refuses a key that it cannot keep', () =>
    withoutEffect(async () => {
      for (const { id, method, repeat, headers } of endpoints) {
        expect([id, repeat !== undefined]).toEqual([id, method !== 'get'])
        const takesKey = headers !== undefined && 'idempotency-key' in headers.shape
        expect([id, takesKey]).toEqual([id, repeat === 'keyed'])
        if (repeat !== 'anew') continue
        const { path, body } = goodOf(id)
        const { status, json } = await admin(method.toUpperCase(), path, body, { 'idempotency-key': 'k' })
        expect([id, status, json.fields?.[0].field]).toEqual([id, 400, 'header Idempotency-Key'])
      }
    }))

  test('that takes a key does nothing more when the key comes again', async () => {
    for (const { id, method, repeat } of endpoints) {
      if (repeat !== 'keyed') continue
      const { path, body } = goodOf(id)
      const given = id === 'purchaseCredits' ? { amount: 5 } : body
      const call = (key: string) => admin(method.toUpperCase(), path, given, { 'idempotency-key': key })
      const [first, again, other] = [await call(`${id} 1`), await call(`${id} 1`), await call(`${id} 2`)]
      expect([id, first.status, again.status, other.status]).toEqual([id, 201, 201, 201])
      const known = (it: Record<string, unknown>) => ({ ...it, deduplicated: undefined })
      expect([id, known(again.json)]).toEqual([id, known(first.json)])
      expect([id, known(other.json)]).not.toEqual([id, known(first.json)])
      expect([id, (await call('k'.repeat(256))).status]).toEqual([id, 400])
    }
    expect(server.errors).toEqual([])
  })

  test('refuses queries of another shape', () =>
    withoutEffect(async () => {
      for (const { id, method, query } of endpoints) {
        const path = goodOf(id).path.split('?')[0] ?? ''
        const wrong = [
          'nonsense=1',
          '__proto__=1',
          ...(query === undefined ? [] : ['limit=0', 'limit=x&limit=2']),
        ]
        for (const search of wrong) {
          const { status } = await admin(method.toUpperCase(), `${path}?${search}`, goodOf(id).body)
          expect([id, search, status]).toEqual([id, search, 400])
        }
      }
      for (const cursor of ['-1', 'x', '1e9', '9'.repeat(30), '%00', '1;drop'])
        for (const path of [
          '/tasks',
          '/pipelines',
          '/supervisors',
          '/leases',
          '/dead-letters',
          '/approvals',
          '/budgets',
        ])
          expect((await admin('GET', `${path}?cursor=${cursor}`)).status).toBe(400)
    }))

  test('answers ids that are none with 400 or 404', () =>
    withoutEffect(async () => {
      const hostile = [
        '%00',
        '..%2f..',
        "'%20OR%201=1",
        '__proto__',
        '%F0%9F%98%80',
        'x'.repeat(256),
        '%ED%A0%80',
      ]
      for (const { id, method, path, body } of endpoints) {
        if (
          !path.includes('{') ||
          /^(setClient|purchaseCredits|listEntries|putSchedule|recordEvaluation|listEvaluations)$/.test(id)
        )
          continue
        for (const name of hostile) {
          const given = body === undefined ? undefined : (goodOf(id).body ?? {})
          const { status } = await admin(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, name), given)
          expect([id, name, [400, 404].includes(status) ? 'refused' : status]).toEqual([id, name, 'refused'])
        }
      }
    }))

  test('answers a good request as the document says, and a repeated one, too', async () => {
    for (const { id, method, answers, repeat } of endpoints) {
      const { path, body, status: meant } = goodOf(id)
      const { status, json, text } = await admin(method.toUpperCase(), path, body)
      expect([id, status, text]).toEqual([id, meant ?? Number(Object.keys(answers)[0]), text])
      const isRepeated = repeat === 'harmless' || repeat === 'refused'
      const again = isRepeated ? (await admin(method.toUpperCase(), path, body)).status : status
      // A thing that is gone cannot be removed once more.
      const gone = method === 'delete' ? [404] : []
      expect([id, repeat === 'refused' ? [409] : [status, ...gone]]).toEqual([
        id,
        expect.arrayContaining([again]),
      ])
      const schema = answers[status]?.schema
      if (schema === undefined) continue
      const { success, error } = schema.safeParse(json)
      expect([id, success, error?.message]).toEqual([id, true, undefined])
    }
    expect(server.errors).toEqual([])
  })
})

test('G13 no request to a route is a fault of the server, and no answer shows its inside', async () => {
  const name = fc.oneof(
    // A URL has no segment '.' or '..': the path would be that of another route.
    fc.string({ maxLength: 20 }).filter((it) => !/^\.{1,2}$/.test(it)),
    fc.constantFrom('done', 'failed', 'lasting', 'nightly', 'ann'),
  )
  const request = fc.record({
    id: fc.constantFrom(...endpoints.map(({ id }) => id)),
    name,
    query: fc.dictionary(fc.constantFrom('limit', 'cursor', 'states', 'after', 'waitMs', 'text', 'x'), name, {
      maxKeys: 2,
    }),
    body: fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record({ task: name, input: fc.jsonValue() }),
      fc.string(),
    ),
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ id, name: given, query, body }) => {
      const route = endpoints.find((it) => it.id === id)
      if (route === undefined) return
      const path = route.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(given) || '_')
      const search = new URLSearchParams({ ...query, ...(route.id === 'showResult' ? { waitMs: '0' } : {}) })
      const sent = route.method === 'get' ? undefined : body
      const { status, text, headers } = await admin(
        route.method.toUpperCase(),
        `${path}?${search.toString()}`,
        sent,
      )
      const documented = [...Object.keys(route.answers).map(Number), ...problemsOf(route)]
      expect([...documented, 404]).toContain(status)
      if (status < 400) return
      expect(text).not.toMatch(/\n {4}at |node_modules|\.ts:\d/)
      expect(headers.get('content-type')).toBe('application/problem+json')
    }),
    { numRuns: 150 },
  )
  expect(server.errors).toEqual([])
})

test('a bulk action is counted, done in slices, and submits nothing twice', async () => {
  for (const n of [1, 2, 3])
    await runtime.submit('fail', null, { taskId: `bulk-${n}`, labels: { bulk: 'yes' } })
  for (const n of [1, 2, 3]) await runtime.result(`bulk-${n}`).catch(() => {})
  const filter = { labels: { bulk: 'yes' } }
  const counted = await admin('POST', '/tasks:bulk', { action: 'retry', filter })
  expect(counted.json).toMatchObject({ state: 'counted', count: 3, done: 0 })
  const before = await runtime.count()
  const path = `/tasks:bulk/${counted.json.token}`
  expect((await as('operate')('POST', path)).status).toBe(404)
  await Promise.all([admin('POST', path), admin('POST', path)])
  let seen = await admin('GET', path)
  while (seen.json.state === 'running') {
    await setImmediate()
    seen = await admin('GET', path)
  }
  expect(seen.json).toMatchObject({ state: 'done', done: 3, changed: 3, before: 0, rejected: 0 })
  expect(await runtime.count()).toBe(before + 3)

  // The keys are those of a single retry.
  const single = await admin('POST', '/tasks/bulk-1/retry', {})
  expect(single.json).toMatchObject({ deduplicated: true })
  const run = async (body: object) => {
    const { json } = await admin('POST', '/tasks:bulk', { action: 'retry', ...body })
    let now = await admin('POST', `/tasks:bulk/${json.token}`)
    while (now.json.state === 'running') {
      await setImmediate()
      now = await admin('GET', `/tasks:bulk/${json.token}`)
    }
    return now.json
  }
  const named = { taskIds: ['bulk-1', 'bulk-2', 'nobody', 'bulk-1'] }
  expect(await run(named)).toMatchObject({ state: 'done', count: 2, changed: 0, before: 2 })
  expect(await run({ ...named, again: true })).toMatchObject({ count: 2, changed: 2, before: 0 })
  for (const body of [{}, { ...named, filter }, { taskIds: [] }])
    expect((await admin('POST', '/tasks:bulk', { action: 'retry', ...body })).status).toBe(400)

  const stopped = await admin('POST', '/tasks:bulk', { action: 'cancel', filter: { types: ['wait'] } })
  const { json } = await admin('DELETE', `/tasks:bulk/${stopped.json.token}`)
  expect(json.state).toBe('stopped')
  expect((await admin('POST', `/tasks:bulk/${stopped.json.token}`)).json.state).toBe('stopped')
  const wrong = await admin('POST', '/tasks:bulk', { action: 'cancel', filter: { states: ['failed'] } })
  expect(wrong.status).toBe(400)
})
