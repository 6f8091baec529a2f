import { once } from 'node:events'
import { createServer as createNodeServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import {
  type Client,
  createRuntime,
  defineAgreement,
  defineContract,
  definePipeline,
  defineSupervisor,
  defineTask,
  type Receipt as RuntimeReceipt,
} from '@ku0/agent-runtime'
import { createServer, hashToken } from '@ku0/agent-runtime-server'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  ApiError,
  createHttpClient,
  type HttpClient,
  type Json,
  type OutputItem,
  type Receipt,
  TaskCanceled,
  TaskFailed,
  type TaskStatus,
  TimeoutError,
} from '../src/index.ts'

const add = defineTask({ type: 'add', input: z.object({ a: z.number(), b: z.number() }) }, (ctx, { a, b }) =>
  ctx.step('sum', () => a + b),
)
const fail = defineTask({ type: 'fail', input: z.null() }, () => {
  throw new Error('broken')
})
const wait = defineTask({ type: 'wait', input: z.null() }, (ctx) => ctx.waitForSignal('go'))
const speak = defineTask({ type: 'speak', input: z.number() }, async (ctx, count) => {
  for (let word = 1; word <= count; word += 1) await ctx.emit(word)
})

const saves = defineTask({ type: 'saves', input: z.number() }, (ctx, next) => ctx.checkpoint({ next }))
const watchOver = defineSupervisor({
  type: 'watch-over',
  input: z.null(),
  endsWith: 'cancel',
  children: { first: { task: wait, input: () => null } },
})
const publishes = defineTask({ type: 'publishes', input: z.null() }, async (ctx) => {
  await ctx.publishAll('even', [2, 4])
  await ctx.publish('odd', 1)
})
const numbers = definePipeline({
  name: 'numbers',
  input: z.null(),
  stages: [
    { name: 'only', task: publishes, input: () => null, publishes: { even: z.number(), odd: z.number() } },
  ],
})
const ask = defineTask({ type: 'ask', input: z.null() }, async (ctx) => {
  await ctx.requestApproval('plan', { plan: 'go there' })
  return 'went'
})

/** Says what it was given. */
const looksAt = (value: unknown) => inspect(value, { depth: 9, sorted: true })
const shows = defineTask({ type: 'shows', input: z.unknown() }, (ctx, value) =>
  ctx.step('look', () => looksAt(value)),
)
const hears = defineTask({ type: 'hears', input: z.undefined() }, async (ctx) =>
  looksAt(await ctx.waitForSignal('go')),
)

const runtime = await createRuntime({
  store: 'sqlite::memory:',
  tasks: [shows, hears, add, fail, wait, speak, saves, ask, watchOver, publishes, numbers],
  agreements: [defineAgreement({ name: 'gold', client: 'acme', tier: 'contracted' })],
  logger: false,
  thread: false,
})
const server = createServer(runtime)
afterAll(() => runtime.close())

/** Its waits take no time. */
const options = { url: 'http://localhost:7000', fetch: server.fetch, pause: async () => {} }
const client = createHttpClient(options)

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = []
  for await (const item of items) taken.push(item)
  return taken
}

function wordOf(item: OutputItem): unknown {
  return item.type === 'chunk' ? item.data : undefined
}

test('it has the names and the answers of the runtime', async () => {
  const receipt = await client.submit(add, { a: 1, b: 2 }, { taskId: 'three', labels: { n: '3' } })
  expect(receipt).toEqual({ accepted: true, taskId: 'three', sequence: 1, deduplicated: false })
  expect(await client.result(receipt)).toBe(3)
  expect(await client.status(receipt)).toEqual(await runtime.status('three'))
  expect(await client.status('nobody')).toBeUndefined()
  expect((await client.get('three')).leases).toEqual(await runtime.leases('three'))
  expect(await client.steps('three')).toEqual(await runtime.steps('three'))
  expect((await client.list({ labels: { n: '3' }, states: ['completed'] })).tasks).toEqual([
    await runtime.status('three'),
  ])
  expect(await client.count({ types: ['add'] })).toBe(1)
  expect(await client.explain('three')).toEqual(await runtime.explain('three'))
  const events = await runtime.history('three')
  expect(await client.history('three')).toEqual(JSON.parse(JSON.stringify(events)))
  type Own =
    | ('bulk' | 'deadLetters' | 'get' | 'inspectStore' | 'liveLeases')
    | ('quotas' | 'serverInfo' | 'verifyStore' | 'watch')
  expectTypeOf<keyof HttpClient & keyof Client>().toEqualTypeOf<Exclude<keyof HttpClient, Own>>()
  expectTypeOf<RuntimeReceipt>().toExtend<Receipt>()
  expectTypeOf<TaskStatus>().toEqualTypeOf<NonNullable<Awaited<ReturnType<Client['status']>>>>()
})

test('the compiler knows the input and the result of a task type, as JSON brings it', async () => {
  const contract = defineContract({
    type: 'add',
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.number(),
  })
  const receipt = await client.submit(contract, { a: 1, b: 2 })
  expectTypeOf(await client.result(receipt)).toEqualTypeOf<number>()
  expectTypeOf(await client.result(await client.submit(add, { a: 1, b: 2 }))).toEqualTypeOf<number>()
  // @ts-expect-error -- b is missing
  expect(await client.submit(contract, { a: 1 })).toMatchObject({ reason: 'invalid_payload' })
  const named = await client.submit('add', { a: 1, b: 2 })
  expectTypeOf(await client.result(named)).toEqualTypeOf<unknown>()
  const loose = await client.submit({ type: 'add' }, { a: 1, b: 2 })
  expectTypeOf(await client.result(loose)).toEqualTypeOf<unknown>()
  expectTypeOf(await client.result(named.taskId)).toEqualTypeOf<unknown>()
  type Dated = Json<{ at: Date; tags: Set<string>; list: readonly [number, { on: Date }]; name?: string }>
  expectTypeOf<Dated>().toEqualTypeOf<{
    readonly at: unknown
    readonly tags: unknown
    readonly list: readonly [number, { readonly on: unknown }]
    readonly name?: string
  }>()
})

test('a handler receives the value that was given, also one that JSON lacks', async () => {
  const value = {
    at: new Date(1_700_000_000_000),
    never: new Date(Number.NaN),
    tags: new Set(['a', new Map([['k', 1n]])]),
    numbers: [Number.NaN, Number.NEGATIVE_INFINITY, -0, 1.5],
    bytes: new Uint8Array([0, 200, 255]),
    holes: [undefined, null],
    plain: { deep: [{ text: 'it' }, true] },
    left: undefined,
  }
  const { left, ...wanted } = value
  expect(left).toBeUndefined()
  expect(await client.result(await client.submit(shows, value))).toBe(looksAt(wanted))
  expect(await client.result(await client.submit(shows, undefined))).toBe('undefined')
  const [first] = await client.submitMany([{ task: 'shows', input: value.tags }])
  expect(await client.result(first as Receipt)).toBe(looksAt(value.tags))

  const waits = await client.submit(hears, undefined)
  await client.signal(waits, 'go', value.at)
  expect(await client.result(waits)).toBe(looksAt(value.at))

  const shown = await client.submit(shows, 1)
  await client.result(shown)
  const forked = await client.fork(shown, { edits: { look: value.at } })
  expect(await client.result(forked)).toEqual({ $ku0: ['Date', 1_700_000_000_000] })
  // As it came, so it goes back.
  expect(await client.result(await client.submit(shows, await client.result(forked)))).toBe(looksAt(value.at))

  const loop: unknown[] = []
  loop.push(loop)
  for (const [bad, words] of [
    [() => 1, 'the input: a function cannot be sent'],
    [{ error: new Error('no') }, 'the input: an instance of Error cannot be sent'],
    [loop, 'the input: it is nested too deeply, or in itself'],
  ] as const)
    await expect(client.submit('shows', bad)).rejects.toThrow(words)
})

test('results that are none are thrown as in the runtime', async () => {
  const failed = await client.submit('fail', null)
  await expect(client.result(failed)).rejects.toThrow(TaskFailed)
  const waiting = await client.submit('wait', null)
  await expect(client.result(waiting, { timeoutMs: 1 })).rejects.toThrow(TimeoutError)
  expect(await client.cancel(waiting, { reason: 'no need' })).toBe(true)
  await expect(client.result(waiting)).rejects.toThrow(TaskCanceled)
  const refused = await client.submit('ad', null)
  expect(refused).toMatchObject({ accepted: false, reason: 'unknown_task_type' })
  const again = await client.retry(failed)
  expect(again.accepted).toBe(true)
  expect(await client.retry(failed)).toMatchObject({ taskId: again.taskId, deduplicated: true })
  expect(await client.retry(failed, { again: true })).toMatchObject({ deduplicated: false })
})

test('12.5 a submission names an agreement that the server knows', async () => {
  expect(await client.agreements.list()).toEqual(await runtime.agreements.list())
  expect(await client.agreements.get('gold')).toMatchObject({ client: 'acme', tier: 'contracted' })
  expect(await client.agreements.get('lead')).toBeUndefined()
  const { taskId } = await client.submit(add, { a: 1, b: 2 }, { agreement: 'gold' })
  expect(await client.explain(taskId)).toMatchObject({
    agreement: { name: 'gold', client: 'acme', tier: 'contracted' },
  })
  await expect(client.submit(add, { a: 1, b: 2 }, { agreement: 'lead' })).rejects.toThrow(
    'body.options.agreement: there is no agreement "lead": you may use gold',
  )
})

test('the access tokens of the store, and the checkpoint of a task', async () => {
  const { token, ...made } = await client.accessTokens.create('ci', { scopes: ['read'], expiresAt: 4e12 })
  expect(token).toMatch(/^ku0_/)
  const [{ hash, ...kept } = { hash: '' }] = await runtime.accessTokens.list()
  expect([made, hash]).toEqual([kept, hashToken(token)])
  expect(await client.accessTokens.list()).toEqual([kept])
  expect(await client.accessTokens.revoke('ci')).toMatchObject({ name: 'ci' })
  expect(await client.accessTokens.revoke('ci')).toBeUndefined()
  expect(await client.accessTokens.put('mine', { scopes: ['submit'], hash })).not.toHaveProperty('token')
  const receipt = await runtime.submit(saves, 3)
  await runtime.result(receipt)
  expect(await client.checkpoint(receipt)).toEqual(await runtime.checkpoint(receipt))
  expect(await client.checkpoint(receipt)).toMatchObject({ data: { next: 3 } })
})

test('the credits of a client', async () => {
  const { entry, deduplicated } = await client.credits.purchase('acme', 5, { key: 'order 1' })
  expect([entry.amount, deduplicated]).toEqual([5, false])
  expect(await client.credits.balance('acme')).toEqual(await runtime.credits.balance('acme'))
  expect(await client.credits.balance('nobody')).toBeUndefined()
  expect(await client.credits.entries('acme', { limit: 5 })).toEqual(await runtime.credits.entries('acme'))
})

test('a supervisor and its children', async () => {
  const { taskId } = await client.submit('watch-over', null)
  await expect.poll(async () => (await client.supervisors.count(taskId)).open).toBe(1)
  const { taskId: child } = await client.supervisors.start(taskId, 'more', 'add', { a: 1, b: 1 })
  expect(await client.result(child)).toBe(2)
  expect(await client.supervisors.which(taskId)).toEqual(await runtime.supervisors.which(taskId))
  const { supervisors } = await client.supervisors.list({ limit: 1, supervising: true })
  expect(supervisors).toEqual((await runtime.supervisors.list({ limit: 1 })).supervisors)
  expect(supervisors).toMatchObject([{ taskId, type: 'watch-over', children: { total: 2, open: 1 } }])
  expect((await client.supervisors.restart(taskId, 'more')).taskId).not.toBe(child)
  expect(await client.supervisors.stop(taskId, 'first')).toMatchObject({ stopped: true, state: 'canceled' })
  await expect(client.supervisors.stop(taskId, 'nobody')).rejects.toMatchObject({ code: 'not_found' })
  await client.cancel(taskId)
})

test('13.2 a pipeline, its stages and its events', async () => {
  const receipt = await client.submit('numbers', null)
  const follow = async (given = {}) => {
    const found: unknown[] = []
    for await (const { sequence, data } of client.pipeline(receipt).events(given))
      found.push([sequence, data])
    return found
  }
  const published = [
    [1, 2],
    [2, 4],
    [3, 1],
  ]
  expect(await follow()).toEqual(published)
  expect(await follow({ live: false })).toEqual(published)
  for (const live of [true, false]) expect(await follow({ types: ['odd'], after: 1, live })).toEqual([[3, 1]])
  for (const live of [true, false])
    await expect(follow({ types: ['od'], live })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining("no stage of pipeline 'numbers' publishes 'od'"),
    })
  await client.result(receipt)
  expect(await client.pipeline(receipt).status()).toEqual(await runtime.pipeline(receipt.taskId).status())
  expect((await client.pipelines({ limit: 1 })).pipelines).toMatchObject([{ taskId: receipt.taskId, seq: 3 }])
  await expect(client.pipeline('nobody').status()).rejects.toMatchObject({ code: 'not_found' })
})

test('a refusal of the server has its code and its fields', async () => {
  const error = await client.list({ limit: 0 }).catch((it: unknown) => it)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({ code: 'invalid_argument', status: 400 })
  expect((error as ApiError).problem.fields?.[0]?.field).toBe('query.limit')
  await expect(client.get('nobody')).rejects.toMatchObject({ code: 'not_found' })
})

test('many tasks are counted, started and looked at until they are done', async () => {
  const receipts: Receipt[] = []
  for (const _ of [1, 2]) receipts.push(await client.submit('wait', null, { labels: { many: 'yes' } }))
  const filter = { types: ['wait'], labels: { many: 'yes' }, lanes: ['normal'] as const }
  const counted = await client.bulk.count('cancel', filter, { reason: 'too many' })
  expect(counted).toMatchObject({ state: 'counted', count: 2 })
  let action = await client.bulk.start(counted.token)
  while (action.state === 'running') action = await client.bulk.progress(counted.token)
  expect(action).toMatchObject({ state: 'done', changed: 2 })
  expect(await client.bulk.stop(counted.token)).toMatchObject({ state: 'done' })
  expect(await client.count({ types: ['wait'], states: ['canceled'], labels: { many: 'yes' } })).toBe(2)

  const ended = { ...filter, states: ['cancelled'] } as const
  const none = { retried: 0, before: 0, rejected: 0 }
  expect(await client.retryMany(ended, { expect: 0 })).toEqual({ ...none, found: 2, refused: true })
  expect(await client.retryMany(ended, { expect: 2 })).toEqual({
    ...none,
    found: 2,
    retried: 2,
    refused: false,
  })
  // Named by their receipts, by their ids, or by what a list has of them.
  const [byReceipt, other] = receipts as [Receipt, Receipt]
  const before = { ...none, found: 2, before: 2, refused: false }
  expect(await client.retryMany([byReceipt, other.taskId])).toEqual(before)
  const { tasks } = await client.list(ended)
  expect(await client.retryMany(tasks)).toEqual(before)
  const gone = await client.cancelMany(filter, { expect: 1 })
  expect(gone).toEqual({ found: 2, canceled: 0, refused: true })
  expect(await client.cancelMany(filter)).toEqual({ found: 2, canceled: 2, refused: false })
})

test('the events of all tasks come as they happen', async () => {
  const control = new AbortController()
  const watching = client.watch({ pattern: 'task.completed', signal: control.signal })
  const first = watching[Symbol.asyncIterator]().next()
  const heard = first.then(({ value }) => (value as { readonly taskId: string }).taskId)
  const taskIds: string[] = []
  let taskId: string | undefined
  // An event that happened before the stream was open is none of its own.
  while (taskId === undefined) {
    const receipt = await client.submit('add', { a: 1, b: 1 })
    taskIds.push(receipt.taskId)
    await client.result(receipt)
    taskId = await Promise.race([heard, Promise.resolve(undefined)])
  }
  expect(taskIds).toContain(taskId)
  control.abort()
})

test('agents, routes and the store itself', async () => {
  const scores = { quality: 0.8, adherence: 1, speed: 1, cost: 1, errors: 0, revisions: 0 }
  await client.evaluations.record('ann', scores)
  expect(await client.evaluations.history('ann')).toHaveLength(1)
  expect(await client.evaluations.reputation('ann')).toEqual(await runtime.evaluations.reputation('ann'))
  expect(await client.evaluations.agents()).toEqual(await runtime.evaluations.agents())
  expect(await client.evaluations.agents({ after: 'ann', limit: 1 })).toEqual([])
  expect(await client.evaluations.reputation('nobody')).toBeUndefined()
  expect(await client.evaluations.drift('nobody')).toBeUndefined()
  expect(await client.evaluations.similar('ann')).toEqual([])
  expect([await client.routes(), await client.swarms()]).toEqual([[], []])
  expect(await client.serverInfo()).toMatchObject({
    kind: 'memory',
    scopes: expect.arrayContaining(['read']) as string[],
  })
})

test('several submissions, a signal, a fork', async () => {
  const [first, second] = await client.submitMany([
    { task: wait, input: null },
    { task: 'add', input: { a: 5, b: 5 } },
  ])
  expect(await client.result(second?.taskId ?? '')).toBe(10)
  await client.signal(first?.taskId ?? '', 'go', { on: true })
  expect(await client.result(first?.taskId ?? '')).toEqual({ on: true })
  const fork = await client.fork(second?.taskId ?? '', { edits: { sum: 11 } })
  expect(await client.result(fork)).toBe(11)
})

test('approvals, schedules, clients and the store, with the answers of the runtime', async () => {
  const asking = await client.submit('ask', null)
  for await (const { type } of client.events(asking)) if (type === 'task.waiting') break
  const { approvals } = await client.approvals.list({ task: asking.taskId })
  expect(approvals).toEqual((await runtime.approvals.list({ task: asking.taskId })).approvals)
  await client.approvals.approve(approvals[0]?.approvalId ?? '', { by: 'ann' })
  expect(await client.result(asking)).toBe('went')

  const put = await client.schedules.put('nightly', { cron: '0 3 * * *' }, 'speak', 0)
  expect(put).toEqual(await runtime.schedules.get('nightly'))
  expect(await client.schedules.list()).toEqual(await runtime.schedules.list())
  expect(await client.schedules.upcoming('nightly', 3)).toEqual(
    await runtime.schedules.upcoming('nightly', 3),
  )
  expect((await client.schedules.pause('nightly')).paused).toBe(true)
  expect(await client.schedules.upcoming('nightly')).toEqual([])
  expect((await client.schedules.trigger('nightly')).accepted).toBe(true)
  expect([await client.schedules.remove('nightly'), await client.schedules.remove('nightly')]).toEqual([
    true,
    false,
  ])

  expect(await client.clients.set('acme', { credits: 5 })).toEqual(await runtime.clients.get('acme'))
  expect(await client.clients.list()).toEqual(await runtime.clients.list())
  expect(await client.workers()).toHaveLength(1)
  const [{ workerId } = { workerId: '' }] = await client.workers()
  expect([await client.drainWorker(workerId), (await client.workers())[0]?.state]).toEqual([1, 'draining'])
  expect([await client.undrainWorker(workerId), await client.drainWorker('nobody')]).toEqual([1, 0])
  expect(await client.pauseQueue({ types: ['nothing'], lanes: ['batch'] })).toBe(2)
  expect((await client.stats()).paused).toMatchObject([{ lane: 'batch' }, { type: 'nothing' }])
  expect((await client.stats()).paused).toEqual((await runtime.stats()).paused)
  expect(await client.resumeQueue({ types: ['nothing'], lanes: ['batch', 'normal'] })).toBe(2)
  await expect(client.prune({ dryRun: true })).rejects.toMatchObject({
    code: 'invalid_argument',
    status: 400,
  })
  expect(await client.explainQueue()).toEqual(await runtime.explainQueue())
  expect((await client.stats()).totals).toEqual((await runtime.stats()).totals)
  const ofOneType = await client.series({ windowMs: 60_000, stepMs: 60_000, type: 'nothing' })
  expect(ofOneType.stepMs).toBe(60_000)
  // A minute that begins just now has a sample of the queue, too.
  expect(ofOneType.points).toMatchObject([
    { at: expect.any(Number), started: 0, completed: 0, failed: 0, refused: {}, running: 0 },
  ])
  const failed = await client.submit('fail', null)
  await client.result(failed).catch(() => {})
  expect((await client.deadLetters({ kind: 'error', limit: 1 })).tasks[0]?.taskId).toBe(failed.taskId)
  expect(await client.budgets.get(failed.taskId)).toBeUndefined()
  expect([await client.quotas(), (await client.liveLeases()).leases]).toEqual([[], []])
})

describe('streams', () => {
  test('events and output come to their end', async () => {
    const receipt = await client.submit('speak', 3)
    const words = (await all(client.output(receipt))).map(wordOf)
    expect(words).toEqual([1, 2, 3])
    const types = (await all(client.events(receipt))).map(({ type }) => type)
    expect([types[0], types.at(-1)]).toEqual(['task.queued', 'task.completed'])
    expect(await all(client.output(receipt, { after: 2 }))).toHaveLength(1)
  })

  test('a connection that breaks is made again, and nothing is missing or twice', async () => {
    const receipt = await client.submit('speak', 20)
    await client.result(receipt)
    let [connections, cuts] = [0, 0]
    const broken = createHttpClient({
      ...options,
      fetch: async (request) => {
        connections += 1
        const answer = await server.fetch(request)
        if (connections % 3 === 2) throw new TypeError('fetch failed')
        if (answer.status === 204) return answer
        const text = await answer.text()
        // Cut in the middle of an event, at another place each time.
        const end = 150 * connections
        if (end < text.length) cuts += 1
        return new Response(text.slice(0, end), answer)
      },
    })
    const words = (await all(broken.output(receipt))).map(wordOf)
    expect(words).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    expect([cuts > 1, connections > 3]).toEqual([true, true])
  })

  test('it ends with its signal, and with what is no passing trouble', async () => {
    const receipt = await client.submit('wait', null)
    const stop = new AbortController()
    const types: string[] = []
    const reading = (async () => {
      for await (const { type } of client.events(receipt, { signal: stop.signal })) {
        types.push(type)
        if (type === 'task.waiting') stop.abort(new Error('enough'))
      }
    })()
    await expect(reading).rejects.toThrow('enough')
    expect(types).toContain('task.waiting')
    await expect(all(client.events('nobody'))).rejects.toMatchObject({ code: 'not_found' })
    await client.cancel(receipt)
  })
})

test('a request that can be repeated without harm is sent again, and no other one', async () => {
  let tries = 0
  const unlucky = createHttpClient({
    ...options,
    fetch: (request) => {
      tries += 1
      if (tries < 3) return Promise.reject(new TypeError('fetch failed'))
      return server.fetch(request)
    },
  })
  await expect(unlucky.submit('speak', 0)).rejects.toThrow('fetch failed')
  expect(tries).toBe(1)
  const receipt = await unlucky.submit('speak', 0, { idempotencyKey: 'once' })
  expect([tries, receipt.accepted]).toEqual([3, true])
  tries = 0
  expect(await unlucky.count()).toBeGreaterThan(0)
})

test('an answer of something else than the API is an error that says so', async () => {
  const lost = createHttpClient({ ...options, fetch: async () => new Response('<html>', { status: 404 }) })
  await expect(lost.list()).rejects.toMatchObject({ code: 'strange_answer', status: 404 })
  const other = createHttpClient({ ...options, fetch: async () => new Response('<html>') })
  await expect(other.list()).rejects.toMatchObject({ code: 'strange_answer', status: 200 })
})

test('a request that has a key is sent again when its connection breaks, and done once', async () => {
  let isBroken = false
  const broken = createHttpClient({
    ...options,
    fetch: async (request) => {
      const answer = await server.fetch(request)
      isBroken = !isBroken
      if (isBroken) throw new TypeError('fetch failed')
      return answer
    },
  })
  await client.schedules.put('keyed', { cron: '0 3 * * *' }, 'speak', 0)
  const receipt = await broken.schedules.trigger('keyed', { idempotencyKey: 'by hand' })
  expect(receipt).toMatchObject({ accepted: true, deduplicated: true })
  expect((await client.schedules.get('keyed'))?.runs).toBe(1)
  const bought = await broken.credits.purchase('acme', 5, { key: 'invoice of the keyed' })
  expect(bought).toMatchObject({ deduplicated: true })
  await expect(broken.schedules.trigger('keyed')).rejects.toMatchObject({ code: 'server_unreachable' })
  await client.schedules.remove('keyed')
})

test('a URL that is none, and a server that does not answer, are errors that say so', async () => {
  for (const url of ['localhost', 'localhost:7007', 'file:///tmp/x', ''])
    expect(() => createHttpClient({ url })).toThrow(
      `createHttpClient option url: the address of a server, such as http://localhost:7007; given "${url}"`,
    )
  // Nothing listens on the port of a server that was closed.
  const gone = createNodeServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  gone.close()
  await once(gone, 'close')
  const url = `http://127.0.0.1:${port}`
  await expect(createHttpClient({ url, retries: 0 }).list()).rejects.toMatchObject({
    name: 'ServerUnreachable',
    code: 'server_unreachable',
    message: `no server answers at ${url}: connect ECONNREFUSED 127.0.0.1:${port}; agent-runtime serve starts one`,
  })
})
