import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { noteWaits } from '../follow-waits.ts'
import { writeOutput } from '../follow-output.ts'

export const run: Run = async ({ args: [given = ''], options, print, settings, signal }) => {
  await using client = await connect(await settings())
  const taskId = await taskIn(client, given)
  const { follow = false, after = 0 } = options as { readonly follow?: boolean; readonly after?: number }
  const over = new AbortController()
  const noting = follow
    ? noteWaits(client, taskId, { print, signal: AbortSignal.any([signal, over.signal]) })
    : undefined
  try {
    await writeOutput(client.output(taskId, { after, live: follow, signal }), print)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    over.abort()
    await noting
  }
  return 0
}
