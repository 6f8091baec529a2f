import { join } from 'node:path'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import {
  createRuntime,
  definePipeline,
  defineTask,
  RuntimeError,
  type TaskDefinition,
} from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { folder } from '../real-processes.ts'
import { all } from '../virtual-runtime.ts'

const nothing = z.undefined()
const Order = z.object({ customer: z.string(), n: z.number() })

/** Three orders of each of five customers, in turn. */
const orders = defineTask({ type: 'orders', input: nothing }, async (ctx) => {
  for (const n of [1, 2, 3]) {
    const round = ['ada', 'bob', 'cyd', 'dan', 'eve'].map((customer) => ({ customer, n }))
    await ctx.publishAll('order', round, { key: ({ customer }) => customer })
  }
})
/** Sends a mail for each order, and gives the customers that it saw. */
const mails = defineTask({ type: 'mails', input: z.string() }, async (ctx, name) => {
  const seen = new Set<string>()
  for (;;) {
    const events = await ctx.receive({ order: Order }, { max: 2 })
    if (events.length === 0) return `${name}: ${[...seen].toSorted().join(' ')}`
    for (const { data } of events) {
      seen.add(data.customer)
      await ctx.publish('mail', data)
    }
  }
})
const count = defineTask({ type: 'count', input: nothing }, async (ctx) => {
  let mailCount = 0
  for (;;) {
    const events = await ctx.receive(['mail'])
    if (events.length === 0) return mailCount
    mailCount += events.length
  }
})

function shop(partitions: number, maxUnread = 1_000) {
  return definePipeline({
    name: 'shop',
    maxUnread,
    stages: [
      { name: 'orders', task: orders, publishes: { order: Order } },
      {
        name: 'mails',
        task: mails,
        input: (_, partition) => `part ${partition}`,
        subscribes: ['order'],
        publishes: { mail: Order },
        partitions,
      },
      { name: 'count', task: count, subscribes: ['mail'] },
    ],
  })
}
const tasks = [orders, mails, count]

describe('13.2 a stage with partitions', () => {
  test.each([1, 2, 1_000])(
    'handles the events of a key in order, each once, with at most %i unread events',
    async (maxUnread) => {
      const pipeline = shop(3, maxUnread)
      await using it = await createTestRuntime({ tasks: [pipeline, ...tasks] })
      const { runtime } = it
      const receipt = await runtime.submit(pipeline, undefined)
      expect(await it.result(receipt)).toEqual({
        orders: undefined,
        mails: ['part 1: bob eve', 'part 2: ada cyd', 'part 3: dan'],
        count: 15,
      })
      const sent = await all(runtime.pipeline(receipt).events({ types: ['mail'] }))
      for (const customer of ['ada', 'bob', 'cyd', 'dan', 'eve']) {
        const own = sent.filter(({ data }) => (data as z.infer<typeof Order>).customer === customer)
        expect(own.map(({ data }) => (data as z.infer<typeof Order>).n)).toEqual([1, 2, 3])
        expect(new Set(own.map(({ partition }) => partition)).size).toBe(1)
      }
      const { stages } = await runtime.pipeline(receipt).status()
      expect(stages[1]).toMatchObject({
        stage: 'mails',
        ended: true,
        taken: { order: 15 },
        tasks: [
          { partition: 1, taken: { order: 6 } },
          { partition: 2, taken: { order: 6 } },
          { partition: 3, taken: { order: 3 } },
        ],
      })
    },
  )

  test('shares events without a key among them in turn', async () => {
    const numbers = defineTask({ type: 'numbers', input: nothing }, (ctx) =>
      ctx.publishAll('n', [1, 2, 3, 4, 5]),
    )
    const takes = defineTask({ type: 'takes', input: nothing }, async (ctx) => {
      const got: number[] = []
      for (;;) {
        const events = await ctx.receive<number>(['n'])
        if (events.length === 0) return got
        got.push(...events.map(({ data }) => data))
      }
    })
    const pipeline = definePipeline({
      name: 'turns',
      stages: [
        { name: 'numbers', task: numbers, publishes: { n: z.number() } },
        { name: 'takes', task: takes, subscribes: ['n'], partitions: 2 },
      ],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, numbers, takes] })
    expect(await it.result(await it.runtime.submit(pipeline, undefined))).toMatchObject({
      takes: [
        [1, 3, 5],
        [2, 4],
      ],
    })
  })

  test('fails the pipeline with the first of its tasks that fails; the others are canceled', async () => {
    const breaks = defineTask({ type: 'breaks', input: z.number() }, async (ctx, partition) => {
      const [event] = await ctx.receive(['order'], { max: 1 })
      if (partition === 2 && event !== undefined) throw new Error('part 2 is broken')
      await ctx.waitForSignal('never')
    })
    const pipeline = definePipeline({
      name: 'broken shop',
      stages: [
        { name: 'orders', task: orders, publishes: { order: Order } },
        { name: 'breaks', task: breaks, input: (_, part) => part, subscribes: ['order'], partitions: 3 },
      ],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, orders, breaks] })
    const receipt = await it.runtime.submit(pipeline, undefined)
    await expect(it.result(receipt)).rejects.toThrow('part 2 is broken')
    const { stages } = await it.runtime.pipeline(receipt).status()
    const states = (stages[1]?.tasks ?? []).map(({ taskId = '' }) => it.runtime.status(taskId))
    expect((await Promise.all(states)).map((status) => status?.state)).toEqual([
      'canceled',
      'failed',
      'canceled',
    ])
  })

  test('publishes nothing twice when a task of it runs again, also where keys differ for the same data', async () => {
    const says = defineTask({ type: 'says', input: nothing, retry: { attempts: 2 } }, async (ctx) => {
      const keys = ctx.attempt === 1 ? ['a'] : ['b', 'a']
      await Promise.all(keys.map((key) => ctx.publish('n', 1, { key })))
      if (ctx.attempt === 1) throw new Error('again')
    })
    const pipeline = definePipeline({
      name: 'again',
      stages: [{ name: 'says', task: says, publishes: { n: z.number() } }],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, says] })
    const receipt = await it.runtime.submit(pipeline, undefined)
    await it.result(receipt)
    const events = await all(it.runtime.pipeline(receipt).events())
    expect(new Set(events.map(({ keyHash }) => keyHash)).size).toBe(2)
    expect(events).toHaveLength(2)
  })

  test('refuses a key that is no string', async () => {
    const errors: unknown[] = []
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      for (const key of ['', 5, () => undefined])
        await ctx.publish('n', 1, { key } as never).catch((error: unknown) => {
          errors.push([(error as RuntimeError).code, (error as Error).message])
        })
    })
    const pipeline = definePipeline({
      name: 'no keys',
      stages: [{ name: 'says', task: says, publishes: { n: z.number() } }],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, says] })
    await it.result(await it.runtime.submit(pipeline, undefined))
    const wrongOption = ['invalid_argument', expect.stringMatching(/^publish 'n'.* key: .*1 to 255/s)]
    expect(errors).toEqual([
      wrongOption,
      wrongOption,
      ['invalid_argument', "publish 'n': a key is a string of 1 to 255 characters, not undefined"],
    ])
  })

  test('keeps the number of partitions with which its pipeline began, in a store that verify agrees with', async () => {
    const store = `sqlite:${join(folder(), 'store.db')}`
    const held = defineTask({ type: 'orders', input: nothing }, async (ctx) => {
      await ctx.publish('order', { customer: 'ada', n: 1 }, { key: 'ada' })
      await ctx.waitForSignal('go on')
      await ctx.publish('order', { customer: 'ada', n: 2 }, { key: 'ada' })
    })
    const run = (line: TaskDefinition) =>
      createRuntime({ store, tasks: [line, held, mails, count], logger: false, telemetry: false })
    let receipt
    {
      const line = shop(2)
      await using runtime = await run(line)
      receipt = await runtime.submit(line, undefined)
      for await (const _ of runtime.pipeline(receipt).events({ types: ['mail'] })) break
    }
    const line = shop(3)
    await using runtime = await run(line)
    const { stages } = await runtime.pipeline(receipt).status()
    await runtime.signal(stages[0]?.tasks[0]?.taskId ?? '', 'go on', null)
    const { mails: parts, count: mailCount } = await runtime.result<Record<string, unknown>>(receipt)
    expect([parts, mailCount]).toEqual([['part 1: ', 'part 2: ada'], 2])
    expect((await runtime.pipeline(receipt).status()).terms.stages[1]).toMatchObject({ partitions: 2 })
    expect((await verifyStore(store)).faults).toEqual([])
  })
})
