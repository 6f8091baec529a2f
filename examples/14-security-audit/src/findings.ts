// What a scanner finds, and what it does when it is not sure.
import { ApprovalRejected, type TaskContext } from '@ku0/agent-runtime'
import { z } from 'zod'

export const Finding = z.object({
  title: z.string(),
  /** Where it is, without names of this machine: the same in every run. */
  where: z.string(),
  severity: z.enum(['high', 'medium', 'low']),
  /** How sure the scanner is that this is no false alarm, 0 to 1. */
  confidence: z.number(),
})
export type Finding = z.infer<typeof Finding>

/** What a scanner hands on. */
export const Scan = z.object({
  findings: z.array(Finding),
  /** How many things it looked at. */
  probes: z.number(),
  /** How many findings it asked an analyst about, and how many of them were false alarms. */
  asked: z.number(),
  dismissed: z.number(),
})
export type Scan = z.infer<typeof Scan>

/** Below it, an analyst decides. */
const sureFrom = 0.6

/** Keeps the findings that are sure, and asks an analyst about each of the others. */
export async function review(ctx: TaskContext, found: readonly Finding[], probes: number): Promise<Scan> {
  const findings: Finding[] = []
  let asked = 0
  for (const finding of found) {
    if (finding.confidence >= sureFrom) {
      findings.push(finding)
      continue
    }
    asked += 1
    const isReal = await ctx
      .requestApproval(`${finding.title} (${finding.where})`, finding, {
        mode: 'autonomous_escalation',
        onReject: 'throw',
      })
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof ApprovalRejected) return false
          throw error
        },
      )
    if (isReal) findings.push(finding)
  }
  return { findings, probes, asked, dismissed: found.length - findings.length }
}
