import { defineAgreement, defineContract, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

export const greet = defineTask(
  { type: 'greet', input: z.object({ name: z.string() }) },
  async (ctx, { name }) => ctx.step('compose', () => `Hello ${name}`),
)

export const review = defineTask({ type: 'review', input: z.string() }, async (ctx, text) => {
  const { value } = await ctx.requestApproval<string>('publish', { text })
  return value ?? text
})

export const others = [
  defineTask({ type: 'fail', input: z.string() }, (_, why) => {
    throw new Error(why)
  }),
  defineTask({ type: 'wait', input: z.null() }, (ctx) => ctx.waitForSignal<string>('go')),
  defineTask({ type: 'digest', input: z.number(), lane: 'batch' }, (_, n) => n * 2),
  defineTask({ type: 'work', input: z.number() }, (_, n) => n * 2),
  defineTask({ type: 'nap', input: z.null() }, (ctx) => ctx.sleep('nap', 3_600_000)),
]

export const gold = defineAgreement({
  name: 'gold',
  client: 'acme',
  tier: 'contracted',
  lane: 'interactive',
  deadlineMs: 60_000,
  oversight: 'spot_check',
})

export const elsewhere = defineContract({ type: 'elsewhere', input: z.string() })
