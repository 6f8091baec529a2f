import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

describe('execution: sleep', () => {
  test('1000 tasks sleep beside one slot, and all finish', async () => {
    const task = defineTask({ type: 'many', input: z.number() }, async (ctx, n) => {
      await ctx.sleep('nap', 60_000)
      return n
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const receipts = await runtime.submitMany(Array.from({ length: 1_000 }, (_, input) => ({ task, input })))
    for (let round = 0; round < 2_000 && (await runtime.stats()).waiting < 1_000; round += 1) await elapse(0)
    expect(await runtime.stats()).toMatchObject({ waiting: 1_000, running: 0 })
    await elapse(60_000)
    const results = await Promise.all(receipts.map((receipt) => runtime.result(receipt)))
    expect(results).toEqual(receipts.map((_, index) => index))
  })
})
