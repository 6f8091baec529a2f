import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

/** Batch work; the first attempt at 1 lasts until its process dies. */
export const scan = defineTask({ type: 'scan', input: z.number(), lane: 'batch' }, async (ctx, n) => {
  if (n === 1 && ctx.attempt === 1) await new Promise(() => setInterval(() => undefined, 1_000))
  return n * 2
})
