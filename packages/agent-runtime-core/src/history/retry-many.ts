import type { OutcomeOf, Write } from '../store/port.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { retryWhileRoom } from './fork.ts'
import type { RetriedSlice } from './port.ts'
import { retryKey } from './retry-key.ts'

/** Each as a fork of a task that is over, while there is room. Source: `docs/semantics.md 6.3`. */
export function retryMany(
  ws: WorkingSet,
  { taskIds, states, again }: Omit<Write<'retryMany'>, 'kind'>,
): OutcomeOf<'retryMany'> {
  const counts = { retried: 0, before: 0, rejected: 0, skipped: 0 }
  for (const taskId of new Set(taskIds)) {
    const end = retryOne(ws, taskId, states, again)
    if (typeof end !== 'string') return { ...counts, ...end }
    counts[end] += 1
  }
  return counts
}

function retryOne(
  ws: WorkingSet,
  taskId: string,
  states: Write<'retryMany'>['states'] = ['failed', 'canceled'],
  again = false,
): Exclude<keyof RetriedSlice, 'full'> | Pick<Required<RetriedSlice>, 'full'> {
  const task = ws.taskNamed(taskId)
  if (task === undefined || !states.includes(task.state)) return 'skipped'
  const outcome = retryWhileRoom(ws, taskId, again ? {} : { idempotencyKey: retryKey(taskId) })
  if ('full' in outcome) return outcome
  if (outcome.as !== 'submitted') return 'skipped'
  if (!outcome.receipt.accepted) return 'rejected'
  return outcome.receipt.deduplicated ? 'before' : 'retried'
}
