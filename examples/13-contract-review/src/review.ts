// The job: a proposal that the client approves, then three phases, each of which needs the one before.
import { defineAgreement, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import { extraction, recommendation, Risks, scoring } from './phases.ts'

/** What the client has agreed to: a person looks at every result before the next phase begins. */
export const agreement = defineAgreement({
  name: 'contract review',
  client: 'legal department',
  oversight: 'supervised',
})

export const reportSchema = z.object({
  clauses: z.number(),
  duties: z.number(),
  risks: Risks.shape.risks,
  total: z.number(),
  advice: z.array(z.object({ id: z.string(), wording: z.string() })),
  /** The requirements about which a reviewer knew better. */
  corrected: z.array(z.string()),
})

export const review = defineTask(
  { type: 'review', input: z.object({ job: z.string(), contract: z.string() }), output: reportSchema },
  async (ctx, { job, contract }) => {
    const proposal = await ctx.step('propose', () => ({
      job,
      phases: ['clause extraction', 'risk scoring', 'recommendation'],
    }))
    await ctx.requestApproval('proposal', proposal)
    const clauses = await ctx.call('extraction', extraction, contract)
    const { risks, corrected } = await ctx.call('scoring', scoring, clauses)
    const advice = await ctx.call('recommendation', recommendation, risks)
    return {
      clauses: clauses.length,
      duties: clauses.reduce((sum, { duties }) => sum + duties.length, 0),
      risks,
      total: risks.reduce((sum, { risk }) => sum + risk, 0),
      advice,
      corrected,
    }
  },
)

export const tasks = [review, extraction, scoring, recommendation]
