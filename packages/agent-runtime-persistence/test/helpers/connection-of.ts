import type { Worker } from 'node:worker_threads'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type Database from 'better-sqlite3'
import type { Database as EngineDatabase } from '../../src/engine/database.ts'

/**
 * The connection of a store in this thread. A test sets limits on it that elsewhere a disk sets by itself; nothing else should
 * want it.
 */
export function connectionOf(store: ExecutionStore): Database.Database {
  return inner(store, ['line', 'engine', 'db', 'opened', 'db']) as Database.Database
}

/** The statement that commits its flushes: a test makes it fail as a disk does. */
export function commitOf(store: ExecutionStore): Database.Statement {
  return inner(store, ['line', 'engine', 'db', 'commitNow']) as Database.Statement
}

/** The statement that begins them: a test takes the transaction away behind it. */
export function beginOf(store: ExecutionStore): Database.Statement {
  return inner(store, ['line', 'engine', 'db', 'beginNow']) as Database.Statement
}

/** The engine's database, inline: a test hears what it is asked for. */
export function databaseOf(store: ExecutionStore): EngineDatabase {
  return inner(store, ['line', 'engine', 'db']) as EngineDatabase
}

/** The thread of a store that has one: a test ends it as nothing else does. */
export function threadOf(store: ExecutionStore): Worker {
  return inner(store, ['line', 'worker']) as Worker
}

function inner(store: ExecutionStore, names: readonly string[]): unknown {
  const front: unknown = Reflect.get(store, 'inner') ?? store
  return names.reduce((object, name) => Reflect.get(object as object, name) as unknown, front)
}
