import { show, StoreError } from '@ku0/agent-runtime-core'
import type { Connections } from './connection/connections.ts'
import { isHeldUp } from './connection/errors.ts'
import type { Session } from './connection/session.ts'

interface PatienceParts {
  readonly connections: Connections
  /** The monotonic clock. */
  readonly mono: () => number
  /** Takes back that this process was shown, before the next one gets its number. */
  readonly hide: () => Promise<void>
}

/**
 * Tries again what is refused because others hold a lock, so that a store is opened beside many that open it, and nobody stands for long behind one
 * that waits to alter a table which somebody reads. Source: `docs/decisions/0084-opening-beside-many.md`.
 */
export async function patiently<T>(on: Session, it: PatienceParts, enter: () => Promise<T>): Promise<T> {
  const began = it.mono()
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await enter()
    } catch (error) {
      if (!isHeldUp(error) || on.lost !== undefined) throw error
      await it.hide()
      await on.run('ROLLBACK')
      if (it.mono() - began >= longestMs) throw await heldUpBy(on, it.connections, error as Error)
    }
    await it.connections.pause(pauseMs)
  }
}

/**
 * What was in the way may be gone when it is asked. Then the oldest transaction on the tables is named, if it is older than those of a runtime become.
 * Of other roles the server tells only those who may know it.
 */
async function heldUpBy(on: Session, { place }: Connections, cause: Error): Promise<Error> {
  const { rows } = await on.query(
    `SELECT it.pid, it.application_name, tables.relname::text FROM pg_locks AS held JOIN pg_class AS tables ON tables.oid = held.relation
     JOIN pg_stat_activity AS it ON it.pid = held.pid
     WHERE held.granted AND tables.relkind = 'r' AND tables.relnamespace = to_regnamespace($1::text) AND held.pid <> pg_backend_pid()
       AND it.xact_start < clock_timestamp() - interval '2 s'
     ORDER BY it.xact_start LIMIT 1`,
    [place.schema],
  )
  const [pid, name, table] = (rows[0] ?? []) as [pid?: number, name?: string, table?: string]
  const who =
    pid === undefined
      ? 'Many processes commit at once, or somebody reads its tables for long: open it again later'
      : `Connection ${pid} of ${show(name)} has had a transaction open on the table ${table} for the longest time: let that end, or run SELECT pg_terminate_backend(${pid}), and open the store again`
  return new StoreError(
    'store_busy',
    `${place.location} could not be opened for ${longestMs / 1_000} s because of other connections (${cause.message}). ${who}`,
    { cause },
  )
}

/** So long it is tried, in ms. */
const longestMs = 30_000
const firstPauseMs = 100
const longestPauseMs = 1_000
