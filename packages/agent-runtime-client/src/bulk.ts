import type { CallOptions } from './options.ts'
import type { ListFilter } from './records.ts'
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
  /** Why it failed. */
  readonly problem?: string
}

/** Which tasks a bulk action is about. */
export interface BulkFilter extends Omit<ListFilter, 'limit' | 'cursor'> {
  /** For failed tasks: of what kind. */
  readonly kind?: string | undefined
}

/** Cancels or retries many tasks, in three calls: count, start, and look until it is done. */
export interface Bulk {
  /** Counts the tasks; nothing is done yet. */
  count(
    action: BulkAction['action'],
    filter: BulkFilter,
    options?: CallOptions & { readonly reason?: string | undefined },
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
    async count(action, filter, { signal, reason } = {}) {
      const states = filter.states?.map((state) => (state === 'cancelled' ? 'canceled' : state))
      const body = { action, filter: { ...filter, states }, reason }
      return (await transport.json({ method: 'POST', path: '/tasks:bulk', body, signal })) as BulkAction
    },
    start: (token, options) => ask('POST', token, options),
    progress: (token, options) => ask('GET', token, options),
    stop: (token, options) => ask('DELETE', token, options),
  }
}
