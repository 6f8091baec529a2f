// The agent: it writes an offer, and sends it when somebody says so; after a day without an answer it asks again.
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

const Reply = z.object({ approve: z.boolean(), by: z.string() })

export const offer = defineTask(
  { type: 'offer', input: z.object({ customer: z.string() }), signals: { reply: Reply } },
  async (ctx, { customer }) => {
    const text = await ctx.step('write', () => `Dear ${customer}, we would be glad to …`)
    for (let day = 1; day <= 3; day += 1) {
      const heard = await ctx.race(`day ${day}`, {
        reply: (branch) => branch.waitForSignal(`reply ${day}`, { signal: 'reply' }),
        silence: (branch) => branch.sleep(`a day ${day}`, 24 * 60 * 60 * 1_000),
      })
      if (heard.winner === 'silence') {
        await ctx.step(`remind ${day}`, () => console.log(`  agent: nobody has answered for ${day} days`))
        continue
      }
      const { approve, by } = heard.value
      if (!approve) return `${by} turned it down`
      await ctx.step('send', () => console.log(`  agent: sends "${text}"`))
      return `sent, approved by ${by}`
    }
    return 'given up'
  },
)
