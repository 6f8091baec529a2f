// The agent: it looks for facts and asks whether they are right, then writes a text and asks whether it may go out.
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

export const announcement = defineTask(
  { type: 'announcement', input: z.object({ product: z.string() }) },
  async (ctx, { product }) => {
    const facts = await ctx.step('research', () => {
      console.log('agent: researches')
      return [`${product} folds flat`, 'it costs 40 euros']
    })
    await ctx.requestApproval('facts', facts)

    // A rejection of the text comes back to here: the facts are approved, and stay.
    const wishes = ctx.feedback.map(({ feedback }) => feedback ?? '')
    const text = await ctx.step('write', () => {
      console.log(`agent: writes${wishes.map((wish) => `, heeding "${wish}"`).join('')}`)
      return wishes.length === 0 ? `Behold! ${facts.join(', and ')}!` : `${facts.join('; ')}.`
    })
    const { by } = await ctx.requestApproval('text', text, { mode: 'supervised' })

    await ctx.step('send', () => console.log(`agent: sends "${text}"`))
    return `sent, approved by ${by}`
  },
)
