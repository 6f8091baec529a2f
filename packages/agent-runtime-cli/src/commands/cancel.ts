import type { CancelFilter } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { many } from '../screen/words.ts'
import { filterOf } from '../task-filter.ts'

export const run: Run = async ({ args, options, print, settings }) => {
  const { reason, yes = false } = options as { readonly reason?: string; readonly yes?: boolean }
  const filter = filterOf(options) as CancelFilter
  const hasFilter = Object.keys(filter).length > 0
  if (args.length > 0 === hasFilter)
    throw new UsageError('give either ids of tasks, or a filter such as --type')
  const why = reason === undefined ? {} : { reason }
  await using client = await connect(await settings())
  if (args.length > 0) {
    let hasMissed = false
    for (const taskId of args) {
      const canceled = await client.cancel(taskId, why)
      hasMissed ||= !canceled
      print.item(
        { taskId, canceled },
        () => `${taskId}: ${canceled ? 'canceled' : 'not canceled: it has ended, or there is no such task'}`,
      )
    }
    return hasMissed ? cliExitCodes.failed : cliExitCodes.ok
  }
  print.patience('counts the tasks')
  const { found } = await client.cancelMany(filter, { expect: 0 })
  if (!yes || found === 0) {
    print.answer({ found, canceled: 0, refused: false }, () => [
      found === 0
        ? 'no open task matches'
        : `${many(found, 'task')} would be canceled; add --yes to cancel them`,
    ])
    return cliExitCodes.ok
  }
  print.note(`canceling ${many(found, 'task')}`)
  const done = await client.cancelMany(filter, { expect: found, ...why })
  print.answer(done, () => [
    done.refused
      ? `nothing was canceled: ${many(found, 'task')} matched, and then ${done.found}; try again`
      : `${many(done.canceled, 'task')} canceled`,
  ])
  return done.refused ? cliExitCodes.failed : cliExitCodes.ok
}
