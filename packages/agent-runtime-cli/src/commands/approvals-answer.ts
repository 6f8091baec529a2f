import type { Verdict } from '@ku0/agent-runtime'
import type { Call, Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import type { Connection } from '../remote.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { loadTaskTypes } from '../task-types.ts'

const MAX_SHOWN = 3

/** Approves a request. */
export const approve: Run = (call) => answer(call, 'approve')
/** Rejects a request. */
export const reject: Run = (call) => answer(call, 'reject')

async function answer(call: Call, verdict: 'approve' | 'reject'): Promise<number> {
  const {
    args: [approvalId = ''],
    print,
  } = call
  const { by, feedback, value } = call.options as Verdict
  const settings = await call.settings()
  // A value that does not fit its schema would fail the task: it is refused here instead. A server knows the schemas itself.
  const types =
    settings.server === undefined && value !== undefined ? await loadTaskTypes(settings) : undefined
  await using client = await connect(settings, { types })
  const [, task, request] = /^(.+):(\d+)$/s.exec(approvalId) ?? []
  if (task === undefined)
    throw new UsageError(`${approvalId} is no id of a request: ${await openOf(client, approvalId)}`)
  const said = {
    ...(by === undefined ? {} : { by }),
    ...(feedback === undefined ? {} : { feedback }),
    ...(value === undefined ? {} : { value }),
  }
  const receipt = await client.approvals[verdict](`${await taskIn(client, task)}:${request}`, said)
  print.answer(receipt, () => [
    `${verdict === 'approve' ? 'approved' : 'rejected'}: task ${receipt.taskId} is ${receipt.state}`,
  ])
  return 0
}

/** Where to find the id: whoever gives the id of a task gets those of its first open requests. */
async function openOf(client: Connection, given: string): Promise<string> {
  const ids = await idsIn(client, given)
  if (ids.length === 0) return 'agent-runtime approvals lists them'
  const shown = ids.slice(0, MAX_SHOWN).join(', ')
  return `task ${given} asks under ${shown}${ids.length > MAX_SHOWN ? ', and more' : ''}`
}

/** None where there is no such task, and for a token that may answer and not read. */
async function idsIn(client: Connection, given: string): Promise<readonly string[]> {
  try {
    const task = await taskIn(client, given)
    const { approvals } = await client.approvals.list({ task, children: true, limit: MAX_SHOWN + 1 })
    return approvals.map(({ approvalId }) => approvalId)
  } catch {
    return []
  }
}
