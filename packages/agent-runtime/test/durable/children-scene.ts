import { z } from 'zod'
import { defineTask } from '../../src/index.ts'

export const double = defineTask({ type: 'double', input: z.number() }, async (ctx, input) => {
  await ctx.sleep('think', 1_000)
  return input * 2
})

export const broken = defineTask({ type: 'broken', input: z.string() }, (_, text) => {
  throw Object.assign(new Error(text), { code: 'EBROKEN' })
})
