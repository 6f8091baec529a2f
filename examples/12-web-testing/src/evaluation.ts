// How good the test was, in six dimensions, and the scores that the scheduler paper gives its own.
import type { Runtime } from '@ku0/agent-runtime'
import type { Data } from './events.ts'
import { planted, usual } from './site.ts'

/** Case study 1 of the paper, all with 1 as the best. It prints 0.877 as their composite by default weights, which is 0.8765, rounded. */
const paperScores = {
  quality: 0.87,
  adherence: 0.92,
  speed: 0.78,
  cost: 0.85,
  errors: 0.95,
  revisions: 0.88,
} as const

const target = { ms: 60_000, calls: 200 }

/** Judges a test of the usual site once, however often it is called. */
export async function evaluate(
  { evaluations }: Pick<Runtime, 'evaluations'>,
  taskId: string,
  { pages, calls, anomalies }: Data<'final_report'>,
  tookMs: number,
) {
  const found = planted.filter((it) => anomalies.includes(it)).length
  return evaluations.record(
    'web tester',
    {
      quality: found / planted.length,
      adherence: pages / usual.pages,
      speed: Math.min(1, target.ms / tookMs),
      cost: Math.min(1, target.calls / calls),
      // As they are measured: anomalies that are none, and nothing is sent back.
      errors: anomalies.length === 0 ? 0 : 1 - found / anomalies.length,
      revisions: 0,
    },
    { entry: 'raw', taskId, key: taskId },
  )
}

/** The composite of the paper's scores, by default weights. */
export async function evaluatePaper({ evaluations }: Pick<Runtime, 'evaluations'>): Promise<number> {
  return (await evaluations.record("the paper's web tester", paperScores, { key: 'paper' })).composite
}
