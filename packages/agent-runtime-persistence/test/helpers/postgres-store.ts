import type { Environment, ExecutionConfig, ExecutionStore } from '@ku0/agent-runtime-core'
import type { News } from '../../src/engine/news.ts'
import type { Cache } from '../../src/engine/cache.ts'
import type { Database } from '../../src/engine/database.ts'
import type { AsyncLine } from '../../src/line/async-line.ts'
import { onTestFinished } from 'vitest'
import { openInlinePostgres } from '../../src/line/inline-postgres.ts'
import { withLines } from '../../src/line/store-lines.ts'
import { stanceOf } from '../../src/stance.ts'
import { chainDigest } from '../../src/system.ts'
import { columns, namesOf } from '../../src/sqlite/columns.ts'
import { type PostgresServer, sharedServer } from './postgres-server.ts'

const lines = new WeakMap<ExecutionStore, AsyncLine>()

/** A store in a schema of its own, or another process of one, on the time that is given. */
export async function newPostgresStore(
  config: ExecutionConfig,
  environment: Environment,
  url?: string,
  isServed = false,
  isVirtual = true,
): Promise<ExecutionStore> {
  const identity = { processId: environment.ids.uuid(), host: 'virtual', bootId: 'virtual', pid: 0 }
  const { store, line } = await openInlinePostgres({
    url: url ?? (await sharedServer()).newStore(),
    config,
    ...stanceOf(config),
    environment,
    chain: chainDigest,
    identity,
    isVirtual,
    lines: isServed,
  })
  if (isServed) await withLines(store, config)
  lines.set(store, line)
  return store
}

/** What the engine of such a store keeps between flushes, and its database. */
export function partsOf(store: ExecutionStore): {
  readonly cache: Cache
  readonly db: Database
  readonly isConcerned: (news: News) => boolean
} {
  const { engine } = lines.get(store) as unknown as {
    engine: { cache: Cache; db: Database; isConcerned(news: News): boolean }
  }
  return { cache: engine.cache, db: engine.db, isConcerned: (news) => engine.isConcerned(news) }
}

/** URLs of stores that nobody uses any more. */
const free: string[] = []

/**
 * A store that is empty. Its tables are those of one that is closed, where there is one: to make them takes ten times as long as a test. `isServed` says
 * whether remote workers come to it.
 */
export async function emptyPostgresStore(
  config: ExecutionConfig,
  environment: Environment,
  isServed = false,
): Promise<ExecutionStore> {
  const server = await sharedServer()
  const used = free.pop()
  const url = used ?? server.newStore()
  if (used !== undefined) await empty(server, used)
  const store = await newPostgresStore(config, environment, url, isServed)
  onTestFinished(async () => {
    await store.close()
    free.push(url)
  })
  return store
}

async function empty(server: PostgresServer, url: string): Promise<void> {
  const client = await server.connect(url)
  const tables = Object.keys(columns).filter((table) => table !== 'stream' && table !== 'totals')
  await client.query(
    `BEGIN; ${[...tables, 'stream'].map((table) => `DELETE FROM ${table};`).join(' ')}
     UPDATE totals SET ${totals.map((name) => `${name} = 0`).join(', ')};
     INSERT INTO meta VALUES ('clients_removed', '0'), ('pruned_unhashed_until', '0'), ('journal_base', '0:' || repeat('0', 64));
     UPDATE head SET version = 0, number = 0, hash = decode(repeat('00', 32), 'hex'), writer = 0, untold = 0; COMMIT`,
  )
  await client.end()
}

const totals = namesOf('totals').filter((name) => name !== 'id')

/** See `Quiet` of the conformance suite. */
export function quiet(store: ExecutionStore): Promise<boolean> {
  return lines.get(store)?.whenQuiet() ?? Promise.resolve(false)
}
