// Runs the task of the store that it is given as far as its first step, says so, and goes no further: it waits to be killed.
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

const [store = 'sqlite::memory:'] = process.argv.slice(2)
const fragile = defineTask({ type: 'fragile', input: z.object({ secret: z.string() }) }, async (ctx) => {
  await ctx.step('begin', () => 'begun')
  process.send?.('begun')
  await new Promise(() => {})
})
await createRuntime({ store, tasks: [fragile], logger: false })
