import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { toJson } from '../screen/json.ts'
import { cut, dated } from '../screen/words.ts'

export const run: Run = async ({ args: [given = ''], options, print, settings, signal, outlet }) => {
  await using client = await connect(await settings())
  const taskId = await taskIn(client, given)
  const { follow = false, after = 0 } = options as { readonly follow?: boolean; readonly after?: number }
  const room = Math.max(40, (outlet.columns ?? 160) - 54)
  try {
    for await (const event of client.events(taskId, { after, live: follow, signal }))
      print.item(event, () => [
        { text: String(event.seq).padStart(4), style: 'dim' },
        ` ${dated(event.at)}  `,
        event.type.padEnd(20),
        ' ',
        { text: cut(toJson(event.data), room), style: 'dim' },
      ])
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return 0
}
