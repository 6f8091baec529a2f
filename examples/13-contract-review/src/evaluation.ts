// How good the review was, in six dimensions, and the scores that the scheduler paper gives its own.
import type { OutputOf, Runtime } from '@ku0/agent-runtime'
import { lawyerSays } from './requirements.ts'
import type { reportSchema } from './review.ts'

/** Case study 2 of the paper, all with 1 as the best. It prints 0.882 as their composite by legal weights, and 0.837 by default ones; the sums are 0.8725 and 0.8350. */
const paperScores = {
  quality: 0.91,
  adherence: 0.95,
  speed: 0.65,
  cost: 0.72,
  errors: 0.88,
  revisions: 0.8,
} as const

const target = { ms: 60_000, clauses: 10, revisions: 5 }

/** Judges a review once, however often it is called. */
export async function evaluate(
  { evaluations }: Pick<Runtime, 'evaluations'>,
  taskId: string,
  { risks, advice, clauses, corrected }: OutputOf<typeof reportSchema>,
  tookMs: number,
) {
  const open = risks.filter(({ risk }) => risk > 0)
  return evaluations.record(
    'contract reviewer',
    {
      // Accurate, complete and actionable, as the paper says: what the lawyer says, and a sentence for each risk.
      quality: risks.filter(({ id, coverage }) => lawyerSays[id] === coverage).length / risks.length,
      adherence: open.length === 0 ? 1 : advice.length / open.length,
      speed: Math.min(1, target.ms / tookMs),
      cost: Math.min(1, target.clauses / clauses),
      // As they are measured: requirements that the lawyer had to correct, and how often.
      errors: corrected.length / risks.length,
      revisions: corrected.length,
    },
    { entry: 'raw', maxRevisions: target.revisions, domain: 'legal', taskId, key: taskId },
  )
}

/** The composite of the paper's scores, by legal and by default weights. */
export async function evaluatePaper({ evaluations }: Pick<Runtime, 'evaluations'>) {
  const by = (domain: string) =>
    evaluations.record(`the paper's legal analyst (${domain})`, paperScores, { domain, key: 'paper' })
  return { byLegal: (await by('legal')).composite, byDefault: (await by('default')).composite }
}
