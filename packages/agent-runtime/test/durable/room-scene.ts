import { z } from 'zod'
import { defineTask } from '../../src/index.ts'

export const nothing = defineTask({ type: 'nothing', input: z.number() }, (_, n) => n)

export const fanOut = defineTask({ type: 'fanOut', input: z.number() }, async (ctx, count) => {
  const calls = Array.from({ length: count }, (_, n) => ctx.call(`child ${n}`, nothing, n))
  return (await Promise.all(calls)).reduce((sum, n) => sum + n, 0)
})

export const sumTo = (count: number) => (count * (count - 1)) / 2
