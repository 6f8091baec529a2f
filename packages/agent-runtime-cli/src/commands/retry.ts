import type { RetryFilter } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { many } from '../screen/words.ts'
import { filterOf } from '../task-filter.ts'
import { taskIn, withParentIn } from '../task-id.ts'
import type { Connection } from '../remote.ts'

interface Wish {
  readonly yes?: boolean
  readonly again?: boolean
  readonly children?: boolean
}

export const run: Run = async (call) => {
  const { args, options, settings } = call
  const filter = filterOf(options) as RetryFilter
  const hasFilter = Object.keys(filter).length > 0
  if (args.length > 0 === hasFilter)
    throw new UsageError('give either ids of tasks, or a filter such as --state failed')
  await using client = await connect(await settings())
  return hasFilter
    ? await retryFiltered(client, await withParentIn(client, filter), call)
    : await retryNamed(client, call)
}

async function retryNamed(client: Connection, { args, options, print, signal }: Parameters<Run>[0]) {
  const { again = false } = options as Wish
  let refused = 0
  for (const given of args) {
    signal.throwIfAborted()
    const taskId = await taskIn(client, given)
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

async function retryFiltered(
  client: Connection,
  filter: RetryFilter,
  { options, print }: Parameters<Run>[0],
) {
  const { yes = false, again, children } = options as Wish
  const wish = { again, children }
  print.patience('counts the tasks')
  const { found } = await client.retryMany(filter, { expect: 0, ...wish })
  if (!yes || found === 0) {
    print.answer({ found, retried: 0, refused: false }, () => [
      found === 0
        ? 'no task matches'
        : `${many(found, 'task')} would run again${again === true ? '' : ', except those that were retried before'}; add --yes to retry them`,
    ])
    return cliExitCodes.ok
  }
  print.note(`retrying ${many(found, 'task')}`)
  const done = await client.retryMany(filter, { expect: found, ...wish })
  const { retried, before, rejected, skipped, full, refused } = done
  print.answer(done, () =>
    refused
      ? [`nothing was retried: ${many(found, 'task')} matched, and then ${done.found}; try again`]
      : [
          `${many(retried, 'task')} submitted again`,
          ...(before === 0
            ? []
            : [`${many(before, 'task')} left alone: retried before; --again retries them once more`]),
          ...(skipped === 0
            ? []
            : [`${many(skipped, 'task')} left alone: they changed meanwhile, or cannot be retried`]),
          ...(rejected === 0
            ? []
            : [`${many(rejected, 'retry', 'retries')} refused: see list --state rejected`]),
          ...(full === undefined
            ? []
            : [
                `${found - retried - before - skipped - rejected} left: ${full.message}; the same command goes on with them`,
              ]),
        ],
  )
  return refused || rejected > 0 || full !== undefined ? cliExitCodes.failed : cliExitCodes.ok
}
