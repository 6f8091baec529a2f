import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

// A task type: a schema for its input, and a handler. A step's result is committed before `ctx.step` returns.
export const greet = defineTask(
  { type: 'greet', input: z.object({ name: z.string() }) },
  async (ctx, { name }) => {
    const greeting = await ctx.step('choose a greeting', () => (name.length > 3 ? 'Hello' : 'Hi'))
    const text = await ctx.step('put it together', () => `${greeting}, ${name}!`)
    return { text }
  },
)
