// How good the audit was, in six dimensions, and the scores that the scheduler paper gives its own.
import type { OutputOf, Runtime } from '@ku0/agent-runtime'
import type { reportSchema } from './audit.ts'
import { planted } from './target.ts'

/** Case study 3 of the paper: its scores, all with 1 as the best. It prints 0.851 as their composite by default weights; their sum is 0.8485. */
const paperScores = {
  quality: 0.83,
  adherence: 0.89,
  speed: 0.82,
  cost: 0.79,
  errors: 0.91,
  revisions: 0.85,
} as const

const target = { ms: 60_000, probes: 20, questions: 10 }

/** Judges an audit of the target once, however often it is called. */
export async function evaluate(
  { evaluations }: Pick<Runtime, 'evaluations'>,
  taskId: string,
  { findings, missing, probes, asked, dismissed }: OutputOf<typeof reportSchema>,
  tookMs: number,
) {
  const found = planted.filter((name) => findings.some(({ title }) => title === name))
  return evaluations.record(
    'security auditor',
    {
      quality: found.length / planted.length,
      adherence: 1 - missing.length / 3,
      speed: Math.min(1, target.ms / tookMs),
      cost: Math.min(1, target.probes / probes),
      // As they are measured: false alarms among all findings, and questions to the analyst.
      errors: dismissed / (findings.length + dismissed),
      revisions: asked,
    },
    { entry: 'raw', maxRevisions: target.questions, domain: 'security', taskId, key: taskId },
  )
}

/** The composite of the paper's scores, by default weights and by those for security. */
export async function evaluatePaper({ evaluations }: Pick<Runtime, 'evaluations'>) {
  const by = (domain: string) =>
    evaluations.record(`the paper's security auditor (${domain})`, paperScores, { domain, key: 'paper' })
  return { byDefault: (await by('default')).composite, bySecurity: (await by('security')).composite }
}
