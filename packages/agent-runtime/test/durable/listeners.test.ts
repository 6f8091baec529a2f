import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

it('T12 hundreds of steps with a time limit of their own leave no listener on the signal of the task', async () => {
  const counts: number[] = []
  const task = defineTask({ type: 'busy', input: z.null() }, async (ctx) => {
    for (let n = 0; n < 400; n += 1) {
      await ctx.step(`step ${n}`, { timeoutMs: 60_000 }, (step) => {
        if (n % 100 === 0) counts.push(getEventListeners(ctx.signal, 'abort').length)
        return step.signal.aborted
      })
    }
    counts.push(getEventListeners(ctx.signal, 'abort').length)
  })
  const { runtime } = await virtualRuntime({ tasks: [task] })
  await runtime.result(await runtime.submit(task, null))
  expect(counts).toEqual([1, 1, 1, 1, 0])
})
