// Stands for a human analyst: she knows which of the doubtful findings are real.
import type { Runtime } from '@ku0/agent-runtime'
import type { Finding } from './findings.ts'

export const analyst = 'Grace'

/** Answers each request that is open. Returns the keys that were answered. */
export async function answer({ approvals }: Pick<Runtime, 'approvals'>): Promise<string[]> {
  const open = (await approvals.list()).approvals
  for (const { approvalId, artifact } of open) {
    const { title, where } = artifact as Finding
    const isSample = where.includes('sample')
    if (isSample || where === '/echo')
      await approvals.reject(approvalId, {
        by: analyst,
        feedback: isSample ? 'a sample, not in use' : 'plain text runs nowhere',
      })
    else await approvals.approve(approvalId, { by: analyst, feedback: `${title}: it is used to log in` })
  }
  return open.map(({ key }) => key)
}
