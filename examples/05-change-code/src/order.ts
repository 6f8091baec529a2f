// Three versions of one agent's code, as they were deployed one after the other.
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

const input = z.object({ item: z.string() })

export const first = defineTask({ type: 'order', input }, async (ctx, { item }) => {
  await ctx.step('charge', () => console.log(`  agent: charges for the ${item}`))
  await ctx.waitForSignal('packed')
  await ctx.step('send', () => console.log(`  agent: sends the ${item}`))
  return 'sent'
})

/** A check was put in before the charge: orders that are charged already know nothing of it. */
export const careless = defineTask({ type: 'order', input }, async (ctx, { item }) => {
  await ctx.step('check', () => console.log(`  agent: checks that there is a ${item}`))
  await ctx.step('charge', () => console.log(`  agent: charges for the ${item}`))
  await ctx.waitForSignal('packed')
  await ctx.step('send', () => console.log(`  agent: sends the ${item}`))
  return 'checked and sent'
})

/** The same for those that come to it with the new code. */
export const careful = defineTask({ type: 'order', input }, async (ctx, { item }) => {
  const isNew = await ctx.patched('check before the charge')
  if (isNew) await ctx.step('check', () => console.log(`  agent: checks that there is a ${item}`))
  await ctx.step('charge', () => console.log(`  agent: charges for the ${item}`))
  await ctx.waitForSignal('packed')
  await ctx.step('send', () => console.log(`  agent: sends the ${item}`))
  return isNew ? 'checked and sent' : 'sent'
})
