import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { draws } from '../../../../tools/draws.ts'
import { definePipeline, defineTask, type PipelineView } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { all } from '../virtual-runtime.ts'

const numbers = defineTask({ type: 'numbers', input: z.undefined() }, async (ctx) => {
  for (const n of [1, 2, 3, 4]) {
    const drawn = await ctx.step(`draw ${n}`, () => n)
    await ctx.publish('n', drawn)
  }
})
const squares = defineTask({ type: 'squares', input: z.undefined() }, async (ctx) => {
  for (;;) {
    const events = await ctx.receive<number>(['n'], { max: 2 })
    if (events.length === 0) return
    const found = await ctx.step(`square ${events[0]?.sequence}`, () => events.map(({ data }) => data * data))
    await ctx.publishAll('square', found)
  }
})
const total = defineTask({ type: 'total', input: z.undefined() }, async (ctx) => {
  const got: number[] = []
  for (;;) {
    const events = await ctx.receive<number>(['n', 'square'], { max: 3 })
    if (events.length === 0) return got.toSorted((a, b) => a - b)
    got.push(...events.map(({ data }) => data))
  }
})
const line = definePipeline({
  name: 'line',
  maxUnread: 2,
  stages: [
    { name: 'numbers', task: numbers, publishes: { n: z.number() } },
    { name: 'squares', task: squares, subscribes: ['n'], publishes: { square: z.number() } },
    { name: 'total', task: total, subscribes: ['n', 'square'] },
  ],
})

describe('13.2 a pipeline whose process dies at any commit', () => {
  test('publishes and receives each event once, in order', async () => {
    const report = await sweepCrashes({
      tasks: [line, numbers, squares, total],
      script: async (it) => {
        const { runtime } = it
        const receipt = await runtime.submit(line, undefined, { taskId: 'line' })
        const { total: got } = await it.result(receipt)
        const events = await all(runtime.pipeline(receipt).events())
        const of = (type: string) => events.flatMap((event) => (event.type === type ? [event.data] : []))
        const gaps = events.filter(({ sequence }, at) => sequence !== at + 1)
        return { got, n: of('n'), square: of('square'), gaps }
      },
      check: (_, result) => {
        expect(result).toEqual({
          got: [1, 1, 2, 3, 4, 4, 9, 16],
          n: [1, 2, 3, 4],
          square: [1, 4, 9, 16],
          gaps: [],
        })
      },
    })
    expect(report.crashedAfter.length).toBeGreaterThan(25)
  })

  test.each(draws([1], [1], [1, 2, 3]))(
    'keeps the order of each key in stages with partitions: random pipeline %i',
    async (seed) => {
      const { tasks, pipeline, expected } = randomPipeline(seed)
      const report = await sweepCrashes({
        tasks: [pipeline, ...tasks],
        script: async (it) => {
          const receipt = await it.runtime.submit(pipeline, undefined, { taskId: 'line' })
          const { last } = await it.result(receipt)
          const events = await all(it.runtime.pipeline(receipt).events())
          const said = events.map(({ type, partition, data }) => ({ type, partition, data: data as Said }))
          const { stages } = await it.runtime.pipeline(receipt).status()
          return {
            last: last,
            byKey: byKeyOf(said),
            stages: stages.map(countsOf),
          }
        },
        check: (_, result) => {
          expect(result).toMatchObject(expected)
        },
      })
      expect(report.crashedAfter.length).toBeGreaterThan(20)
    },
  )
})

interface Said {
  readonly key: string
  readonly n: number
}

/** A stage that publishes for a few keys, one or two with partitions that pass it on, and one that collects all. */
function randomPipeline(seed: number) {
  const random = new SeededRandom(seed)
  const draw = (below: number) => random.bits() % below
  const keys = ['a', 'b', 'c'].slice(0, 2 + draw(2))
  const rounds = 2 + draw(2)
  const max = 1 + draw(3)
  const passing = 1 + draw(2)
  const says = defineTask({ type: 'says', input: z.undefined() }, async (ctx) => {
    for (let n = 1; n <= rounds; n += 1)
      await ctx.publishAll(
        't0',
        keys.map((key) => ({ key, n })),
        { key: (it) => it.key },
      )
  })
  const passes = defineTask({ type: 'passes', input: z.number() }, async (ctx, at) => {
    for (;;) {
      const events = await ctx.receive<Said>([`t${at}`], { max })
      if (events.length === 0) return
      await ctx.publishAll(
        `t${at + 1}`,
        events.map(({ data }) => data),
        { key: (it) => it.key },
      )
    }
  })
  const collects = defineTask({ type: 'collects', input: z.undefined() }, async (ctx) => {
    const got: Said[] = []
    for (;;) {
      const events = await ctx.receive<Said>([`t${passing}`], { max: 10 })
      // The order between keys is free.
      if (events.length === 0) return got.toSorted(byKeyOnly)
      got.push(...events.map(({ data }) => data))
    }
  })
  const said = z.object({ key: z.string(), n: z.number() })
  const pipeline = definePipeline({
    name: 'random',
    maxUnread: 1 + draw(3),
    stages: [
      { name: 'says', task: says, publishes: { t0: said } },
      ...Array.from({ length: passing }, (_, at) => ({
        name: `passes${at}`,
        task: passes,
        input: () => at,
        subscribes: [`t${at}`],
        publishes: { [`t${at + 1}`]: said },
        partitions: 2 + draw(2),
      })),
      { name: 'last', task: collects, subscribes: [`t${passing}`] },
    ],
  })
  const everything = Array.from({ length: rounds }, (_, n) => keys.map((key) => ({ key, n: n + 1 }))).flat()
  const inOrder = Array.from({ length: rounds }, (_, n) => n + 1).join(' ')
  const byKey = Object.fromEntries(
    keys.flatMap((key) =>
      Array.from({ length: passing + 1 }, (_, at) => [`t${at} ${key}`, { order: inOrder, partitions: 1 }]),
    ),
  )
  return {
    tasks: [says, passes, collects],
    pipeline,
    expected: { last: everything.toSorted(byKeyOnly), byKey },
  }
}

/** By type and key: the numbers in the order of the log, and how many partitions published them. */
function byKeyOf(
  events: readonly { readonly type: string; readonly partition: number | undefined; readonly data: Said }[],
) {
  const found = new Map<string, { readonly order: number[]; readonly by: Set<number | undefined> }>()
  for (const { type, partition, data } of events) {
    const name = `${type} ${data.key}`
    const own = found.get(name) ?? { order: [], by: new Set() }
    found.set(name, own)
    own.order.push(data.n)
    own.by.add(partition)
  }
  return Object.fromEntries(
    [...found].map(([name, { order, by }]) => [name, { order: order.join(' '), partitions: by.size }]),
  )
}

function countsOf({ stage, ended, taken, tasks }: PipelineView['stages'][number]) {
  return { stage, ended, taken, tasks: tasks.map((it) => [it.ended, it.taken, it.unread]) }
}

function byKeyOnly(a: Said, b: Said): number {
  if (a.key === b.key) return 0
  return a.key < b.key ? -1 : 1
}
