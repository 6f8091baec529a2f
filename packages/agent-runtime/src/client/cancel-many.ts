import {
  assertOptions,
  type ExecutionStore,
  type Reads,
  RuntimeError,
  type TaskFilter,
} from '@ku0/agent-runtime-core'
import type { CancelFilter, CanceledMany, CancelManyOptions } from '../api/client.ts'
import { countTasks } from './list-tasks.ts'
import { cancelFilterRules, cancelManyRules } from '../terms/arguments.ts'

/** Number of tasks that one commit cancels: with their events they take some 10 ms of the store's time. */
const slice = 200
/** Number of ids that one read returns. */
const pageSize = 1_000

const open = ['queued', 'running', 'waiting'] as const

/**
 * Cancels the tasks that a filter selects, slice by slice, newest first, so that children go before their
 * parents.
 */
export async function cancelMany(
  store: ExecutionStore,
  given: CancelFilter,
  options: CancelManyOptions,
): Promise<CanceledMany> {
  assertOptions('cancelMany', given, cancelFilterRules)
  assertOptions('cancelMany', options, cancelManyRules)
  const { expect, reason } = options
  if (expect === undefined && Object.values(given).every((it) => it === undefined)) {
    throw new RuntimeError(
      'invalid_argument',
      'cancelMany: an empty filter selects every open task; name types, lanes, states, a parent, a client or labels, or say with expect how many tasks there are',
    )
  }
  const filter = { ...given, states: given.states ?? open }
  let start: number | undefined
  if (expect !== undefined) {
    const counted = await countTasks((it) => store.read({ kind: 'taskCount', filter: it }), filter)
    ;({ start } = counted)
    if (counted.count !== expect) return { found: counted.count, canceled: 0, refused: true }
  }
  let [found, canceled] = [0, 0]
  for await (const { taskIds } of pages(store, filter, start)) {
    found += taskIds.length
    for (let first = 0; first < taskIds.length; first += slice) {
      const outcome = await store.write({
        kind: 'cancelMany',
        taskIds: taskIds.slice(first, first + slice),
        states: filter.states,
        ...(reason === undefined ? {} : { reason }),
      })
      canceled += outcome.canceled
    }
  }
  return { found: expect ?? found, canceled, refused: false }
}

/** The ids that a filter selects, newest first, up to the start of an earlier pass if it is given. */
export async function* pages(
  store: ExecutionStore,
  filter: TaskFilter,
  start?: number,
): AsyncGenerator<Reads['taskIds']['answer']> {
  for (let cursor = start, isMore = true; isMore;) {
    const answer = await store.read({
      kind: 'taskIds',
      filter: { ...filter, limit: pageSize, ...(cursor === undefined ? {} : { cursor }) },
    })
    yield answer
    cursor = answer.cursor
    isMore = cursor !== undefined
  }
}
