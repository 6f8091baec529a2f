import type { Write } from '../store/port.ts'
import { agentNeeds } from '../swarm/needs.ts'
import type { Needs } from '../transition/needs.ts'
import type { Submission } from './submission.ts'

export function submitNeeds(needs: Needs, { tasks }: Write<'submit'>): void {
  for (const task of tasks) submissionNeeds(needs, task)
}

function submissionNeeds(needs: Needs, it: Submission): void {
  if (it.idempotencyKey !== undefined) needs.key(it.idempotencyKey)
  if (it.taskId !== undefined) needs.explicitId(it.taskId)
  agentNeeds(needs, it)
}
