import { invalid, isName, nameRule, show } from '@ku0/agent-runtime-core'
import type { TaskId } from '../api/receipts.ts'
import type { Exchange } from '../api/exchange.ts'
import type { TaskType } from '../api/task-type.ts'

/**
 * An id as that of a task of this type, for the compiler: `result`, `signal` and `output` then have its types. Nothing is looked up, so you
 * vouch for the type. Throws `invalid_argument` for a text that is no id.
 *
 *     await client.signal(typedTaskId(review, request.params.id), 'reply', { text: 'yes' })
 */
export function typedTaskId<Output, X extends Exchange>(
  _task: TaskType<string, unknown, Output, X>,
  id: string,
): TaskId<Output, X> {
  if (!isName(id)) throw invalid(`typedTaskId: a task id of ${nameRule[0]}; given ${show(id)}`)
  return id
}
