import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { readInput } from '../read-input.ts'
import { loadTaskTypes } from '../task-types.ts'

export const run: Run = async (call) => {
  const {
    args: [task = '', name = '', given],
    print,
  } = call
  const value = await readInput(call, given ?? 'null', undefined, 'the value')
  const settings = await call.settings()
  // A server knows the schemas itself.
  const types =
    settings.server === undefined && given !== undefined ? await loadTaskTypes(settings) : undefined
  await using client = await connect(settings, { types })
  const receipt = await client.signal(await taskIn(client, task), name, value)
  print.answer(receipt, () => [
    receipt.awaited
      ? `delivered: the task waited for ${name}`
      : `kept: the task is ${receipt.state} and does not wait for ${name} yet`,
  ])
  return 0
}
