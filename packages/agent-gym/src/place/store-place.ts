import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { UsageError } from '../cli/exit-code.ts'
import { startPostgres, type StartedPostgres } from './postgres-server.ts'

export const storeKinds = ['memory', 'sqlite', 'postgres'] as const
export type StoreKind = (typeof storeKinds)[number]

/** Where the runs of scenarios keep their stores. */
export interface StorePlace {
  readonly kind: StoreKind
  /** The URL of a store that is not there yet, for a run with this folder. */
  newStore(folder: string): string
  /** Removes what a store has outside of its run's folder. */
  remove(store: string): Promise<void>
  close(): Promise<void>
}

type Server = Pick<StartedPostgres, 'url' | 'stop'>

/** A file in the folder of each run. */
export const files: StorePlace = {
  kind: 'sqlite',
  newStore: (folder) => `sqlite:${join(folder, 'runtime.db')}`,
  remove: () => Promise.resolve(),
  close: () => Promise.resolve(),
}

/** Opens a place. On PostgreSQL each store is a schema of its own, on the `server` of that URL, or on one that is started for them. */
export async function openStorePlace(kind: StoreKind, server: string | undefined): Promise<StorePlace> {
  if (kind === 'sqlite') return files
  if (kind === 'memory') return { ...files, kind, newStore: () => 'sqlite::memory:' }
  try {
    const own = server === undefined ? await startOwn() : { url: server, stop: () => Promise.resolve() }
    await asked(own.url, 'SELECT 1')
    return schemas(own)
  } catch (cause) {
    const what = server === undefined ? kind : `${withoutPassword(server)} cannot be used`
    throw new UsageError(`--store: ${what}: ${(cause as Error).message}`, { cause })
  }
}

/** Reports and errors are passed around. The driver takes the password from `PGPASSWORD`, too. */
export function withoutPassword(server: string): string {
  const url = new URL(server)
  url.password = ''
  return url.href
}

function schemas({ url, stop }: Server): StorePlace {
  return {
    kind: 'postgres',
    newStore() {
      const store = new URL(url)
      store.searchParams.set('schema', `gym_${randomUUID().replaceAll('-', '')}`)
      return store.href
    },
    remove: (store) =>
      asked(url, `DROP SCHEMA IF EXISTS ${new URL(store).searchParams.get('schema')} CASCADE`),
    close: stop,
  }
}

async function asked(url: string, sql: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/**
 * Starts a server for the gym. Its package ends the process on signals, and with 0 when nothing is left to do. Both are for the gym to decide:
 * what the package listens to is given up, but for the end of a process that has not stopped its server.
 */
async function startOwn(): Promise<Server> {
  const before = endings.map((event) => [event, process.listeners(event)] as const)
  const { url, stop } = await startPostgres({ fsync: true })
  const giveUp = (given: readonly string[]) => {
    for (const [event, kept] of before.filter(([name]) => given.includes(name)))
      for (const listener of process.listeners(event))
        if (!kept.includes(listener)) process.off(event, listener)
  }
  giveUp(['SIGHUP', 'SIGINT', 'SIGTERM', 'beforeExit'])
  return {
    url,
    async stop() {
      await stop()
      giveUp(['exit'])
    },
  }
}

// All take listeners of one kind, whatever they are called with.
const endings = ['SIGHUP', 'SIGINT', 'SIGTERM', 'beforeExit' as 'SIGINT', 'exit' as 'SIGINT'] as const
