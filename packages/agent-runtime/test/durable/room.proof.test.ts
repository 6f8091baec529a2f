import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { nothing, fanOut, sumTo } from './room-scene.ts'

describe('children that find no room (docs/semantics.md 5.5)', () => {
  test('thousands of calls side by side need no more than the settings that are there', async () => {
    await using it = await createTestRuntime({ tasks: [fanOut, nothing] })
    expect(await it.run(fanOut, 2_500)).toBe(sumTo(2_500))
    expect((await it.runtime.stats()).totals.rejected).toBe(0)
  })

  test('steps that are tried again do not count among the waits of a task, but have a limit of their own', async () => {
    let failures = 0
    const shaky = defineTask({ type: 'shaky', input: z.number() }, async (ctx, count) => {
      const tried = new Set<number>()
      const step = (n: number) =>
        ctx.step(`step ${n}`, { retry: { attempts: 2, backoff: { initialMs: 1_000, jitter: 0 } } }, () => {
          if (failures >= count || tried.has(n)) return n
          failures += 1
          throw new Error('shaken')
        })
      return (await Promise.all(Array.from({ length: count }, (_, n) => step(n)))).length
    })
    await using it = await createTestRuntime({ tasks: [shaky] })
    expect(await it.run(shaky, 1_100)).toBe(1_100)
    failures = 0
    await using tight = await createTestRuntime({ tasks: [shaky], config: { maxBackOffs: 2 } })
    const receipt = await tight.runtime.submit(shaky, 3)
    await expect(tight.result(receipt)).rejects.toMatchObject({
      code: 'limit_exceeded',
      message: expect.stringContaining('at most maxBackOffs 2') as string,
    })
  })
})
