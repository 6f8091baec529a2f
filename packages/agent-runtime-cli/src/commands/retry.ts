import type { ListFilter } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { many } from '../screen/words.ts'
import { filterOf } from '../task-filter.ts'
import { taskIn } from '../task-id.ts'
import type { Connection } from '../remote.ts'

export const run: Run = async ({ args, options, print, settings, signal }) => {
  const {
    yes = false,
    again = false,
    children = false,
  } = options as { readonly yes?: boolean; readonly again?: boolean; readonly children?: boolean }
  const filter = filterOf(options)
  const hasFilter = Object.keys(filter).length > 0
  if (args.length > 0 === hasFilter)
    throw new UsageError('give either ids of tasks, or a filter such as --state failed')
  await using client = await connect(await settings())
  if (hasFilter) print.patience('lists the tasks')
  const found: readonly Selected[] = hasFilter
    ? await selected(client, { ...filter, states: filter.states ?? ['failed'] })
    : await Promise.all(
        args.map(async (given): Promise<Selected> => ({ taskId: await taskIn(client, given) })),
      )
  // The retry of a parent spawns the children that failed again: a retry of their own would do their work twice.
  const tasks = hasFilter && !children ? found.filter(({ parent }) => parent === undefined) : found
  const taskIds = tasks.map(({ taskId }) => taskId)
  if (tasks.length < found.length)
    print.note(
      `${many(found.length - tasks.length, 'child', 'children')} left out: the retry of a parent starts its failed children again; --children includes them`,
    )
  if (hasFilter && (!yes || taskIds.length === 0)) {
    print.answer({ found: taskIds.length, retried: 0 }, () => [
      taskIds.length === 0
        ? 'no task matches'
        : `${many(taskIds.length, 'task')} would run again, except those that were retried before; add --yes to retry them`,
    ])
    return cliExitCodes.ok
  }
  if (hasFilter) print.note(`retrying ${many(taskIds.length, 'task')}`)
  let refused = 0
  for (const taskId of taskIds) {
    signal.throwIfAborted()
    const receipt = await client.retry(taskId, again ? {} : { idempotencyKey: `retry of ${taskId}` })
    if (!receipt.accepted) refused += 1
    print.item({ retryOf: taskId, ...receipt }, () =>
      receipt.accepted
        ? `${taskId}: ${receipt.deduplicated ? `was retried before, as ${receipt.taskId}; retry that one, or add --again` : `runs again as ${receipt.taskId}`}`
        : `${taskId}: refused (${receipt.reason}): ${receipt.message}`,
    )
  }
  return refused === 0 ? cliExitCodes.ok : cliExitCodes.failed
}

interface Selected {
  readonly taskId: string
  readonly parent?: string | undefined
}

/** All tasks that the filter selects, oldest first. */
async function selected(client: Connection, filter: ListFilter): Promise<readonly Selected[]> {
  const tasks: Selected[] = []
  let cursor: number | undefined
  do {
    const page = await client.list({ ...filter, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) })
    tasks.push(...page.tasks)
    ;({ cursor } = page)
  } while (cursor !== undefined)
  return tasks.toReversed()
}
