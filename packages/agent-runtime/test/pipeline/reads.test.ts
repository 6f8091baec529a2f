import { type ExecutionStore, type Reads } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createRuntime, definePipeline, defineTask } from '../../src/index.ts'
import { type ReadEvent, Received } from '../../src/durable/pipeline/received.ts'
import { elapse, virtualEnvironment } from '../virtual-runtime.ts'

const chunk = (seq: number, data = '{}', at = 0): ReadEvent => ({ seq, at, data })

describe('the events that stages have received', () => {
  test('are found by their task and receipt', () => {
    const received = new Received(10_000)
    const chunks = [chunk(1), chunk(3)]
    received.keep('a', 'r1', chunks)
    const ranges = [
      [1, 1],
      [3, 1],
    ] as const
    expect(received.find('a', 'r1', ranges)).toEqual(chunks)
    expect(received.find('a', 'r2', ranges)).toBeUndefined()
    expect(received.find('b', 'r1', ranges)).toBeUndefined()
    expect(received.find('a', 'r1', [[1, 1]])).toBeUndefined()
    expect(received.find('a', 'r1', [[2, 2]])).toBeUndefined()
  })

  test('are found as they were kept, whatever their data and times are', () => {
    const received = new Received(10_000)
    const chunks = [
      chunk(2, '"é🙂"', 5),
      chunk(3, '\ud800', 5),
      chunk(7, '[1,\n2]', 6),
      chunk(9, '{}', 5),
      chunk(10, 'x', 6),
    ]
    received.keep('a', 'r1', chunks)
    const ranges = [
      [2, 2],
      [7, 1],
      [9, 2],
    ] as const
    expect(received.find('a', 'r1', ranges)).toEqual(chunks)
    expect(received.find('a', 'r1', ranges)).toEqual(chunks)
    const narrow = [chunk(1, '"\u0000é\u00ff"'), chunk(2, '{}')]
    received.keep('a', 'r2', narrow)
    expect(received.find('a', 'r2', [[1, 2]])).toEqual(narrow)
  })

  test('are kept within a bound: the first of a task stay, tasks that asked longest ago go', () => {
    const received = new Received(4_200)
    const long = (seq: number) => [chunk(seq, 'x'.repeat(900))]
    for (const seq of [1, 2, 3, 4]) received.keep('a', `r${seq}`, long(seq))
    expect([1, 2, 3, 4].map((seq) => received.find('a', `r${seq}`, [[seq, 1]]) !== undefined)).toEqual([
      true,
      true,
      true,
      false,
    ])
    received.keep('b', 'r1', long(1))
    expect(received.find('a', 'r1', [[1, 1]])).toBeUndefined()
    received.keep('c', 'r1', long(1))
    received.find('b', 'r1', [[1, 1]])
    received.keep('d', 'r1', [...long(1), ...long(2)])
    expect(received.find('b', 'r1', [[1, 1]])).toBeDefined()
    expect(received.find('c', 'r1', [[1, 1]])).toBeUndefined()
    expect(received.find('d', 'r1', [[1, 2]])).toHaveLength(2)
    received.keep('e', 'r1', [chunk(1, 'x'.repeat(9_000))])
    expect(received.find('e', 'r1', [[1, 1]])).toBeUndefined()
    received.drop('b')
    received.drop('d')
    expect(received.size).toBe(0)
  })
})

describe('13.2 a stage reads from the store', () => {
  test('each of its own events once, however often it waits, and none of another partition', async () => {
    const Order = z.object({ n: z.number() })
    const orders = defineTask({ type: 'orders', input: z.undefined() }, async (ctx) => {
      for (const round of [0, 1, 2, 3]) {
        await ctx.publishAll(
          'order',
          Array.from({ length: 30 }, (_, n) => ({ n: 30 * round + n })),
        )
        await ctx.sleep(`between ${round}`, 10_000)
      }
    })
    const passes: string[] = []
    const bills = defineTask({ type: 'bills', input: z.number() }, async (ctx, partition) => {
      passes.push(`${partition}`)
      const got: number[] = []
      for (;;) {
        const events = await ctx.receive({ order: Order })
        if (events.length === 0) return got
        got.push(...events.map(({ data }) => data.n))
      }
    })
    const shop = definePipeline({
      name: 'shop',
      stages: [
        { name: 'orders', task: orders, publishes: { order: Order } },
        {
          name: 'bills',
          task: bills,
          input: (_, partition) => partition,
          subscribes: ['order'],
          partitions: 3,
        },
      ],
    })
    const environment = virtualEnvironment()
    const { config } = parseExecutionConfig({})
    const store = await openStore('sqlite::memory:', { config, environment, checked: false })
    const read: number[] = []
    const runtime = await createRuntime({
      store: listening(store, (chunks) => read.push(...chunks.map(({ seq }) => seq))),
      environment,
      tasks: [shop, orders, bills],
      telemetry: false,
      logger: false,
    })
    try {
      const receipt = await runtime.submit(shop, undefined)
      await elapse(environment, 60_000)
      const { bills: got } = await runtime.result(receipt)
      const inTurn = [0, 1, 2].map((part) => Array.from({ length: 40 }, (_, n) => 3 * n + part))
      expect(got).toEqual(inTurn)
      expect(passes.length).toBeGreaterThanOrEqual(12)
      expect(read.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 120 }, (_, n) => n + 1))
    } finally {
      await runtime.stop({ drain: false })
      await store.close()
    }
  })
})

/** The store, with somebody who hears what is read of the log of a pipeline. */
function listening(
  store: ExecutionStore,
  heard: (chunks: Reads['pipelineEvents']['answer'] & object) => void,
): ExecutionStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'read') return value.bind(target) as unknown
      return async (query: Parameters<ExecutionStore['read']>[0]) => {
        const answer = await target.read(query)
        if (query.kind === 'pipelineEvents' && answer !== undefined)
          heard(answer as Reads['pipelineEvents']['answer'] & object)
        return answer
      }
    },
  })
}
