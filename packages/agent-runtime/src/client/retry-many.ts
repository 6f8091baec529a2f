import {
  assertOptions,
  type ExecutionStore,
  type OutcomeOf,
  RuntimeError,
  type TaskFilter,
  type Write,
} from '@ku0/agent-runtime-core'
import type { RetriedMany, RetryFilter, RetryManyOptions } from '../api/client.ts'
import type { Receipt } from '../api/receipts.ts'
import { retryFilterRules, retryManyRules, taskIdOf } from '../terms/arguments.ts'
import { pages } from './cancel-many.ts'
import { countTasks } from './list-tasks.ts'

/** Number of tasks that one commit submits again: each takes its recorded steps along. */
const slice = 100

/** Retries the tasks of a list, or those that a filter selects, slice by slice, in the order in which they were submitted. */
export async function retryMany(
  store: ExecutionStore,
  given: RetryFilter | readonly (Receipt | string)[],
  options: RetryManyOptions,
): Promise<RetriedMany> {
  assertOptions('retryMany', options, retryManyRules)
  const { expect, again = false } = options
  if (isList(given)) {
    const taskIds = [...new Set(given.map((task) => taskIdOf('retryMany', task)))]
    if (expect !== undefined && taskIds.length !== expect) return { ...refused, found: taskIds.length }
    return retryAll(store, taskIds, { again })
  }
  const filter = filterOf(given, options)
  let start: number | undefined
  if (expect !== undefined) {
    const counted = await countTasks((it) => store.read({ kind: 'taskCount', filter: it }), filter)
    ;({ start } = counted)
    if (counted.count !== expect) return { ...refused, found: counted.count }
  }
  const taskIds: string[] = []
  for await (const page of pages(store, filter, start)) taskIds.push(...page.taskIds)
  return retryAll(store, taskIds.toReversed(), { again, states: filter.states })
}

const isList = (given: object): given is readonly (Receipt | string)[] => Array.isArray(given)

function filterOf(given: RetryFilter, { expect, children }: RetryManyOptions) {
  assertOptions('retryMany', given, retryFilterRules)
  if (expect === undefined && Object.values(given).every((it) => it === undefined)) {
    throw new RuntimeError(
      'invalid_argument',
      'retryMany: an empty filter selects every failed task; name types, lanes, states, a parent, a client or labels, or say with expect how many tasks there are',
    )
  }
  const filter = { ...given, states: given.states ?? (['failed'] as const) }
  // The retry of a parent spawns the children that failed again: a retry of their own would do their work twice.
  return filter.parent === undefined && children !== true
    ? ({ ...filter, parent: null } satisfies TaskFilter)
    : filter
}

const none = { retried: 0, before: 0, rejected: 0, skipped: 0 } as const
const refused = { ...none, refused: true } as const

async function retryAll(
  store: ExecutionStore,
  taskIds: readonly string[],
  terms: Pick<Write<'retryMany'>, 'states' | 'again'>,
): Promise<RetriedMany> {
  let sum: OutcomeOf<'retryMany'> = none
  for (let first = 0; first < taskIds.length && sum.full === undefined; first += slice) {
    const { full, ...done } = await store.write({
      kind: 'retryMany',
      taskIds: taskIds.slice(first, first + slice),
      ...terms,
    })
    sum = {
      retried: sum.retried + done.retried,
      before: sum.before + done.before,
      rejected: sum.rejected + done.rejected,
      skipped: sum.skipped + done.skipped,
      ...(full === undefined ? {} : { full }),
    }
  }
  return { found: taskIds.length, ...sum, refused: false }
}
