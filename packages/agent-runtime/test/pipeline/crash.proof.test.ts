import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { definePipeline, defineTask } from '../../src/index.ts'
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
})
