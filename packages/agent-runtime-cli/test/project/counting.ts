import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

/** A step prints a line before it returns, and the handler prints one after its result was recorded. */
export default [
  defineTask({ type: 'count', input: z.int() }, async (ctx, steps) => {
    let total = 0
    for (let n = 0; n < steps; n++) {
      total += await ctx.step(`step ${n}`, async () => {
        console.log(`${ctx.taskId} ran ${n}`)
        await sleep(20)
        return n
      })
      console.log(`${ctx.taskId} recorded ${n}`)
    }
    await ctx.sleep('pause', 50)
    return [total, await ctx.step('effect', () => true)]
  }),
]
