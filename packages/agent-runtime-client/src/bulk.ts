import type { CallOptions } from './options.ts'
import { ApiError } from './errors.ts'
import type { ListFilter } from './records.ts'
import { taskIdOf, type TaskLike } from './task-id.ts'
import type { Transport } from './transport.ts'

/** A bulk action as it stands. */
export interface BulkAction {
  readonly token: string
  readonly action: 'cancel' | 'retry'
  readonly state: 'counted' | 'running' | 'stopped' | 'done' | 'failed'
  /** The tasks that the filter selected. */
  readonly count: number
  /** The tasks that were looked at so far. */
  readonly done: number
  /** The tasks that were canceled or submitted again. */
  readonly changed: number
  /** The tasks that had been retried before a retry, and were left alone. */
  readonly before: number
  /** The tasks whose retry was refused. */
  readonly rejected: number
  /** Why it failed, or why it stopped: there was no room for more in the queue. */
  readonly problem?: string
}

/** Which tasks a bulk action is about. */
export interface BulkFilter extends Omit<ListFilter, 'values' | 'limit' | 'cursor'> {
  /** For failed tasks: of what kind. */
  readonly kind?: string | undefined
}

/** The options of {@link Bulk.count}. */
export interface BulkOptions extends CallOptions {
  /** The reason of a cancel. */
  readonly reason?: string | undefined
  /** Whether a retry by a filter includes children, which the retry of their parent starts again. False by default, and true for the children of one `parent`. */
  readonly children?: boolean | undefined
  /** Whether a retry includes tasks that were retried before. False by default. */
  readonly again?: boolean | undefined
}

/** Guards a call about many tasks. */
export interface ExpectOptions extends CallOptions {
  /** How many tasks you expect to be selected: if there are more or less, nothing is done. 0 only counts. */
  readonly expect?: number | undefined
}

/** The effect of {@link Bulk} `cancelMany`. */
export interface CanceledMany {
  readonly found: number
  readonly canceled: number
  /** True if `found` is not the expected number, so nothing was canceled. */
  readonly refused: boolean
}

/** The effect of {@link Bulk} `retryMany`. */
export interface RetriedMany {
  readonly found: number
  readonly retried: number
  /** The tasks that had been retried before, and were left alone. */
  readonly before: number
  /** The tasks whose retry was refused. */
  readonly rejected: number
  /** Why it ended before the last task: there was no room for more in the queue. */
  readonly full?: { readonly message: string }
  /** True if `found` is not the expected number, so nothing was retried. */
  readonly refused: boolean
}

/** Cancels or retries many tasks in one call, and waits until that is done. */
export interface Many {
  /** Cancels every open task that the filter selects. Throws `internal` if the server stopped before the last one. */
  cancelMany(filter: BulkFilter, options?: ExpectOptions & Pick<BulkOptions, 'reason'>): Promise<CanceledMany>
  /** Retries every failed task that the filter selects, or the named tasks, each once. Throws `internal` if the server stopped before the last one. */
  retryMany(
    tasks: BulkFilter | readonly TaskLike[],
    options?: ExpectOptions & Pick<BulkOptions, 'children' | 'again'>,
  ): Promise<RetriedMany>
}

/** Cancels or retries many tasks, in three calls: count, start, and look until it is done. */
export interface Bulk {
  /** Counts the tasks that a filter selects, or those that are named; nothing is done yet. */
  count(
    action: BulkAction['action'],
    tasks: BulkFilter | readonly TaskLike[],
    options?: BulkOptions,
  ): Promise<BulkAction>
  /** Starts what was counted. A second start changes nothing. */
  start(token: string, options?: CallOptions): Promise<BulkAction>
  /** How far it is. Throws `not_found` after a restart of the server: count again. */
  progress(token: string, options?: CallOptions): Promise<BulkAction>
  /** Stops it after the slice that is under way. */
  stop(token: string, options?: CallOptions): Promise<BulkAction>
}

/** Bulk actions, on a transport. */
export function bulkOn(transport: Transport): Bulk {
  const ask = async (
    method: 'GET' | 'POST' | 'DELETE',
    token: string,
    { signal }: CallOptions = {},
  ): Promise<BulkAction> =>
    (await transport.json({ method, path: `/tasks:bulk/${token}`, signal, repeatable: true })) as BulkAction
  return {
    async count(action, tasks, { signal, ...options } = {}) {
      const body = { action, ...selectionOf(tasks), ...options }
      return (await transport.json({ method: 'POST', path: '/tasks:bulk', body, signal })) as BulkAction
    },
    start: (token, options) => ask('POST', token, options),
    progress: (token, options) => ask('GET', token, options),
    stop: (token, options) => ask('DELETE', token, options),
  }
}

const isList = (tasks: object): tasks is readonly TaskLike[] => Array.isArray(tasks)

function selectionOf(tasks: BulkFilter | readonly TaskLike[]) {
  if (isList(tasks)) return { taskIds: tasks.map(taskIdOf) }
  const states = tasks.states?.map((state) => (state === 'cancelled' ? 'canceled' : state))
  return { filter: { ...tasks, states } }
}

/** The same in one call each. */
export function manyOn(transport: Transport): Many {
  const bulk = bulkOn(transport)

  /** Undefined if another number was expected. */
  async function run(
    action: BulkAction['action'],
    tasks: BulkFilter | readonly TaskLike[],
    { expect, ...options }: ExpectOptions & BulkOptions,
  ): Promise<{ readonly found: number; readonly over?: BulkAction }> {
    const { signal } = options
    const { token, count: found } = await bulk.count(action, tasks, options)
    if (expect !== undefined && expect !== found) {
      await bulk.stop(token, { signal })
      return { found }
    }
    let over = await bulk.start(token, { signal })
    for (let wait = 10; over.state === 'running'; wait = Math.min(500, wait * 2)) {
      await transport.pause(wait, signal)
      over = await bulk.progress(token, { signal })
    }
    const isShort = action === 'retry' && over.state === 'stopped' && over.problem !== undefined
    if (over.state === 'done' || isShort) return { found, over }
    throw new ApiError({
      type: 'about:blank',
      status: 500,
      title: 'A bulk action ended early',
      code: 'internal',
      detail: `the server stopped after ${over.changed} of ${found} tasks: ${over.problem ?? over.state}`,
    })
  }

  return {
    async cancelMany(filter, options = {}) {
      const { found, over } = await run('cancel', filter, options)
      return { found, canceled: over?.changed ?? 0, refused: over === undefined }
    },
    async retryMany(tasks, options = {}) {
      const { found, over } = await run('retry', tasks, options)
      if (over === undefined) return { found, retried: 0, before: 0, rejected: 0, refused: true }
      const { changed: retried, before, rejected, problem } = over
      const full = problem === undefined ? {} : { full: { message: problem } }
      return { found, retried, before, rejected, ...full, refused: false }
    },
  }
}
