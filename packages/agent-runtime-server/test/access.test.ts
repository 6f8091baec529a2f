import { describe, expect, test } from 'vitest'
import { createServer, hashToken } from '../src/index.ts'
import { callerOf, servedRuntime, serverOn, token } from './served.ts'

const runtime = await servedRuntime()

test('X18 each refusal names its request, and a fault of the server stands in its log under that name', async () => {
  const log: unknown[][] = []
  const reports = {
    list: () => Promise.reject(new Error('the disk is gone')),
    read: async () => undefined,
  }
  const call = callerOf(serverOn(runtime, { reports, onError: (...told) => log.push(told) }))
  const names: unknown[] = []
  for (const path of ['/tasks/nobody', '/tasks/nobody', '/nothing', '/tasks?limit=x', '/reports']) {
    const { json, text } = await call('GET', `/api/v1${path}`)
    expect([path, json.instance]).toEqual([path, expect.stringMatching(/^urn:uuid:[\da-f-]{36}$/)])
    expect(text).not.toContain('disk')
    names.push(json.instance)
  }
  expect(new Set(names).size).toBe(5)
  expect(log).toEqual([[new Error('the disk is gone'), names[4]]])
})

describe('without tokens', () => {
  const call = callerOf(serverOn(runtime))

  test('X02 the names of loopback are served, with any port, and no other name', async () => {
    for (const host of ['localhost', 'localhost:7000', '127.0.0.1:81', '[::1]:7000', 'LOCALHOST'])
      expect([host, (await call('GET', '/api/v1/tasks', undefined, { host })).status]).toEqual([host, 200])
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example:7000',
      '10.0.0.1',
      '',
    ]) {
      const { status, json } = await call('GET', '/api/v1/tasks', undefined, { host })
      expect([host, status, json.code]).toEqual([host, 403, 'host_refused'])
    }
  })

  test('X03 X04 a page of another origin is refused, for reading as for writing', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://localhost:7001' },
    ])
      for (const [method, path] of [
        ['GET', '/api/v1/tasks'],
        ['GET', '/api/v1/openapi.json'],
        ['POST', '/api/v1/tasks'],
        ['GET', '/nothing/there'],
      ] as const) {
        const { status, json } = await call(method, path, undefined, headers)
        expect([method, path, headers, status, json.code]).toEqual([
          method,
          path,
          headers,
          403,
          'origin_refused',
        ])
      }
    const own = { origin: 'http://localhost:7000', 'sec-fetch-site': 'same-origin', host: 'localhost:7000' }
    expect((await call('GET', '/api/v1/tasks', undefined, own)).status).toBe(200)
  })

  test('X03 a form cannot submit: a body that is not JSON is refused before it is read', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const { status } = await call('POST', '/api/v1/tasks', '{"task":"add","input":1}', {
        'content-type': type,
      })
      expect([type, status]).toEqual([type, 415])
    }
    const forged = await call('POST', '/api/v1/tasks/x/cancel', 'reason=x', { 'content-type': 'text/plain' })
    expect(forged.status).toBe(415)
  })

  test('G01 a compressed body is refused, since unpacked it could be of any size', async () => {
    for (const [coding, meant] of [
      ['gzip', 415],
      ['br', 415],
      ['identity', 201],
    ] as const) {
      const body = { task: 'add', input: { a: 1, b: 1 } }
      const { status } = await call('POST', '/api/v1/tasks', body, { 'content-encoding': coding })
      expect([coding, status]).toEqual([coding, meant])
    }
  })

  test('every answer forbids what a page could do with it', async () => {
    for (const path of ['/api/v1/tasks', '/nothing']) {
      const { headers } = await call('GET', path)
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })

  test('other names need tokens', () => {
    expect(() => createServer(runtime, { hosts: ['tasks.example.com'] })).toThrow(
      /tokens: at least one token/,
    )
    expect(() => createServer(runtime, { exposed: true })).toThrow(/tokens: at least one token/)
  })
})

describe('with tokens', () => {
  const server = serverOn(runtime, {
    hosts: ['tasks.example.com'],
    tokens: [
      token('reader', ['read']),
      token('submitter', ['submit']),
      token('operator', ['read', 'operate']),
      token('chief', ['admin']),
      token('late', ['admin'], { expiresAt: new Date(0) }),
      token('acme', ['read', 'submit', 'operate'], { client: 'acme' }),
      token('speaker', ['read', 'submit'], { types: ['speak'] }),
      token('watcher', ['read', 'operate'], { types: ['watch-over'] }),
    ],
  })
  const call = callerOf(server, { host: 'tasks.example.com' })
  const as = (name: string) => ({ authorization: `Bearer ${name}` })

  test('X05 a request without one is refused, whatever it asks for', async () => {
    for (const path of [
      '/api/v1/tasks',
      '/api/v1/tasks/x',
      '/api/v1/nothing',
      // A token in an address would stand in logs and histories.
      '/api/v1/tasks?token=chief',
    ]) {
      const { status, headers } = await call('GET', path)
      expect([path, status, headers.get('www-authenticate')]).toEqual([path, 401, 'Bearer'])
    }
    for (const authorization of ['Bearer nobody', 'Bearer late', 'Basic cmVhZGVy', 'reader', 'Bearer '])
      expect((await call('GET', '/api/v1/tasks', undefined, { authorization })).status).toBe(401)
  })

  test('a scope allows what it says', async () => {
    const add = { task: 'add', input: { a: 1, b: 1 } }
    const statuses = async (name: string) => [
      (await call('GET', '/api/v1/tasks', undefined, as(name))).status,
      (await call('POST', '/api/v1/tasks', add, as(name))).status,
      (await call('POST', '/api/v1/tasks/nobody/cancel', {}, as(name))).status,
    ]
    expect(await statuses('reader')).toEqual([200, 403, 403])
    expect(await statuses('submitter')).toEqual([403, 201, 403])
    expect(await statuses('operator')).toEqual([200, 403, 404])
    expect(await statuses('chief')).toEqual([200, 201, 404])
  })

  test("a client's token submits for that client, and sees its own tasks only", async () => {
    const other = await runtime.submit('speak', 0, { client: 'other' })
    const mine = await call(
      'POST',
      '/api/v1/tasks',
      { task: 'speak', input: 0, options: { client: 'other', idempotencyKey: 'k' } },
      as('acme'),
    )
    expect((await runtime.status(mine.json.taskId))?.client).toBe('acme')

    const listed = await call('GET', '/api/v1/tasks?count=true', undefined, as('acme'))
    expect(listed.json.tasks.map(({ taskId }: { taskId: string }) => taskId)).toEqual([mine.json.taskId])
    expect(listed.json.count).toBe(1)
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/result'],
      ['GET', '/events'],
      ['POST', '/cancel'],
      ['POST', '/retry'],
    ] as const) {
      const foreign = await call(method, `/api/v1/tasks/${other.taskId}${path}`, undefined, as('acme'))
      expect([path, foreign.status]).toEqual([path, 404])
    }
    // The same key of another client is another key.
    const theirs = await runtime.submit('speak', 0, { client: 'other', idempotencyKey: 'k' })
    expect(theirs.taskId).not.toBe(mine.json.taskId)
  })

  test("12.5 a client's token sees and names the agreements of that client only", async () => {
    const listed = async (name: string) => {
      const { json } = await call('GET', '/api/v1/agreements', undefined, as(name))
      return json.agreements.map((it: { name: string }) => it.name)
    }
    expect(await listed('chief')).toEqual(['gold', 'theirs'])
    expect(await listed('acme')).toEqual(['gold'])
    const submit = (agreement: string) =>
      call('POST', '/api/v1/tasks', { task: 'speak', input: 0, options: { agreement } }, as('acme'))
    expect(await submit('theirs')).toMatchObject({
      status: 400,
      json: { detail: 'body.options.agreement: there is no agreement "theirs": you may use gold' },
    })
    const { status, json } = await submit('gold')
    expect(status).toBe(201)
    expect(await runtime.explain(json.taskId)).toMatchObject({
      agreement: { name: 'gold', client: 'acme', tier: 'contracted' },
    })
    const body = { timing: { everyMs: 1_000 }, task: 'speak', input: 0, options: { agreement: 'gold' } }
    const put = await call('PUT', '/api/v1/schedules/agreed', body, as('chief'))
    expect(put).toMatchObject({ status: 200, json: { client: 'acme' } })
    await runtime.schedules.remove('agreed')
  })

  test("a child that a client's token starts is that client's, and seen with the token", async () => {
    const { taskId } = (await runtime.submit('watch-over', null, { client: 'acme' })) as {
      readonly taskId: string
    }
    for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
    const body = { id: 'more', task: 'speak', input: 1 }
    const { json } = await call('POST', `/api/v1/tasks/${taskId}/supervised`, body, as('acme'))
    const seen = await call('GET', `/api/v1/tasks/${json.taskId}`, undefined, as('acme'))
    expect([seen.status, (await runtime.status(json.taskId))?.client]).toEqual([200, 'acme'])
    await runtime.cancel(taskId)
  })

  test('a token of some task types submits and sees these', async () => {
    const refused = await call('POST', '/api/v1/tasks', { task: 'add', input: 1 }, as('speaker'))
    expect([refused.status, refused.json.detail]).toEqual([
      403,
      'body.task: the token is bound to the task types speak',
    ])
    const { json } = await call('GET', '/api/v1/tasks', undefined, as('speaker'))
    expect(new Set(json.tasks.map(({ type }: { type: string }) => type))).toEqual(new Set(['speak']))
  })

  test('a token of some task types sees and stops no child of another type', async () => {
    const { taskId } = (await runtime.submit('watch-over', null)) as { readonly taskId: string }
    for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
    const path = `/api/v1/tasks/${taskId}/supervised`
    const own = await call('POST', path, { id: 'own', task: 'watch-over', input: null }, as('watcher'))
    const refused = await call('POST', `${path}/first/stop`, undefined, as('watcher'))
    expect([refused.status, refused.json.detail]).toEqual([
      403,
      'path.child: the token is bound to the task types watch-over',
    ])
    const [first] = (await runtime.supervisors.which(taskId)).children
    expect(first).not.toMatchObject({ state: 'canceled' })
    const shown = await call('GET', path, undefined, as('watcher'))
    expect(shown.json.children).toMatchObject([{ id: 'own', taskId: own.json.taskId }])
    expect((await call('GET', path, undefined, as('operator'))).json.children).toHaveLength(2)
    expect((await call('POST', `${path}/nobody/stop`, undefined, as('watcher'))).status).toBe(404)
    expect((await call('POST', `${path}/own/stop`, undefined, as('watcher'))).json).toMatchObject({
      stopped: true,
    })
    await runtime.cancel(taskId)
  })

  test('a token of some task types starts no child of another type', async () => {
    const { taskId } = (await runtime.submit('watch-over', null)) as { readonly taskId: string }
    for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
    const path = `/api/v1/tasks/${taskId}/supervised`
    const before = await runtime.supervisors.which(taskId)
    const started = await call('POST', path, { id: 'more', task: 'speak', input: 1 }, as('watcher'))
    expect([started.status, started.json.detail]).toEqual([
      403,
      'body.task: the token is bound to the task types watch-over',
    ])
    await runtime.supervisors.stop(taskId, 'first')
    const again = await call('POST', `${path}/first/restart`, undefined, as('watcher'))
    expect([again.status, again.json.detail]).toEqual([
      403,
      'path.child: the token is bound to the task types watch-over',
    ])
    expect((await call('POST', `${path}/nobody/restart`, undefined, as('watcher'))).status).toBe(404)
    const after = await runtime.supervisors.which(taskId)
    expect(after.children.map((child) => child.taskId)).toEqual(before.children.map((child) => child.taskId))
    expect(
      (await call('POST', path, { id: 'more', task: 'watch-over', input: 1 }, as('watcher'))).status,
    ).toBe(201)
    await runtime.cancel(taskId)
  })

  test('a token of some task types starts no temporary child of another type once more', async () => {
    const { taskId } = (await runtime.submit('watch-over', null)) as { readonly taskId: string }
    for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
    const options = { restart: 'temporary' } as const
    const started = await runtime.supervisors.start(taskId, 'brief', 'speak', 1, options)
    await runtime.result(started.taskId)
    const again = `/api/v1/tasks/${taskId}/supervised/brief/restart`
    expect((await call('POST', again, undefined, as('watcher'))).status).toBe(404)
    expect((await call('POST', again, undefined, as('operator'))).status).toBe(201)
    await runtime.cancel(taskId)
  })
})

test('a token makes so many requests a second, and then waits', async () => {
  let now = 0
  const clock = { now: () => 1, monotonic: () => now }
  const { system } = await import('../src/system.ts')
  const server = serverOn(runtime, {
    tokens: [token('busy', ['read']), token('calm', ['read'])],
    limits: { maxRequestsPerSecond: 2 },
    environment: { ...system, clock },
  })
  const call = callerOf(server)
  const status = async (name: string) =>
    (await call('GET', '/api/v1/tasks', undefined, { authorization: `Bearer ${name}` })).status
  expect([await status('busy'), await status('busy'), await status('busy')]).toEqual([200, 200, 429])
  expect(await status('calm')).toBe(200)
  now += 500
  expect([await status('busy'), await status('busy')]).toEqual([200, 429])
})

test('a body that is too large is refused before it is read as a whole', async () => {
  const server = serverOn(runtime, { limits: { maxBodyBytes: 1_000, maxUrlBytes: 1_000 } })
  const call = callerOf(server)
  expect((await call('POST', '/api/v1/tasks', `"${'x'.repeat(2_000)}"`)).status).toBe(413)
  expect((await call('GET', `/api/v1/tasks?text=${'x'.repeat(2_000)}`)).status).toBe(414)
  let pulled = 0
  const endless = new ReadableStream({
    pull(controller) {
      pulled += 1
      controller.enqueue(new Uint8Array(100))
    },
  })
  const init = {
    method: 'POST',
    body: endless,
    duplex: 'half',
    headers: { 'content-type': 'application/json' },
  }
  const answer = await server.fetch(new Request('http://localhost/api/v1/tasks', init as RequestInit))
  expect(answer.status).toBe(413)
  expect(pulled).toBeLessThan(20)
})

test('tokens from a function are those of now, and the server is never open', async () => {
  let tokens = [token('first', ['read'])]
  const call = callerOf(serverOn(runtime, { tokens: () => tokens }))
  const status = async (name?: string) =>
    (
      await call(
        'GET',
        '/api/v1/tasks',
        undefined,
        name === undefined ? {} : { authorization: `Bearer ${name}` },
      )
    ).status
  expect(await status('first')).toBe(200)
  tokens = [token('second', ['read'])]
  expect([await status('first'), await status('second')]).toEqual([401, 200])
  tokens = []
  expect([await status('second'), await status()]).toEqual([401, 401])
})

test('a read-only server answers questions, changes nothing for anybody, and says so', async () => {
  const call = callerOf(serverOn(runtime, { readOnly: true }))
  const before = await runtime.count()
  expect((await call('GET', '/api/v1/tasks')).status).toBe(200)
  expect((await call('GET', '/api/v1/info')).json.scopes).toEqual(['read'])
  const refused = await call('POST', '/api/v1/tasks', { task: 'add', input: { a: 1, b: 2 } })
  expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])
  expect(await runtime.count()).toBe(before)
})

test('bad options are named, and no token is in the message', () => {
  const options = { tokens: [{ name: '', hash: 'the token itself', scope: ['read'] }], hosts: ['http://x'] }
  const problem = () => createServer(runtime, options as never)
  expect(problem).toThrow(/tokens\[0\].scope: no such option, did you mean scopes\?/)
  expect(problem).toThrow(/tokens\[0\].hash: the SHA-256 of the token/)
  expect(problem).not.toThrow(/the token itself/)
  expect(() => createServer(runtime, { hosts: ['http://x/'], tokens: [token('x', [])] })).toThrow(
    /hosts\[0\]/,
  )
  expect(() => createServer(runtime, { redact: ['password'] })).toThrow(/redact\[0\]/)
  expect(() => createServer(runtime, { limits: { maxBodyByte: 1 } as never })).toThrow(
    /did you mean maxBodyBytes/,
  )
  expect(hashToken('a')).toMatch(/^[\da-f]{64}$/)
})

test('after close the server answers 503, and the runtime goes on', async () => {
  const server = createServer(runtime)
  await server.close()
  const answer = await server.fetch(new Request('http://localhost/api/v1/tasks'))
  expect(answer.status).toBe(503)
  expect(await runtime.count()).toBeGreaterThan(0)
})
