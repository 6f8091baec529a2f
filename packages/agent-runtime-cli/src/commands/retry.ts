import type { ListFilter } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { many } from '../screen/words.ts'
import { filterOf } from '../task-filter.ts'
import type { Connection } from '../remote.ts'

export const run: Run = async ({ args, options, print, settings, signal }) => {
  const { yes = false } = options as { readonly yes?: boolean }
  const filter = filterOf(options)
  const hasFilter = Object.keys(filter).length > 0
  if (args.length > 0 === hasFilter)
    throw new UsageError('give either ids of tasks, or a filter such as --state failed')
  await using client = await connect(await settings())
  const taskIds = hasFilter
    ? await selected(client, { ...filter, states: filter.states ?? ['failed'] })
    : args
  if (hasFilter && (!yes || taskIds.length === 0)) {
    print.answer({ found: taskIds.length, retried: 0 }, () => [
      taskIds.length === 0
        ? 'no task matches'
        : `${many(taskIds.length, 'task')} would run again; add --yes to retry them`,
    ])
    return cliExitCodes.ok
  }
  if (hasFilter) print.note(`retrying ${many(taskIds.length, 'task')}`)
  let refused = 0
  for (const taskId of taskIds) {
    signal.throwIfAborted()
    const receipt = await client.retry(taskId, hasFilter ? { idempotencyKey: `retry of ${taskId}` } : {})
    if (!receipt.accepted) refused += 1
    print.item({ retryOf: taskId, ...receipt }, () =>
      receipt.accepted
        ? `${taskId}: ${receipt.deduplicated ? 'was retried before, as' : 'runs again as'} ${receipt.taskId}`
        : `${taskId}: refused (${receipt.reason}): ${receipt.message}`,
    )
  }
  return refused === 0 ? cliExitCodes.ok : cliExitCodes.failed
}

/** The ids of all tasks that the filter selects, oldest first. */
async function selected(client: Connection, filter: ListFilter): Promise<readonly string[]> {
  const taskIds: string[] = []
  let cursor: number | undefined
  do {
    const page = await client.list({ ...filter, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) })
    taskIds.push(...page.tasks.map(({ taskId }) => taskId))
    ;({ cursor } = page)
  } while (cursor !== undefined)
  return taskIds.toReversed()
}
