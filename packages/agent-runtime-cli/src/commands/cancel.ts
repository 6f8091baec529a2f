import type { CancelFilter } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import type { Connection } from '../remote.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { many } from '../screen/words.ts'
import { filterOf } from '../task-filter.ts'
import { taskIn, withParentIn } from '../task-id.ts'

type End = 'canceled' | 'ended' | 'unknown'
const words: Readonly<Record<End, string>> = {
  canceled: 'canceled',
  ended: 'not canceled: it had ended',
  unknown: 'not canceled: no task has this id',
}

export const run: Run = async ({ args, options, print, settings }) => {
  const { reason, yes = false } = options as { readonly reason?: string; readonly yes?: boolean }
  const given = filterOf(options) as CancelFilter
  const hasFilter = Object.keys(given).length > 0
  if (args.length > 0 === hasFilter)
    throw new UsageError('give either ids of tasks, or a filter such as --type')
  const why = reason === undefined ? {} : { reason }
  await using client = await connect(await settings())
  if (args.length > 0) {
    const ends = new Set<End>()
    for (const arg of args) {
      const taskId = await taskIn(client, arg)
      const canceled = await client.cancel(taskId, why)
      const end = canceled ? 'canceled' : (await isThere(client, taskId)) ? 'ended' : 'unknown'
      ends.add(end)
      print.item({ taskId, canceled }, () => `${taskId}: ${words[end]}`)
    }
    if (ends.has('unknown')) return cliExitCodes.missing
    return ends.has('ended') ? cliExitCodes.failed : cliExitCodes.ok
  }
  const filter = await withParentIn(client, given)
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

/** A token that may cancel need not be one that may look: then it counts as a task that had ended. */
async function isThere(client: Connection, taskId: string): Promise<boolean> {
  try {
    return (await client.status(taskId)) !== undefined
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'forbidden') return true
    throw error
  }
}
