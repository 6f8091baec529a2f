import { inspect } from 'node:util'
import { type FailureKind, type PaperEvent, paperEvents } from '@ku0/agent-runtime-core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  defineTask,
  type EventPattern,
  type OutputItem,
  type RuntimeEvent,
  type TaskContext,
  TimeoutError,
} from '../src/index.ts'
import { createTestRuntime } from '../src/testing/index.ts'
import { all, gate, turns, until, virtualRuntime } from './virtual-runtime.ts'

const quick = defineTask({ type: 'quick', input: z.number() }, (_, n) => n)

describe('the values that are stored now', () => {
  const stuck = defineTask({ type: 'stuck', input: z.null() }, async (ctx: TaskContext) => {
    await ctx.emit('a')
    await ctx.waitForSignal('never')
  })

  test('ends events and output with live: false, though the task goes on', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [stuck] })
    const { taskId } = await runtime.submit(stuck, null)
    await elapse(1_000)
    const events = await all(runtime.events(taskId, { live: false }))
    expect(events.map(({ type }) => type)).toEqual(['task.queued', 'task.started', 'task.waiting'])
    expect(await all(runtime.output(taskId, { live: false }))).toMatchObject([{ data: 'a' }])
    expect(await all(runtime.events(taskId, { live: false, after: 3 }))).toEqual([])
  })
})

describe('a worker for so many tasks', () => {
  test('takes no more than maxTasks, however soon they end', async () => {
    const { runtime, elapse } = await virtualRuntime({
      tasks: [quick],
      workers: { count: 2, capacity: 3, maxTasks: 2 },
    })
    const receipts = await runtime.submitMany(
      Array.from({ length: 10 }, (_, input) => ({ task: quick, input })),
    )
    const first = receipts.slice(0, 4).map((receipt) => runtime.result(receipt))
    expect(await Promise.all(first)).toEqual([0, 1, 2, 3])
    await elapse(60_000)
    expect(await runtime.stats()).toMatchObject({ running: 0, totals: { completed: 4 } })
  })
})

describe('execution: results', () => {
  test('results of thousands of tasks, asked for before and after their end', async () => {
    const config = { queueDepthLimit: 5_000 }
    const { runtime } = await virtualRuntime({ tasks: [quick], config, workers: { count: 10 } })
    const items = Array.from({ length: 2_000 }, (_, input) => ({ task: quick, input }))
    const receipts = await runtime.submitMany(items)
    const results = await Promise.all(receipts.map((receipt) => runtime.result(receipt)))
    expect(results).toEqual(items.map(({ input }) => input))
    expect(await Promise.all(receipts.map(({ taskId }) => runtime.result(taskId)))).toEqual(results)
  })

  test('an unknown task is not_found', async () => {
    const { runtime } = await virtualRuntime({ tasks: [quick] })
    await expect(runtime.result('nobody')).rejects.toMatchObject({
      code: 'not_found',
      details: { taskId: 'nobody' },
    })
    expect(await runtime.status('nobody')).toBeUndefined()
    expect(await runtime.explain('nobody')).toBeUndefined()
    expect(await runtime.leases('nobody')).toEqual([])
  })

  test('explainQueue counts why tasks wait, and says of each reason which is the oldest', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [quick], workers: 0 })
    expect(await runtime.explainQueue()).toEqual({ queued: 0, waiting: 0, reasons: [] })
    const { taskId } = await runtime.submit(quick, 1)
    await elapse(5_000)
    await runtime.submit(quick, 2)
    expect(await runtime.explainQueue()).toEqual({
      queued: 2,
      waiting: 0,
      reasons: [{ reason: 'worker', state: 'queued', count: 2, oldest: { taskId, ageMs: 5_000 } }],
    })
  })

  test('E10 waiting ends with the caller: its timeout, its signal; the task goes on', async () => {
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [quick], start: false })
    const receipt = await runtime.submit(quick, 1)
    const idle = environment.clock.pending
    const late = runtime.result(receipt, { timeoutMs: 1_000 })
    const caught = late.catch((error: unknown) => error)
    await elapse(1_000)
    expect(await caught).toBeInstanceOf(TimeoutError)
    const controller = new AbortController()
    const given = runtime.result(receipt, { signal: controller.signal }).catch((error: unknown) => error)
    await turns()
    controller.abort('enough')
    expect(await given).toBe('enough')
    await expect(runtime.result(receipt, { signal: controller.signal })).rejects.toBe('enough')
    expect(environment.clock.pending).toBe(idle)
    await runtime.start()
    expect(await runtime.result(receipt)).toBe(1)
  })
})

describe('execution: events of a task', () => {
  test('history, then live, without a gap; the end of the task ends them', async () => {
    const door = gate()
    const task = defineTask({ type: 'steps', input: z.null() }, async (ctx) => {
      for (let index = 0; index < 600; index += 1) {
        if (index === 300) await door.promise
        await ctx.step(`s${index}`, () => index)
      }
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await turns()
    const seen: RuntimeEvent[] = []
    const reading = (async () => {
      for await (const event of runtime.events(receipt.taskId)) {
        seen.push(event)
        if (event.seq === 250) door.resolve()
      }
    })()
    await runtime.result(receipt)
    await reading
    expect(seen.map(({ seq }) => seq)).toEqual(Array.from({ length: 603 }, (_, index) => index + 1))
    expect(seen.at(-1)).toMatchObject({
      type: 'task.completed',
      taskId: receipt.taskId,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const resumedAt = (await all(runtime.events(receipt.taskId, { after: 600 }))).map(({ seq }) => seq)
    expect(resumedAt).toEqual([601, 602, 603])
    expect(await all(runtime.events(receipt.taskId, { after: 603 }))).toEqual([])
  })

  test('a reader who stops to read loses nothing and holds nobody up', async () => {
    const task = defineTask({ type: 'many', input: z.null() }, async (ctx) => {
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => ctx.step(`s${index}`, () => index)))
    })
    const { runtime } = await virtualRuntime({ tasks: [task], start: false })
    const receipt = await runtime.submit(task, null)
    const reader = runtime.events(receipt.taskId)[Symbol.asyncIterator]()
    expect(await reader.next()).toMatchObject({ value: { type: 'task.queued' } })
    const second = reader.next()
    await runtime.start()
    await runtime.result(receipt)
    const seqs = [(await second).value?.seq]
    for (let next = await reader.next(); next.done !== true; next = await reader.next())
      seqs.push(next.value.seq)
    expect(seqs).toEqual(Array.from({ length: 1_002 }, (_, index) => index + 2))
  })

  test('values in the data are decoded, and an event can be written as JSON', async () => {
    const dated = defineTask({ type: 'dated', input: z.date() }, (_, date) => date)
    const { runtime } = await virtualRuntime({ tasks: [dated] })
    const receipt = await runtime.submit(dated, new Date(5), { labels: { $ku0: 'a label like a tag' } })
    await runtime.result(receipt)
    const events = await all(runtime.events(receipt.taskId))
    expect(events.at(-1)?.data).toMatchObject({ output: new Date(5) })
    // What console.log shows.
    expect(inspect(events.at(-1))).toMatch(/data: \{/)
    expect(JSON.parse(JSON.stringify(events.at(-1)))).toMatchObject({
      type: 'task.completed',
      data: { output: { $ku0: ['Date', 5] } },
    })
    expect(events[0]?.data).toMatchObject({ labels: { $ku0: 'a label like a tag' } })
  })

  test('an unknown task is not_found; an aborted signal ends the reading', async () => {
    const { runtime } = await virtualRuntime({ tasks: [quick], workers: 0 })
    await expect(all(runtime.events('nobody'))).rejects.toMatchObject({ code: 'not_found' })
    const { taskId } = await runtime.submit(quick, 1)
    const controller = new AbortController()
    const reading = all(runtime.events(taskId, { signal: controller.signal })).catch(
      (error: unknown) => error,
    )
    await turns()
    controller.abort(new Error('closed tab'))
    expect(await reading).toMatchObject({ message: 'closed tab' })
  })
})

describe('execution: output of a task', () => {
  test('1000 chunks while a reader connects: no gap, no duplicate', async () => {
    const task = defineTask({ type: 'talks', input: z.null() }, async (ctx) => {
      for (let index = 1; index <= 1_000; index += 1) await ctx.emit({ index })
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    const items = await all(runtime.output(taskId))
    expect(items).toMatchObject(
      Array.from({ length: 1_000 }, (_, index) => ({
        type: 'chunk',
        seq: index + 1,
        data: { index: index + 1 },
      })),
    )
    expect(await all(runtime.output(taskId, { after: 998 }))).toEqual(items.slice(998))
  })

  test('emitted values keep the order of the calls, awaited or not', async () => {
    const task = defineTask({ type: 'talks', input: z.null() }, async (ctx) => {
      void ctx.emit('a')
      void ctx.emit('b')
      await ctx.emit('c')
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await runtime.result(receipt)
    expect((await all(runtime.output(receipt.taskId))).map(chunk)).toEqual(['a', 'b', 'c'])
  })

  test('after a failover the reader sees attempt.restarted first, live and later', async () => {
    const task = defineTask({ type: 'talks', input: z.null() }, async (ctx) => {
      await ctx.emit(`${ctx.attempt}a`)
      if (ctx.attempt === 1) await new Promise(() => {})
      await ctx.emit(`${ctx.attempt}b`)
    })
    const { runtime, block } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    const live: OutputItem[] = []
    const reading = (async () => {
      for await (const item of runtime.output(receipt.taskId)) live.push(item)
    })()
    await turns()
    await block(31_000)
    await runtime.result(receipt)
    await reading
    const restarted = { type: 'attempt.restarted', attempt: 2, seq: 1 }
    expect(live.map(chunk)).toEqual(['1a', restarted, '2a', '2b'])
    expect((await all(runtime.output(receipt.taskId))).map(chunk)).toEqual(['1a', restarted, '2a', '2b'])
    expect((await all(runtime.output(receipt.taskId, { after: 1 }))).map(chunk)).toEqual([
      restarted,
      '2a',
      '2b',
    ])
    expect((await all(runtime.output(receipt.taskId, { after: 2 }))).map(chunk)).toEqual(['2b'])
  })
})

describe('execution: output of a handler that is replayed', () => {
  /** What the output of a task of `body` is when it has ended, `waits` waits of a second later. */
  async function emitted(body: (ctx: TaskContext) => unknown, { config = {}, seconds = 10 } = {}) {
    const task = defineTask({ type: 'talks', input: z.null(), retry: { attempts: 3 } }, (ctx) => body(ctx))
    const virtual = await virtualRuntime({ tasks: [task], config })
    const receipt = await virtual.runtime.submit(task, null)
    for (let second = 0; second < seconds; second += 1) await virtual.elapse(1_000)
    await virtual.runtime.result(receipt)
    return (await all(virtual.runtime.output(receipt.taskId))).map(chunk)
  }

  test('a value that it has emitted before a wait is stored once', async () => {
    const said = await emitted(async (ctx) => {
      await ctx.emit('one')
      await ctx.sleep('a', 1_000)
      await ctx.emit({ two: [new Date(0)] })
      void ctx.emit('one')
      await ctx.sleep('b', 1_000)
      await ctx.emit('three')
    })
    expect(said).toEqual(['one', { two: [new Date(0)] }, 'one', 'three'])
  })

  test('however much it was: all of it is known again', async () => {
    const words = Array.from({ length: 1_000 }, (_, index) => `word ${index}`)
    const said = await emitted(async (ctx) => {
      for (const word of words) void ctx.emit(word)
      await ctx.sleep('a', 1_000)
      await ctx.emit('end')
    })
    expect(said).toEqual([...words, 'end'])
  })

  test('branches that come in another order lose and repeat nothing', async () => {
    const said = await emitted((ctx) =>
      ctx.all('both', {
        left: async (c) => {
          await c.emit('left 1')
          await c.sleep('l1', 3_000)
          await c.emit('left 2')
        },
        right: async (c) => {
          await c.sleep('r1', 1_000)
          await c.emit('right 1')
          await c.sleep('r2', 1_000)
          await c.emit('right 2')
        },
      }),
    )
    expect(said).toEqual(['left 1', 'right 1', 'right 2', 'left 2'])
  })

  test('a value that a step has emitted is not taken for the first value of the handler', async () => {
    const said = await emitted(async (ctx) => {
      await ctx.step('work', () => ctx.emit('working').then(() => null))
      await ctx.sleep('a', 1_000)
      await ctx.emit('working')
    })
    expect(said).toEqual(['working', 'working'])
  })

  test('a later attempt emits all of it again, once', async () => {
    const said = await emitted(
      async (ctx) => {
        await ctx.emit('one')
        await ctx.sleep('a', 1_000)
        await ctx.emit('two')
        if (ctx.attempt === 1) throw new Error('once')
        await ctx.sleep('b', 1_000)
      },
      { seconds: 60 },
    )
    expect(said).toEqual(['one', 'two', { type: 'attempt.restarted', attempt: 2, seq: 2 }, 'one', 'two'])
  })

  test('a handler that starts from a snapshot emits what it emits', async () => {
    const said = await emitted(async (ctx) => {
      for (let n = (ctx.restored as number | undefined) ?? 0; n < 3; n += 1) {
        await ctx.emit('tick')
        await ctx.checkpoint(n + 1)
        await ctx.sleep(`nap ${n}`, 1_000)
      }
    })
    expect(said).toEqual(['tick', 'tick', 'tick'])
  })

  test('after a rejection it emits again, once', async () => {
    const task = defineTask({ type: 'asks', input: z.null() }, async (ctx) => {
      await ctx.emit('drafting')
      await ctx.sleep(`nap ${ctx.feedback.length}`, 1_000)
      await ctx.requestApproval('send', null)
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(1_000)
    const open = async () => (await runtime.approvals.list({ task: taskId })).approvals[0]?.approvalId ?? ''
    await runtime.approvals.reject(await open(), { by: 'Ann' })
    await elapse(1_000)
    await runtime.approvals.approve(await open(), { by: 'Ann' })
    await runtime.result(taskId)
    expect((await all(runtime.output(taskId))).map(chunk)).toEqual(['drafting', 'drafting'])
  })

  test('one that nobody awaited and that fails is a line of the log: a chunk fails no task', async () => {
    const { runtime, log } = await virtualRuntime({ tasks: [careless] })
    expect(await runtime.result(await runtime.submit(careless, null))).toBe('done')
    expect(log).toContainEqual(expect.objectContaining({ level: 'warn', message: 'a write was refused' }))
  })
})

const careless = defineTask({ type: 'careless', input: z.null() }, (ctx) => {
  void ctx.emit<unknown>(() => 'lost')
  return 'done'
})

describe('execution: the event bus', () => {
  test('a listener gets the events that it asked for, by name, by prefix, all', async () => {
    const { runtime } = await virtualRuntime({ tasks: [quick] })
    const heard: Record<string, string[]> = { 'task.completed': [], 'lease.*': [], 'task:*': [], '*': [] }
    const subscriptions = Object.entries(heard).map(([pattern, types]) =>
      runtime.on(pattern as EventPattern, ({ type }) => types.push(type)),
    )
    await runtime.result(await runtime.submit(quick, 1))
    await turns()
    expect(heard).toEqual({
      'task.completed': ['task.completed'],
      'lease.*': ['lease.acquired', 'lease.released'],
      'task:*': ['task.queued', 'task.started', 'task.completed'],
      '*': ['task.queued', 'task.started', 'lease.acquired', 'task.completed', 'lease.released'],
    })
    for (const subscription of subscriptions) subscription[Symbol.dispose]()
    await runtime.result(await runtime.submit(quick, 1))
    await turns()
    expect(heard['*']).toHaveLength(5)
  })

  test('1.6 the ten names of the scheduler paper are heard as the events that they stand for', async () => {
    const reviewed = defineTask({ type: 'reviewed', input: z.number() }, async (ctx, input) => {
      await ctx.step('draft', () => input)
      await ctx.step('fails', { retry: { attempts: 2, backoff: { initialMs: 1 } } }, () => {
        if (tries++ === 0) throw new Error('not yet')
      })
      await ctx.checkpoint({ input })
      await ctx.requestApproval('draft ok', input)
    })
    let tries = 0
    await using run = await createTestRuntime({ tasks: [reviewed] })
    const { runtime } = run
    const heard: string[] = []
    const subscriptions = (Object.keys(paperEvents) as PaperEvent[]).map((name) =>
      runtime.on(name, ({ type }) => heard.push(`${name} ${type}`)),
    )
    runtime.on('agent_terminated', (event) => {
      if (event.type === 'task.failed') expectTypeOf(event.data.kind).toEqualTypeOf<FailureKind>()
    })
    const receipt = await runtime.submit(reviewed, 1)
    await run.advance(1_000)
    const [open] = (await runtime.approvals.list()).approvals
    await runtime.approvals.approve(open?.approvalId ?? '')
    await run.result(receipt)
    const canceled = await runtime.submit(reviewed, 2, { delayMs: 1_000 })
    await runtime.cancel(canceled)
    await run.settle()
    expect([...new Set(heard)].toSorted()).toEqual([
      'agent_cancelled task.canceled',
      'agent_started task.queued',
      'agent_terminated task.canceled',
      'agent_terminated task.completed',
      'approval_requested approval.requested',
      'checkpoint_created checkpoint.created',
      'job_assigned task.started',
      'job_completed task.completed',
      'step_completed step.completed',
      'step_failed step.failed',
      'step_replayed step.replayed',
    ])
    for (const subscription of subscriptions) subscription[Symbol.dispose]()
    const before = heard.length
    await runtime.cancel(await runtime.submit(reviewed, 3))
    await run.settle()
    expect(heard).toHaveLength(before)
  })

  test('the store is asked for what somebody listens for, and for nothing else', async () => {
    const { runtime, store } = await virtualRuntime({ tasks: [quick] })
    const crossed: string[] = []
    using _ = store.listen({ published: (events) => crossed.push(...events.map(({ type }) => type)) })
    await runtime.submit(quick, 1)
    await turns()
    expect(crossed).toEqual([])
    using failed = runtime.on('task.failed', () => {})
    const completed = runtime.on('task.completed', () => {})
    await runtime.submit(quick, 1)
    await turns()
    expect(crossed).toEqual(['task.completed'])
    completed[Symbol.dispose]()
    await runtime.submit(quick, 1)
    await turns()
    expect(crossed).toEqual(['task.completed'])
    expect(failed).toBeDefined()
  })

  test('an event that is asked for in the same turn as its cause is heard', async () => {
    const { runtime } = await virtualRuntime({ tasks: [quick] })
    const heard: string[] = []
    runtime.on('task.queued', ({ taskId }) => heard.push(taskId))
    const { taskId } = await runtime.submit(quick, 1)
    await until(() => heard.length === 1)
    expect(heard).toEqual([taskId])
  })

  test('a listener that throws harms nobody, and is logged', async () => {
    const { runtime, log } = await virtualRuntime({ tasks: [quick] })
    runtime.on('task.completed', () => {
      throw new Error('mine')
    })
    const heard: unknown[] = []
    runtime.on('task.completed', (event) => heard.push(event))
    await runtime.result(await runtime.submit(quick, 1))
    await until(() => heard.length === 1)
    expect(log).toMatchObject([
      { level: 'error', message: 'a listener failed', fields: { error: { name: 'Error' } } },
    ])
  })
})

describe('execution: introspection', () => {
  test('list pages from the newest on, filters, and understands cancelled', async () => {
    const { runtime } = await virtualRuntime({ tasks: [quick], workers: 0 })
    const receipts = await runtime.submitMany([1, 2, 3, 4, 5].map((input) => ({ task: quick, input })))
    await runtime.cancel(receipts[1]?.taskId ?? '')
    const first = await runtime.list({ limit: 2 })
    expect(first.tasks.map(({ sequence, input }) => [sequence, input])).toEqual([
      [5, 5],
      [4, 4],
    ])
    const second = await runtime.list({
      limit: 2,
      ...(first.cursor === undefined ? {} : { cursor: first.cursor }),
    })
    expect(second.tasks.map(({ sequence }) => sequence)).toEqual([3, 2])
    expect((await runtime.list({ states: ['cancelled'] })).tasks).toMatchObject([
      { sequence: 2, state: 'canceled' },
    ])
  })
})

function chunk(item: OutputItem): unknown {
  return item.type === 'chunk' ? item.data : item
}
