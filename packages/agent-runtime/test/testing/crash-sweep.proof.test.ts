import './crash-sweep.test.ts'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'

describe('sweepCrashes', () => {
  test.each<[string, (ctx: TaskContext) => Promise<unknown>]>([
    [
      'all in a race',
      (ctx) =>
        ctx.race('r', {
          a: (b) => b.step('2', () => 2),
          b: (b) => b.all('i', { x: (c) => c.step('3', () => 3) }),
        }),
    ],
    [
      'a race in a race',
      (ctx) =>
        ctx.race('r', {
          a: (b) => b.race('i', { x: (c) => c.step('1', () => 1) }),
          b: (b) => b.step('2', () => 2),
        }),
    ],
    [
      'a race in an all that fails',
      (ctx) =>
        ctx
          .all('r', {
            a: () => Promise.reject(new Error('no')),
            b: (b) => b.race('i', { x: (c) => c.step('1', () => 1) }),
          })
          .catch(() => 'failed'),
    ],
  ])('%s ends the same after every crash', async (_, body) => {
    const nested = defineTask({ type: 'nested', input: z.null() }, async (ctx) => {
      await body(ctx)
      return 'over'
    })
    const { commits } = await sweepCrashes({
      tasks: [nested],
      script: async (it) => it.result(await it.runtime.submit(nested, null)),
    })
    expect(commits).toBeGreaterThan(2)
  })
})
