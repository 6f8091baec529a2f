// The agent: it looks outside, thinks about what it saw, and writes it down.
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

export const report = defineTask(
  { type: 'report', input: z.object({ city: z.string() }) },
  async (ctx, { city }) => {
    const weather = await ctx.step('look outside', () => {
      console.log('  looks outside')
      return 'rain'
    })
    const advice = await ctx.step('think', () => {
      console.log('  thinks')
      return weather === 'rain' ? 'take an umbrella' : 'take sunglasses'
    })
    return ctx.step('write', () => {
      console.log('  writes')
      return `${city}: ${weather}, ${advice}`
    })
  },
)
