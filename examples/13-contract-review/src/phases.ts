// The three phases. Each ends with a question to a reviewer, and each category of failure has its own answer.
import { defineDomain, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import { clausesOf, coverageIn, dutiesIn } from './reader.ts'
import { type Coverage, requirements } from './requirements.ts'

/** The answers of legal work to a timeout and a crash; the others are the usual ones. */
const legal = defineDomain({
  name: 'legal',
  recovery: { timeout: 'fallback_agent', crash: 'human_escalation', fallbackModels: ['fast'] },
})
const terms = {
  model: 'thorough',
  oversight: 'supervised',
  domain: legal,
  retry: { attempts: 5, backoff: { initialMs: 10 } },
} as const

const Clauses = z.array(
  z.object({ number: z.string(), title: z.string(), text: z.string(), duties: z.array(z.string()) }),
)

/** Takes the contract apart, and finds the sentences that oblige the contractor. */
export const extraction = defineTask(
  { type: 'extraction', input: z.string(), output: Clauses, ...terms },
  async (ctx, contract) => {
    const hint = ctx.failure?.category === 'invalid_output' ? ctx.failure.error.message : undefined
    const clauses: z.infer<typeof Clauses> = []
    for (const clause of await ctx.step('split', () => clausesOf(contract))) {
      const duties = await ctx.step(`read ${clause.number}`, () => {
        const said = dutiesIn(clause, hint)
        const invented = said.find((sentence) => !clause.text.includes(sentence))
        if (invented === undefined) return said
        throw Object.assign(
          new Error(`clause ${clause.number} does not say '${invented}': quote it word by word`),
          {
            code: 'invalid_output',
          },
        )
      })
      clauses.push({ ...clause, duties })
    }
    const summary = clauses.map(({ number, title, duties }) => ({ number, title, duties: duties.length }))
    await ctx.requestApproval('clauses', summary)
    return clauses
  },
)

const Risk = z.object({
  id: z.string(),
  article: z.string(),
  asks: z.string(),
  coverage: z.enum(['covered', 'partly', 'missing']),
  /** The weight of the requirement, half of it if the contract meets it partly. */
  risk: z.number(),
  /** The clauses that say most about it. */
  clauses: z.array(z.string()),
})
export const Risks = z.object({ risks: z.array(Risk), corrected: z.array(z.string()) })

/** Scores each requirement by the clauses that touch it. */
export const scoring = defineTask(
  { type: 'scoring', input: Clauses, output: Risks, ...terms },
  async (ctx, clauses) => {
    const read: { number: string; coverage: Record<string, Coverage> }[] = []
    for (const clause of clauses) {
      const { number } = clause
      const coverage = await ctx.step(`read ${number}`, () => coverageIn(clause, ctx.model))
      read.push({ number, coverage })
    }
    // A reviewer who disagrees says which requirement is met how far: `breach: partly, it names no time`.
    const wishes = ctx.feedback.flatMap(({ feedback = '' }) => [
      ...feedback.matchAll(/(\w+): (covered|partly|missing)/g),
    ])
    const scored = await ctx.step('score', () => {
      const corrections = new Map(wishes.map(([, id = '', coverage]) => [id, coverage as Coverage]))
      const risks = requirements.map(({ id, article, asks, weight }) => {
        const best = (['covered', 'partly'] as const).find((it) =>
          read.some(({ coverage }) => coverage[id] === it),
        )
        const coverage = corrections.get(id) ?? best ?? 'missing'
        return {
          id,
          article,
          asks,
          coverage,
          risk: coverage === 'covered' ? 0 : coverage === 'partly' ? weight / 2 : weight,
          clauses: read
            .filter((it) => best !== undefined && it.coverage[id] === best)
            .map(({ number }) => number),
        }
      })
      return { risks, corrected: [...corrections.keys()] }
    })
    await ctx.requestApproval('risks', scored)
    return scored
  },
)

const Advice = z.array(z.object({ id: z.string(), wording: z.string() }))

/** Recommends a sentence for each risk, the greatest first. */
export const recommendation = defineTask(
  { type: 'recommendation', input: z.array(Risk), output: Advice, ...terms },
  async (ctx, risks) => {
    const open = risks.filter(({ risk }) => risk > 0).toSorted((a, b) => b.risk - a.risk)
    const given = ctx.failure?.feedback
    const advice = await ctx.step('word', () =>
      open.map(({ id }) => {
        const [, said] = new RegExp(`^${id}: (.*)$`).exec(given ?? '') ?? []
        const wording = requirements.find((it) => it.id === id)?.wording ?? said
        if (wording === undefined) throw new Error(`the house has no wording for '${id}'`)
        return { id, wording }
      }),
    )
    await ctx.requestApproval('recommendation', advice)
    return advice
  },
)
