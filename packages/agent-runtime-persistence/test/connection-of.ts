import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type Database from 'better-sqlite3'

/**
 * The connection of a store in this thread. A test sets limits on it that elsewhere a disk sets by itself; nothing else should
 * want it.
 */
export function connectionOf(store: ExecutionStore): Database.Database {
  let inner: unknown = store
  for (const name of ['line', 'engine', 'opened', 'db']) inner = Reflect.get(inner as object, name)
  return inner as Database.Database
}
