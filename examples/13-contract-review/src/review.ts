// The job: a proposal that the client approves, then three phases, each of which needs the one before.
import { defineAgreement, defineSupervisor, defineTask } from '@ku0/agent-runtime'
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

/**
 * Each phase works with what the one before gave. A phase that has failed in the end starts again once, and so do those after it; those before it are kept.
 */
const phases = defineSupervisor({
  type: 'phases',
  input: z.string(),
  strategy: 'rest_for_one',
  maxRestarts: 1,
  periodMs: 86_400_000,
  results: true,
  children: {
    extraction: { task: extraction, input: (contract) => contract },
    scoring: {
      task: scoring,
      after: ['extraction'],
      input: (_, { extraction: clauses = [] }) => clauses,
    },
    recommendation: {
      task: recommendation,
      after: ['scoring'],
      input: (_, { scoring: scored }) => scored?.risks ?? [],
    },
  },
})

export const review = defineTask(
  { type: 'review', input: z.object({ job: z.string(), contract: z.string() }), output: reportSchema },
  async (ctx, { job, contract }) => {
    const proposal = await ctx.step('propose', () => ({
      job,
      phases: ['clause extraction', 'risk scoring', 'recommendation'],
    }))
    await ctx.requestApproval('proposal', proposal)
    const done = await ctx.call('phases', phases, contract)
    const { extraction: clauses = [], scoring: scored, recommendation: advice = [] } = done
    const { risks = [], corrected = [] } = scored ?? {}
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

export const tasks = [review, phases, extraction, scoring, recommendation]
