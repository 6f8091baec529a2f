import { expect, test } from 'vitest'
import { callerOf, servedRuntime, serverOn, token } from './served.ts'

const runtime = await servedRuntime()
const server = serverOn(runtime)
const call = callerOf(server)

test('health, readiness and metrics need no token on loopback, and one elsewhere', async () => {
  expect((await call('GET', '/health')).json).toEqual({ status: 'ok' })
  expect((await call('GET', '/ready')).json).toMatchObject({ status: 'ready', workers: 1 })
  const { text, headers } = await call('GET', '/metrics')
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  expect(text).toContain('agent_runtime_queue_depth{lane="normal"} 0\n')
  const lines = text.trimEnd().split('\n')
  for (const line of lines) expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[\w.]+"\})? \d+)$/)

  const exposed = callerOf(
    serverOn(runtime, { exposed: true, tokens: [token('r', ['read']), token('s', ['submit'])] }),
  )
  for (const path of ['/health', '/ready', '/metrics']) {
    const statuses = await Promise.all([
      exposed('GET', path),
      exposed('GET', path, undefined, { authorization: 'Bearer s' }),
      exposed('GET', path, undefined, { authorization: 'Bearer r' }),
      exposed('GET', path, undefined, { host: 'evil.example' }),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([401, 403, 200, 403])
  }
})

test('11.8 credits are bought for tasks without a client, whose client has an empty name', async () => {
  const bought = await call('POST', '/api/v1/clients//credits', { amount: 5 })
  expect([bought.status, bought.json.entry?.client, bought.json.entry?.amount]).toEqual([201, '', 5])
  const { json } = await call('GET', '/api/v1/clients//credits')
  expect(json).toMatchObject({ client: '', entries: 2 })
  expect((await call('GET', '/api/v1/clients//ledger')).json.entries).toHaveLength(2)
  // A path that lost its name changes no client.
  for (const method of ['PUT', 'DELETE'])
    expect(
      (await call(method, '/api/v1/clients/', method === 'PUT' ? { credits: 7 } : undefined)).status,
    ).toBe(400)
  expect(await runtime.credits.balance('')).toMatchObject({ credits: json.credits })
  await runtime.clients.remove('')
  const gone = await call('GET', '/api/v1/clients//credits')
  expect([gone.status, gone.text]).toEqual([404, expect.stringContaining('no client without a name')])
})

test('behind a public name readiness and metrics need a token, whatever Host a proxy sends', async () => {
  const tokens = [token('r', ['read'])]
  const proxied = callerOf(serverOn(runtime, { hosts: ['tasks.example.com'], tokens }))
  for (const path of ['/health', '/ready', '/metrics']) {
    const statuses = await Promise.all([
      proxied('GET', path, undefined, { host: 'tasks.example.com' }),
      proxied('GET', path, undefined, { host: 'tasks.example.com', authorization: 'Bearer r' }),
      proxied('GET', path),
    ])
    const open = path === '/health' ? 200 : 401
    expect(statuses.map(({ status }) => status)).toEqual([open, 200, open])
  }
})

const configured = await servedRuntime({ config: { queueDepthLimit: 50_000 } })

test('the moments of a pause and of a configuration are ISO 8601, as all others', async () => {
  const ask = callerOf(serverOn(configured))
  const { json } = await ask('POST', '/api/v1/queue/pause', { types: ['nothing'] })
  const { paused, configurations = [] } = await configured.stats()
  const iso = ({ since }: { readonly since: number }) => new Date(since).toISOString()
  expect(json.paused).toEqual(paused.map((it) => ({ ...it, since: iso(it) })))
  const stats = (await ask('GET', '/api/v1/stats')).json
  expect([stats.paused.length, stats.configurations.length]).toEqual([1, 1])
  expect(stats.configurations).toEqual(configurations.map((it) => ({ ...it, since: iso(it) })))
})

const sparing = await servedRuntime({
  config: { retention: { completed: { count: 1 }, everyMs: 86_400_000 } },
})

test('a prune counts what the rules in force no longer keep, and then deletes it', async () => {
  const ask = callerOf(serverOn(sparing))
  for (let n = 0; n < 3; n += 1) await sparing.result(await sparing.submit('speak', 0))
  const prune = (body: object) => ask('POST', '/api/v1/prune', body)
  const pruned = { completed: 2, failed: 0, canceled: 0, folded: 0 }
  for (const body of [{}, { dryRun: 'true' }, { dryRun: true, ageMs: 1 }])
    expect((await prune(body)).status).toBe(400)
  expect(await prune({ dryRun: true })).toMatchObject({ status: 200, json: { ...pruned, dryRun: true } })
  expect(await sparing.count()).toBe(3)
  expect((await prune({ dryRun: false })).json).toEqual({ ...pruned, dryRun: false })
  expect(await sparing.count()).toBe(1)
  expect((await prune({ dryRun: false })).json).toEqual({ ...pruned, completed: 0, dryRun: false })
  const { status, json } = await call('POST', '/api/v1/prune', { dryRun: true })
  expect([status, json.code]).toEqual([400, 'invalid_argument'])
})

async function reader(id?: string, pattern = '*') {
  const headers = { accept: 'text/event-stream', ...(id === undefined ? {} : { 'last-event-id': id }) }
  const { body, status } = await server.fetch(
    new Request(`http://localhost/api/v1/events?pattern=${pattern}`, { headers }),
  )
  const taken = body?.getReader()
  let text = ''
  return {
    status,
    leave: () => taken?.cancel(),
    until: async (part: string) => {
      while (!text.includes(part)) text += new TextDecoder().decode((await taken?.read())?.value)
      return text
    },
  }
}

test('the stream of all tasks goes on where a reader left, and says when something is gone', async () => {
  const first = await reader(undefined, 'task.*')
  await first.until('retry')
  const one = await runtime.submit('speak', 0)
  await runtime.result(one)
  const text = await first.until('task.completed')
  expect(text).not.toContain('lease.')
  await first.leave()
  const last = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? ''

  const two = await runtime.submit('speak', 0)
  await runtime.result(two)
  const second = await reader(last, 'task.*')
  const rest = await second.until('task.completed')
  expect(rest).toContain(two.taskId)
  expect(rest).not.toContain(one.taskId)
  await second.leave()

  const strange = await reader('00000000-5')
  expect(await strange.until('event: missed')).toContain('event: missed')
  await strange.leave()
  expect((await reader('nonsense')).status).toBe(400)
  const page = await call('GET', '/api/v1/events?pattern=task.completed&limit=1')
  expect(page.json.events).toMatchObject([{ taskId: two.taskId }])
  expect((await call('GET', '/api/v1/events?pattern=tusk.*')).status).toBe(400)
})

test('the history is one event a line', async () => {
  const receipt = await runtime.submit('add', { a: 1, b: 1 })
  await runtime.result(receipt)
  const { text, headers } = await call('GET', `/api/v1/tasks/${receipt.taskId}/history`)
  expect(headers.get('content-type')).toBe('application/x-ndjson')
  const types = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).type)
  expect([types[0], types.at(-1)]).toEqual(['task.queued', 'task.completed'])
})

test('reports are those of the list alone, whatever their source would give', async () => {
  const reports = {
    list: async () => [{ name: 'main.json', bytes: 20, changedAt: 1_700_000_000_000 }],
    read: async (name: string) => JSON.stringify({ schemaVersion: 1, name }),
  }
  const ask = callerOf(serverOn(runtime, { reports }))
  expect((await ask('GET', '/api/v1/reports')).json).toEqual({
    reports: [{ name: 'main.json', bytes: 20, changedAt: '2023-11-14T22:13:20.000Z' }],
  })
  expect((await ask('GET', '/api/v1/reports/main.json')).json).toEqual({
    schemaVersion: 1,
    name: 'main.json',
  })
  for (const name of ['other.json', '..%2fmain.json', '.%2fmain.json', '%2fetc%2fpasswd', 'MAIN.json'])
    expect((await ask('GET', `/api/v1/reports/${name}`)).status).toBe(404)
  const none = callerOf(serverOn(runtime, {}))
  expect((await none('GET', '/api/v1/reports')).json).toEqual({ reports: [] })
  expect((await none('GET', '/api/v1/reports/main.json')).status).toBe(404)
})

test('a console is served from its list, with a policy of its own, and nothing else is', async () => {
  const console = {
    '/index.html': { body: '<html>', type: 'text/html; charset=utf-8' },
    '/assets/app-1.js': { body: 'x', type: 'text/javascript', immutable: true },
  }
  const pages = callerOf(serverOn(runtime, { console }))
  for (const path of ['/', '/tasks/x', '/tasks/report.pdf', '/tasks?state=failed'])
    expect((await pages('GET', path)).text).toBe('<html>')
  const asked = await pages('GET', '/tasks/x', undefined, { accept: 'application/json' })
  expect([asked.status, asked.json.code]).toEqual([404, 'no_such_route'])
  expect((await pages('GET', '/', undefined, { accept: 'text/html,*/*;q=0.8' })).text).toBe('<html>')
  const script = await pages('GET', '/assets/app-1.js')
  expect(script.headers.get('cache-control')).toContain('immutable')
  expect(script.headers.get('content-security-policy')).toContain("script-src 'self'")
  for (const path of ['/assets/../package.json', '/assets/app-2.js', '/__proto__.x', '/.env'])
    expect((await pages('GET', path)).status).toBe(404)
  for (const path of ['/api/v1/stats', '/health', '/ready'])
    expect((await pages('GET', path)).json).toBeDefined()
  expect((await pages('GET', '/metrics')).text).toContain('agent_runtime_queue_depth')
  expect((await pages('GET', '/', undefined, { host: 'evil.example' })).status).toBe(403)
})

test('a worker is drained and takes tasks again; one that is not there is unknown', async () => {
  const [workerId = ''] = (await runtime.workers()).map((worker) => worker.workerId)
  const path = `/api/v1/workers/${encodeURIComponent(workerId)}`
  expect(await call('POST', `${path}/drain`)).toMatchObject({ status: 200, json: { workerId, workers: 1 } })
  expect((await call('GET', '/api/v1/workers')).json).toMatchObject({ workers: [{ state: 'draining' }] })
  const waiting = await runtime.submit('speak', 0)
  expect((await runtime.status(waiting))?.state).toBe('queued')
  expect((await call('POST', `${path}/undrain`)).status).toBe(200)
  await runtime.result(waiting)
  expect((await call('POST', '/api/v1/workers/nobody/drain')).status).toBe(404)
})

test('a server keeps samples and the rules of retention until it is closed, unless it may only read', async () => {
  const kept = new Set<unknown>()
  const counted = new Proxy(runtime, {
    get: (target, name) => {
      if (name !== 'keepSeries' && name !== 'keepRetention')
        return Reflect.get(target, name, target) as unknown
      return () => {
        kept.add(name)
        return { [Symbol.dispose]: () => void kept.delete(name) }
      }
    },
  })
  const reading = serverOn(counted, { readOnly: true })
  expect([...kept]).toEqual([])
  const own = serverOn(counted)
  expect([...kept]).toEqual(['keepSeries', 'keepRetention'])
  await own.close()
  await reading.close()
  expect([...kept]).toEqual([])
})

test('the live leases come in pages, each once and newest task first, and a client sees its own', async () => {
  const idle = await servedRuntime({ workers: 0, config: { maxInFlightPerWorker: 5 } })
  const ask = callerOf(serverOn(idle))
  const receipts = await idle.submitMany(
    ['acme', 'other', 'acme', 'acme', 'other'].map((client) => ({
      task: 'add',
      input: { a: 1, b: 1 },
      options: { client },
    })),
  )
  const taskIds = receipts.map(({ taskId }) => taskId)
  for (const taskId of taskIds) expect(await idle.acquireLease(taskId)).toBeTruthy()
  // It runs no more, and has no lease to show.
  await idle.releaseLease(taskIds[1] as string, { output: 2 })

  async function pages(by: typeof ask, headers?: Record<string, string>) {
    const sizes: number[] = []
    const seen: string[] = []
    let cursor = ''
    do {
      const page = await by('GET', `/api/v1/leases?limit=2${cursor}`, undefined, headers)
      expect(page.status).toBe(200)
      sizes.push(page.json.leases.length)
      for (const lease of page.json.leases as { taskId: string }[]) seen.push(lease.taskId)
      cursor = page.json.cursor === undefined ? '' : `&cursor=${page.json.cursor}`
    } while (cursor !== '')
    return { sizes, seen }
  }
  const [first, , third, fourth, fifth] = taskIds
  expect(await pages(ask)).toEqual({ sizes: [2, 2], seen: [fifth, fourth, third, first] })
  expect((await ask('GET', '/api/v1/leases?limit=4')).json).not.toHaveProperty('cursor')
  expect((await ask('GET', '/api/v1/leases?cursor=nonsense')).status).toBe(400)
  const bound = callerOf(serverOn(idle, { tokens: [token('acme', ['read'], { client: 'acme' })] }))
  const { seen } = await pages(bound, { authorization: 'Bearer acme' })
  expect(seen).toEqual([fourth, third, first])
})
