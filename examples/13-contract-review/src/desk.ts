// Stands for the people: a client, and a lawyer who looks at every result.
import type { Runtime } from '@ku0/agent-runtime'
import type { z } from 'zod'
import type { Risks } from './phases.ts'
import { lawyerSays } from './requirements.ts'

/** Answers each request that is open. Returns what was said. */
export async function answer({ approvals }: Pick<Runtime, 'approvals'>): Promise<string[]> {
  const said: string[] = []
  for (const { approvalId, key, type, artifact } of (await approvals.list()).approvals) {
    const { as, ...verdict } = verdictOn(key, artifact)
    await approvals[as](approvalId, verdict)
    const about = type === 'review' ? key : `${type}: ${isQuestion(artifact) ? artifact.error.message : key}`
    said.push(`${about}: ${as} by ${verdict.by}${'feedback' in verdict ? `, "${verdict.feedback}"` : ''}`)
  }
  return said
}

/** A question that the runtime asks, after a crash. */
interface Question {
  readonly escalated: string
  readonly error: { readonly message: string }
}

function isQuestion(artifact: unknown): artifact is Question {
  return typeof artifact === 'object' && artifact !== null && 'escalated' in artifact
}

function verdictOn(key: string, artifact: unknown) {
  if (isQuestion(artifact)) {
    const feedback = 'transfers: The Contractor keeps personal data within the European Union.'
    return { as: 'approve', by: 'Ada, a lawyer', feedback } as const
  }
  if (key === 'proposal') return { as: 'approve', by: 'Grace, the client' } as const
  if (key !== 'risks') return { as: 'approve', by: 'Ada, a lawyer' } as const
  const { risks } = artifact as z.infer<typeof Risks>
  const wrong = risks.filter(({ id, coverage }) => lawyerSays[id] !== coverage)
  if (wrong.length === 0) return { as: 'approve', by: 'Ada, a lawyer' } as const
  const feedback = wrong.map(({ id }) => `${id}: ${lawyerSays[id]}`).join('; ')
  return { as: 'reject', by: 'Ada, a lawyer', feedback } as const
}
