import { approvalName, type VerdictOutcome } from './approval.ts'
import { isFinal } from '../task/states.ts'
import type { Write } from '../store/port.ts'
import { conclude } from '../wait/conclude.ts'
import { type Arrival, deliver } from '../wait/signal.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A human's verdict on an open request; the first counts. Source: `docs/semantics.md 12.2, 12.3`. */
export function resolveApproval(ws: WorkingSet, it: Write<'resolveApproval'>): VerdictOutcome {
  const task = ws.taskNamed(it.taskId)
  if (task === undefined) return { as: 'not_open' }
  const wait = ws.waitsOf(task).find(({ terms }) => terms?.asked === true && terms.request === it.request)
  const isAnswered = ws.signalsOf(task).some(({ name }) => name === wait?.name)
  // One that comes too late does not answer: its wait is over, and so would be the next one under the key.
  const isLate = (wait?.dueAt ?? Number.POSITIVE_INFINITY) < ws.now.at
  if (wait === undefined || isAnswered || isLate || isFinal(task.state))
    return { as: 'not_open', state: task.state }
  const arrival: Arrival = {
    event: 'approval.resolved',
    fields: `"key":${JSON.stringify(wait.key)},"outcome":"${it.verdict}","requestId":${it.request}`,
    name: approvalName(wait.key),
    value: ws.inline(it.value),
    outcome: it.verdict,
  }
  const row = deliver(ws, task, arrival, conclude)
  return { as: 'resolved', state: row.state }
}
