import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { shownKey } from '../screen/keys.ts'
import { table } from '../screen/table.ts'
import { dated } from '../screen/words.ts'
import { taskIn } from '../task-id.ts'

export const run: Run = async ({ args: [given = ''], print, settings }) => {
  await using client = await connect(await settings())
  const trail = await client.approvals.trail(await taskIn(client, given))
  print.answer(trail, () =>
    trail.length === 0
      ? ['this task has asked for nothing']
      : table(
          ['KEY', 'ASKED', 'ENDED', 'OUTCOME', 'BY', 'FEEDBACK'],
          trail.map(({ key, requestedAt, resolvedAt, outcome, by, feedback }) => [
            shownKey(key),
            dated(requestedAt),
            resolvedAt === undefined ? '' : dated(resolvedAt),
            outcome.replaceAll('_', ' '),
            by ?? '',
            feedback ?? '',
          ]),
        ),
  )
  return 0
}
