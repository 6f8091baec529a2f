import { createRuntime, defineTask } from '@ku0/agent-runtime'
import type { ExecutionConfigInput } from '@ku0/agent-runtime-core'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createServer } from '../../src/index.ts'
import { system } from '../../src/system.ts'
import { callerOf, token } from '../served.ts'

/** What the requests below do, as a handler of this library. */
const greet = defineTask({ type: 'greet', input: z.object({ name: z.string() }) }, async (ctx, { name }) => {
  const text = await ctx.step('text', { input: name }, () => `Hello ${name}`)
  await ctx.sleep('pause', 1)
  const reply = await ctx.waitForSignal('reply')
  return ctx.step('end', () => `${text}: ${String(reply)}`)
})

async function served(config: ExecutionConfigInput = {}, draw = 0) {
  const store = await openStore('sqlite::memory:', { lines: true, thread: false, config })
  // It runs no task itself.
  const client = await createRuntime({ store, tasks: [greet], workers: 0, logger: false, telemetry: false })
  const errors: unknown[] = []
  const start = (bound: { readonly types?: readonly string[] } = {}) =>
    createServer(client, {
      remoteWorkers: store,
      tokens: [
        token('one', ['work', 'read'], bound),
        token('two', ['work']),
        token('typed', ['work'], { types: ['other'] }),
      ],
      onError: (error) => errors.push(error),
      environment: { ...system, random: { next: () => draw } },
    })
  let server = start()
  onTestFinished(async () => {
    await server.close()
    await client.close()
    await store.close()
    expect(errors).toEqual([])
  })
  const as =
    (name: string) =>
    async (path: string, body?: unknown, method = 'POST') =>
      callerOf(server, { authorization: `Bearer ${name}` })(method, `/api/v1/workers${path}`, body)
  return {
    store,
    client,
    as,
    errors,
    /** The server is started anew: what it remembers is gone. */
    restart: async (bound?: { readonly types: readonly string[] }) => {
      await server.close()
      server = start(bound)
    },
  }
}

const oneOf = async (post: ReturnType<Awaited<ReturnType<typeof served>>['as']>, more = {}) => {
  const { json } = await post('', { types: ['greet'], ...more })
  return `/${json.workerId as string}`
}

describe('a worker that speaks in requests', () => {
  test('SEM9 runs durable steps, waits and settles, and its history is that of a handler of this library', async () => {
    const { store, client, as } = await served()
    const post = as('one')
    const worker = await oneOf(post)
    const { taskId } = await client.submit('greet', { name: 'Ann' })
    const [first] = (await post(`${worker}/claims`, {})).json.claims
    expect(first).toMatchObject({ taskId, type: 'greet', attempt: 1, input: { name: 'Ann' } })
    expect(first.memos).toEqual({ steps: [], waits: [], open: [], failures: [], inDoubt: [] })

    const lease = `${worker}/leases/${first.leaseId}`
    const step = { as: 'completed', call: 1, key: 'text', position: 0, input: 'Ann', result: 'Hello Ann' }
    expect((await post(`${lease}/steps`, step)).json).toEqual({ recorded: true })
    expect((await post(`${lease}/steps`, { ...step, call: 2, result: 'other' })).json).toEqual({
      recorded: false,
      result: 'Hello Ann',
    })
    expect((await post(`${lease}/output`, { call: 3, chunks: [1, 2] })).status).toBe(204)
    expect((await post(`${lease}/output`, { call: 3, chunks: [1, 2] })).status).toBe(204)
    const pause = { call: 4, waits: [{ kind: 'sleep', key: 'pause', position: 1, ms: 1 }] }
    expect((await post(`${lease}/waits`, pause)).json).toEqual({ suspended: true, resolved: [] })
    expect((await post(`${lease}/waits`, pause)).json).toEqual({ suspended: true, resolved: [] })
    const late = await post(`${lease}/steps`, { ...step, call: 5, key: 'late' })
    expect([late.status, late.json.code]).toEqual([409, 'lease_lost'])

    const [second] = (await post(`${worker}/claims`, {})).json.claims
    expect(second.memos).toMatchObject({
      steps: [{ key: 'text', position: 0, result: 'Hello Ann' }],
      waits: [{ key: 'pause', kind: 'timer', outcome: 'fired' }],
    })
    await client.signal(taskId, 'reply', 'hi')
    const lease2 = `${worker}/leases/${second.leaseId}`
    const reply = { kind: 'signal', key: 'reply', signal: 'reply', position: 2 }
    const over = await post(`${lease2}/waits`, { call: 6, waits: [reply] })
    expect(over.json).toMatchObject({ suspended: false, resolved: [{ outcome: 'received', value: 'hi' }] })
    const end = { as: 'completed', call: 7, key: 'end', position: 3, result: 'Hello Ann: hi' }
    await post(`${lease2}/steps`, end)
    const settle = { as: 'completed', call: 8, output: 'Hello Ann: hi' }
    expect((await post(`${lease2}/settle`, settle)).status).toBe(204)
    expect((await post(`${lease2}/settle`, settle)).status).toBe(204)
    expect(await client.result(taskId)).toBe('Hello Ann: hi')
    expect((await client.status(taskId))?.attempt).toBe(1)
    expect((await store.read({ kind: 'output', taskId, after: 0, limit: 10 }))?.length).toBe(2)
    expect((await post(worker, undefined, 'DELETE')).status).toBe(204)

    expect(await client.replay(taskId, { mode: 'verify' })).toMatchObject({
      verdict: 'agreed',
      answered: { steps: 2, waits: 2, failures: 0 },
      unused: 0,
    })
  })

  test('a step that was begun has an idempotency key, and is in doubt until it is recorded', async () => {
    const { client, as } = await served()
    const post = as('one')
    const worker = await oneOf(post)
    const { taskId } = await client.submit('greet', { name: 'Ann' })
    const [{ leaseId }] = (await post(`${worker}/claims`, {})).json.claims
    const lease = `${worker}/leases/${leaseId}`
    const begun = await post(`${lease}/steps`, { as: 'begun', call: 1, key: 'pay', position: 0, input: 5 })
    expect(begun.json).toEqual({ recorded: true, idempotencyKey: expect.stringMatching(/^[\da-f]{64}$/) })
    await post(`${lease}/settle`, { as: 'released', call: 2 })
    const [again] = (await post(`${worker}/claims`, {})).json.claims
    expect(again.taskId).toBe(taskId)
    expect(again.memos.inDoubt).toEqual([{ key: 'pay', starts: 1 }])
  })

  test('a worker whose token was bound to other types meanwhile is unknown to a server that has just started', async () => {
    const { client, as, restart } = await served()
    const post = as('one')
    const worker = await oneOf(post, { types: ['greet', 'other'] })
    await restart({ types: ['other'] })
    await client.submit('greet', { name: 'Ann' })
    const refused = await post(`${worker}/claims`, { waitMs: 0 })
    expect([refused.status, refused.json.code]).toEqual([404, 'no_such_worker'])
    await restart({ types: ['other', 'greet'] })
    expect((await post(`${worker}/claims`, {})).json.claims).toMatchObject([{ type: 'greet' }])
  })

  test('an answer with claims that was lost is given again, and a server that has just started goes on', async () => {
    const { client, as, restart } = await served()
    const post = as('one')
    const worker = await oneOf(post, { capacity: 2 })
    const { taskId } = await client.submit('greet', { name: 'Ann' })
    const [first] = (await post(`${worker}/claims`, {})).json.claims
    const [same] = (await post(`${worker}/claims`, {})).json.claims
    expect(same.leaseId).toBe(first.leaseId)
    const held = [first.leaseId]
    expect((await post(`${worker}/claims`, { held, waitMs: 0 })).json.claims).toEqual([])

    const step = { as: 'completed', call: 1, key: 'text', position: 0, result: 1 }
    await post(`${worker}/leases/${first.leaseId}/steps`, step)
    await restart()
    expect((await post(`${worker}/leases/${first.leaseId}/steps`, step)).json).toEqual({ recorded: true })
    expect((await post(`${worker}/heartbeat`, { held })).json.news).toEqual([])
    await restart()
    // It does not say that it holds the lease: so the task is given anew, in the same attempt.
    const [next] = (await post(`${worker}/claims`, {})).json.claims
    expect(next).toMatchObject({ taskId, attempt: 1, crashes: 0, memos: { steps: [{ key: 'text' }] } })
    expect(next.leaseId).not.toBe(first.leaseId)
  })

  test('a slot that becomes free while the worker polls is filled at once', async () => {
    const { client, as } = await served()
    const post = as('one')
    const worker = await oneOf(post)
    await client.submit('greet', { name: 'Ann' })
    const { taskId } = await client.submit('greet', { name: 'Bob' })
    const [{ leaseId }] = (await post(`${worker}/claims`, {})).json.claims
    const next = post(`${worker}/claims`, { held: [leaseId], waitMs: 60_000 })
    expect((await post(`${worker}/leases/${leaseId}/settle`, { as: 'completed', call: 1 })).status).toBe(204)
    expect((await next).json.claims).toMatchObject([{ taskId }])
  })

  test('a canceled task learns it with the next heartbeat, and its end is acknowledged', async () => {
    const { store, client, as } = await served()
    const post = as('one')
    const worker = await oneOf(post)
    const { taskId } = await client.submit('greet', { name: 'Ann' })
    const [{ leaseId }] = (await post(`${worker}/claims`, {})).json.claims
    await client.cancel(taskId, { reason: 'enough' })
    const { json } = await post(`${worker}/heartbeat`, { held: [leaseId] })
    expect(json.news).toEqual([{ leaseId, verdict: 'canceled', reason: 'enough' }])
    expect((await post(`${worker}/leases/${leaseId}/settle`, { as: 'completed', call: 1 })).status).toBe(409)
    await post(`${worker}/claims`, { waitMs: 0 })
    const [lease] = await store.read({ kind: 'leases', taskId })
    expect(lease).toMatchObject({ leaseId, abort: { acknowledgedAt: expect.any(Number) } })
  })

  test("X14 another token's worker, lease and task types are refused, and so are a strange lease and a reserved key", async () => {
    const { client, as } = await served()
    const post = as('one')
    const worker = await oneOf(post)
    const other = await oneOf(as('two'))
    await client.submit('greet', { name: 'Ann' })
    const [{ leaseId }] = (await post(`${worker}/claims`, {})).json.claims
    const settle = { as: 'completed', call: 1 }
    const answers = await Promise.all([
      as('two')(`${worker}/leases/${leaseId}/settle`, settle),
      as('two')(`${other}/leases/${leaseId}/settle`, settle),
      as('two')(`${worker}/claims`, {}),
      as('typed')('', { types: ['greet'] }),
      post(`${worker}/leases/none/settle`, settle),
      post(`${worker}/leases/${leaseId}/steps`, { as: 'completed', call: 2, key: '$ku0/x', position: 0 }),
      post(`${worker}/leases/${leaseId}/settle`, { as: 'failed', call: 3 }),
    ])
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
      [404, 'no_such_worker'],
      [409, 'lease_lost'],
      [404, 'no_such_worker'],
      [403, 'line_refused'],
      [409, 'lease_lost'],
      [400, 'invalid_argument'],
      [400, 'invalid_argument'],
    ])
    expect((await post(`${worker}/leases/${leaseId}/settle`, { ...settle, call: 4 })).status).toBe(204)
  })
})

describe('a failure that a table of another process has answered comes before the handler', () => {
  const recovery = { category: 'crash', kind: 'error', strategy: 'fallback_agent' } as const
  /** A task whose first try has failed: its table has decided. */
  async function failed(
    decided: object,
    more: object = {},
    config: ExecutionConfigInput = {},
    interruptions = 0,
    draw = 0,
  ) {
    const it = await served(config, draw)
    const { taskId } = await it.client.submit('greet', { name: 'Ann' }, more)
    const first = it.as('two')
    const next = async () => (await first(`${await oneOf(first)}/claims`, {})).json.claims[0]
    const again = { as: 'retry', error: '{"message":"too quick","name":"Error"}', delayMs: 0 } as const
    for (let n = 0; n < interruptions; n += 1) {
      const settlement = { ...again, interrupted: true } as const
      await it.store.write({ kind: 'settle', leaseId: (await next()).leaseId, settlement })
    }
    const fail = async () => {
      const { leaseId } = await next()
      // Full is the queue of those that may hold one task.
      if (config.queueDepthLimit === 1) await it.client.submit('greet', { name: 'Bob' })
      const settlement = { ...again, recovery: { ...recovery, ...decided } } as const
      await it.store.write({ kind: 'settle', leaseId, settlement })
    }
    await fail()
    const post = it.as('one')
    const worker = await oneOf(post)
    const claims = async () => (await post(`${worker}/claims`, { waitMs: 0 })).json.claims
    /** A process says the settings of the other task, and runs these types. */
    const know = (careful: Record<string, string> = {}, types = ['careful']) => {
      const workers = [{ workerId: types.join(), capacity: 1, types, settings: { careful } }]
      return it.store.write({ kind: 'registerWorkers', workers })
    }
    /** Why it is back in the queue, and how often it was tried. */
    const held = async (id = taskId) => {
      const { waitsFor, requeued } = (await it.client.explain(id)) ?? {}
      const { tasks } = await it.client.list({ types: ['careful'] })
      return { waitsFor, why: requeued?.last.failure?.message, others: tasks.length }
    }
    return { ...it, taskId, claims, know, held, fail }
  }
  /** A worker of the task that it is handed over to, and its lease. */
  async function other({ as, client }: Awaited<ReturnType<typeof failed>>) {
    const post = as('two')
    const { json } = await post('', { types: ['careful'] })
    const worker = `/${json.workerId as string}`
    const [claim] = (await post(`${worker}/claims`, {})).json.claims
    const end = (settlement: object) =>
      post(`${worker}/leases/${claim.leaseId}/settle`, { call: 1, ...settlement })
    return { claim, end, status: await client.status(claim.taskId) }
  }

  test('14.3 the server calls the task that it was handed over to, once, and its output is that of the task', async () => {
    const it = await failed(
      { task: 'careful', taskModel: 'tiny', taskCost: 9 },
      { client: 'ann', labels: { a: 'b' } },
    )
    await it.know({ model: 'big', tools: '["browser"]', budget: '{"tokens":7}' })
    expect([await it.claims(), await it.claims()]).toEqual([[], []])
    const { claim, end, status } = await other(it)
    expect(status).toMatchObject({
      input: { name: 'Ann' },
      parent: it.taskId,
      client: 'ann',
      model: 'tiny',
      cost: 9,
      tools: ['browser'],
      budget: { limits: { tokens: 7 } },
    })
    expect(claim).toMatchObject({ labels: { 'recovery.handedOverBy': '["greet"]' }, model: 'tiny' })
    expect((await it.client.list({ types: ['careful'] })).tasks.length).toBe(1)
    expect((await it.client.explain(it.taskId))?.summary).toContain(
      "waits for 'careful', which it was handed over",
    )
    await end({ as: 'completed', output: ['careful'] })
    expect(await it.claims()).toEqual([])
    expect(await it.client.result(it.taskId)).toEqual(['careful'])
  })

  test('14.3 a failure or a cancel of the other task ends the first: nobody here knows its table', async () => {
    const first = await failed({ task: 'careful' })
    await first.know()
    expect(await first.claims()).toEqual([])
    await (await other(first)).end({ as: 'failed', error: { name: 'Error', message: 'no' } })
    expect(await first.claims()).toEqual([])
    expect(await first.client.status(first.taskId)).toMatchObject({ state: 'failed', kind: 'error' })
    const second = await failed({ task: 'careful' })
    await second.know()
    expect(await second.claims()).toEqual([])
    await second.client.cancel((await other(second)).claim.taskId)
    expect(await second.claims()).toEqual([])
    expect(await second.client.status(second.taskId)).toMatchObject({
      state: 'failed',
      error: { name: 'TaskCanceled' },
    })
  })

  test('14.3 a circle is refused, and a queue without room is tried again later', async () => {
    const circle = await failed({ task: 'greet' })
    expect(await circle.claims()).toEqual([])
    expect(await circle.client.status(circle.taskId)).toMatchObject({
      state: 'failed',
      error: { message: "task 'greet' is not handed over to 'greet': it was handed over by 'greet'" },
    })
    const full = await failed({ task: 'careful' }, {}, { queueDepthLimit: 1, batchBackpressureThreshold: 1 })
    await full.know()
    expect(await full.claims()).toEqual([])
    expect(await full.held()).toEqual({
      waitsFor: 'delay',
      why: "the queue has no room for 'careful', which the task was handed over to",
      others: 0,
    })
  })

  test('14.3 a reason that keeps the server from calling the other task keeps the first in the queue, longer each time', async () => {
    const delay = async (interruptions: number, draw = 0) => {
      const { claims, store, taskId } = await failed({ task: 'careful' }, {}, {}, interruptions, draw)
      expect(await claims()).toEqual([])
      const events = await store.read({ kind: 'events', taskId, after: 0, limit: 100 })
      const { at = 0, data = '{}' } = events?.findLast(({ type }) => type === 'task.requeued') ?? {}
      return JSON.parse(data).dueAt - at
    }
    expect([await delay(0), await delay(4)]).toEqual([2_000, 32_000])
    // Tasks that were put back together do not come back together.
    expect([await delay(0, 0.5), await delay(4, 0.75)]).toEqual([1_800, 27_200])
  })

  test('14.3 the other task is not called before a worker that runs it says its settings', async () => {
    const it = await failed({ task: 'careful' })
    // Whoever does not run it says nothing about it.
    await it.know({ model: 'any' }, ['nothing'])
    expect(await it.claims()).toEqual([])
    expect(await it.held()).toEqual({
      waitsFor: 'delay',
      why: "no worker is registered that runs 'careful', which the task was handed over to, and says its model, tools and budget: start one",
      others: 0,
    })
  })

  test('14.3 X14 a worker whose token is not bound to the other type does not make the server call it', async () => {
    const it = await failed({ task: 'careful' })
    await it.know()
    await it.restart({ types: ['greet'] })
    expect(await it.claims()).toEqual([])
    expect(await it.held()).toEqual({
      waitsFor: 'delay',
      why: "the token 'one' is bound to the task types greet, and careful is none of them",
      others: 0,
    })
  })

  test('14.3 a task that the server cannot prepare goes back alone, and is reported', async () => {
    const it = await failed({ task: 'careful' })
    await it.know({ tools: 'not json' })
    await it.client.submit('greet', { name: 'Bob' })
    const post = it.as('one')
    const worker = await oneOf(post, { capacity: 2 })
    const message = `task ${it.taskId} went back to the queue: it could not be prepared`
    expect((await post(`${worker}/claims`, { waitMs: 0 })).json.claims).toMatchObject([
      { input: { name: 'Bob' } },
    ])
    expect(await it.held()).toMatchObject({ waitsFor: 'delay', others: 0 })
    expect(it.errors.splice(0)).toMatchObject([
      { message: expect.stringContaining(message), cause: { name: 'SyntaxError' } },
    ])
  })

  test('14.3 a refusal of the other task ends the first, and says why', async () => {
    const quotaConfig = { models: { one: { maxInFlight: 1 } } }
    const it = await failed({ task: 'careful', taskModel: 'one' }, { model: 'one' }, { quotaConfig })
    await it.know()
    expect(await it.claims()).toEqual([])
    const why =
      "task 'careful', which the task was handed over to, was refused (quota_exceeded): quota model:one"
    expect(await it.client.status(it.taskId)).toMatchObject({
      state: 'failed',
      error: { message: expect.stringContaining(why) },
    })
  })

  test('6.3 14.3 the retry of a task that was handed over retries the other one', async () => {
    const it = await failed({ task: 'careful' })
    await it.know()
    expect(await it.claims()).toEqual([])
    const before = await other(it)
    await before.end({ as: 'failed', error: { name: 'Error', message: 'no' } })
    expect(await it.claims()).toEqual([])
    const again = await it.client.retry(it.taskId)
    await it.fail()
    expect(await it.claims()).toEqual([])
    const { taskId } = (await other(it)).claim
    const [queued] = (await it.store.read({ kind: 'events', taskId, after: 0, limit: 1 })) ?? []
    expect(JSON.parse(queued?.data ?? '{}')).toMatchObject({
      parentId: again.taskId,
      forkOf: before.claim.taskId,
      asRetry: true,
    })
  })

  test('14.3 the server asks a person, whose answer decides', async () => {
    const it = await failed({ strategy: 'human_escalation' })
    expect(await it.claims()).toEqual([])
    const [question] = (await it.client.approvals.list()).approvals
    expect(question?.artifact).toMatchObject({ escalated: 'crash', error: { message: 'too quick' } })
    await it.client.approvals.approve(question?.approvalId ?? '')
    expect(await it.claims()).toMatchObject([{ taskId: it.taskId, attempt: 2 }])

    const second = await failed({ strategy: 'human_escalation' })
    expect(await second.claims()).toEqual([])
    const [other2] = (await second.client.approvals.list()).approvals
    await second.client.approvals.reject(other2?.approvalId ?? '')
    expect(await second.claims()).toEqual([])
    expect(await second.client.status(second.taskId)).toMatchObject({
      state: 'failed',
      error: { message: 'too quick' },
    })
  })
})
