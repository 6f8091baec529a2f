import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { table } from '../screen/table.ts'
import { ago, cut } from '../screen/words.ts'
import { pageOf } from '../task-filter.ts'
import { withParentIn } from '../task-id.ts'

export const run: Run = async ({ options, print, settings, system, outlet }) => {
  await using client = await connect(await settings())
  const page = await client.list({ ...(await withParentIn(client, pageOf(options))), states: ['failed'] })
  const room = outlet.columns === undefined ? Infinity : Math.max(30, outlet.columns - 80)
  print.answer(page, () =>
    page.tasks.length === 0
      ? ['no task has failed']
      : table(
          ['TASK', 'TYPE', 'FAILED', 'KIND', 'TRY', 'ERROR'],
          page.tasks.flatMap((task) =>
            task.state === 'failed'
              ? [
                  [
                    task.taskId,
                    task.type,
                    ago(task.finishedAt, system.now()),
                    { text: task.kind, style: 'red' as const },
                    String(task.attempt),
                    cut(task.error.message.split('\n', 1)[0] ?? '', room),
                  ],
                ]
              : [],
          ),
        ),
  )
  if (page.cursor !== undefined && page.tasks.length > 0)
    print.note(`there may be more: --cursor ${page.cursor}`)
  return 0
}
