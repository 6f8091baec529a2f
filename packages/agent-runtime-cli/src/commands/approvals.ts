import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { shown } from '../screen/json.ts'
import { shownKey } from '../screen/keys.ts'
import { table } from '../screen/table.ts'
import { ago, cut } from '../screen/words.ts'
import { taskIn } from '../task-id.ts'

interface Options {
  readonly task?: string
  readonly children?: boolean
  readonly limit?: number
  readonly cursor?: number
}

export const run: Run = async ({ options, print, settings, system, outlet }) => {
  const { task: given, children, limit = 20, cursor } = options as Options
  await using client = await connect(await settings())
  const task = given === undefined ? undefined : await taskIn(client, given)
  const page = await client.approvals.list({ task, children, limit, cursor })
  const room = Math.max(30, (outlet.columns ?? 200) - 110)
  print.answer(page, () =>
    page.approvals.length === 0
      ? ['nothing waits for a human']
      : table(
          ['APPROVAL', 'TYPE', 'KEY', 'ASKED', 'UNTIL', 'WHAT'],
          page.approvals.map(({ approvalId, type, key, requestedAt, dueAt, artifact }) => [
            approvalId,
            type,
            shownKey(key),
            ago(requestedAt, system.now()),
            dueAt === undefined ? '' : ago(dueAt, system.now()),
            cut(shown(artifact), room),
          ]),
        ),
  )
  if (page.cursor !== undefined && page.approvals.length > 0)
    print.note(`there may be more: --cursor ${page.cursor}`)
  return 0
}
