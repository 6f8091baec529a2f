import type { Verdict } from '@ku0/agent-runtime'
import type { Call, Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import type { Connection } from '../remote.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { loadTaskTypes } from '../task-types.ts'

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

/** Where to find the id: whoever gives the id of a task gets those of its open requests. */
async function openOf(client: Connection, given: string): Promise<string> {
  const { approvals } = await client.approvals.list({ task: await taskIn(client, given), children: true })
  return approvals.length === 0
    ? 'agent-runtime approvals lists them'
    : `task ${given} asks under ${approvals.map(({ approvalId }) => approvalId).join(', ')}`
}
