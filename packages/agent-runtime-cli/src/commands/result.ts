import { isFinal, RuntimeError } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { noTask } from '../missing-task.ts'
import { shown } from '../screen/json.ts'

export const run: Run = async ({ args: [given = ''], options, print, settings, signal }) => {
  await using client = await connect(await settings())
  const taskId = await taskIn(client, given)
  const { wait = false, timeout } = options as { readonly wait?: boolean; readonly timeout?: number }
  if (!wait) {
    const task = await client.status(taskId)
    if (task === undefined) throw noTask(taskId)
    if (!isFinal(task.state)) {
      if (print.isJson) throw new RuntimeError('timeout', `task ${taskId} has not ended: it is ${task.state}`)
      print.note(`task ${taskId} has not ended: it is ${task.state}; wait for it with --wait`)
      return cliExitCodes.busy
    }
  }
  const output = await client.result(taskId, {
    signal,
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
  })
  print.answer(output ?? null, () => shown(output ?? null).split('\n'))
  return cliExitCodes.ok
}
