import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type GraphNode } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { add, double, start } from './graph.test.ts'

describe('graphs (docs/semantics.md 13.3)', () => {
  test('a graph ends the same after a crash at every commit', async () => {
    const step = defineTask({ type: 'step', input: z.number() }, async (ctx, number) => {
      const one = await ctx.step('one', () => number + 1)
      return ctx.step('two', () => one * 2)
    })
    await sweepCrashes({
      tasks: [step, add],
      script: async (it) => {
        const receipt = await it.runtime.submitGraph({
          nodes: {
            a: { task: step, input: 1 },
            b: { task: step, input: 2 },
            c: { task: step, inputFrom: 'a' },
            d: { task: add, inputFrom: { left: 'b', right: 'c' } },
          },
        })
        return it.result(receipt)
      },
      check: (_, result) => expect(result).toEqual({ a: 4, b: 6, c: 10, d: 16 }),
    })
  })

  test('a thousand nodes', async () => {
    await using it = await start({ workers: { capacity: 4 } })
    const node = (index: number): GraphNode =>
      index < 500 ? { task: double, input: index } : { task: double, inputFrom: `n${index - 500}` }
    const nodes = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`n${index}`, node(index)]))
    const receipt = await it.runtime.submitGraph({ nodes })
    expect(((await it.result(receipt)) as Record<string, number>)['n999']).toBe(499 * 4)
    expect((await it.runtime.stats()).totals).toMatchObject({ completed: 1_001, failed: 0 })
  })
})
