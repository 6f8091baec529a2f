import { resolve } from 'node:path'
import type { Open } from './system.ts'

type ServerKind = 'none' | 'postgres' | 'redis' | 'restate'

/** A system as the report and the plan know it. */
export interface System {
  readonly id: string
  readonly name: string
  /** Whether it is this runtime, another system, or a limit that no system on the same store can pass. */
  readonly kind: 'own' | 'peer' | 'limit'
  readonly server: ServerKind
  /** Which Node runs it; the workspace's unless it is said. */
  readonly node?: '24'
  /** The package whose version the report names. */
  readonly package?: string
  /** What was set, in a sentence of the report. */
  readonly settings: string
  /** Whether it has durable steps. */
  readonly steps: boolean
  /** Whether its tasks have lanes or priorities. */
  readonly lanes?: boolean
  /** How many tasks one call for many takes; absent: there is no such call. */
  readonly batch?: number
  /** Whether its handlers have durable waits without a slot; else why not, with what comes nearest. */
  readonly waits: true | string
  /** Why recovery is not run: what its documentation says instead. */
  readonly recovery?: string
  /** Its tasks run as soon as they are submitted: a drain of it is a submission, too. */
  readonly runsOnSubmit?: boolean
  readonly load: () => Promise<Open>
}

const stripped = '.stripped'
/** The folder of the benchmark, also for a program that runs without its types. */
export const benchFolder = import.meta.dirname.endsWith(stripped)
  ? resolve(import.meta.dirname, '..')
  : import.meta.dirname
/** Where its programs are, without their types. */
export const strippedFolder = resolve(benchFolder, stripped)
const sources = resolve(benchFolder, '../../packages/agent-runtime/src/index.ts')
/** Where the packed packages were unpacked. */
export const packedFolder = resolve(benchFolder, '.packed')
const packed = resolve(packedFolder, 'node_modules/@ku0/agent-runtime/dist/index.js')

/** The types of the other systems are not there in a clone that never ran the benchmark. */
async function from<T>(file: string, name: string): Promise<T> {
  const module = (await import(new URL(file, import.meta.url).href)) as Record<string, T>
  return module[name] as T
}

const sameWaits = 'its built packages with a sync stand for it'

type Make<A extends readonly unknown[]> = (...args: A) => Open

/** This runtime, in one of its forms. */
const own = (
  id: string,
  name: string,
  settings: string,
  entry: string,
  store: 'full' | 'normal' | 'postgres',
  more: Partial<System> = {},
): System => ({
  id,
  name,
  kind: 'own',
  server: 'none',
  settings,
  steps: true,
  waits: true,
  batch: 1_000,
  load: async () => (await from<Make<[string, string]>>('./systems/ku0.ts', 'ku0'))(entry, store),
  ...more,
})

export const systems: readonly System[] = [
  own('ku0', 'this runtime', 'SQLite, durability full, built packages, capacity 500', packed, 'full', {
    lanes: true,
  }),
  own('ku0-24', 'this runtime, Node 24', 'the same on Node 24', packed, 'full', { node: '24' }),
  own('ku0-sources', 'this runtime, sources', 'the same from its TypeScript sources', sources, 'full', {
    waits: sameWaits,
  }),
  own(
    'ku0-normal',
    'this runtime, normal',
    'durability normal: no sync before an answer, so a power loss can take the last writes',
    packed,
    'normal',
    { waits: sameWaits },
  ),
  own(
    'ku0-postgres',
    'this runtime, PostgreSQL',
    'PostgreSQL, built packages, capacity 500',
    packed,
    'postgres',
    { server: 'postgres', lanes: true },
  ),
  own(
    'ku0-postgres-sources',
    'this runtime, PostgreSQL, sources',
    'the same from its TypeScript sources',
    sources,
    'postgres',
    { server: 'postgres', waits: sameWaits },
  ),
  {
    id: 'graphile-worker',
    name: 'graphile-worker',
    kind: 'peer',
    server: 'postgres',
    package: 'graphile-worker',
    settings: 'PostgreSQL, concurrency 24, local queue of 500, completions batched without a delay',
    steps: false,
    waits: 'a handler cannot wait; a job for later has not begun',
    lanes: true,
    batch: 1_000,
    recovery: 'locked for 4 hours by its documentation',
    load: () => from('./peers/graphile-worker.ts', 'graphileWorker'),
  },
  {
    id: 'pg-boss',
    name: 'pg-boss',
    kind: 'peer',
    server: 'postgres',
    package: 'pg-boss',
    settings:
      'PostgreSQL, batches of 500, the next one at once while they are full, NOTIFY, heartbeats of 10 s',
    steps: false,
    waits: 'a handler cannot wait; a job for later has not begun',
    batch: 1_000,
    load: () => from('./peers/pg-boss.ts', 'pgBoss'),
  },
  {
    id: 'bullmq',
    name: 'BullMQ',
    kind: 'peer',
    server: 'redis',
    package: 'bullmq',
    settings: 'Redis with appendfsync always, concurrency 200, locks of 5 s',
    steps: false,
    waits: 'a handler cannot wait for an event; nearest to it, it puts its job back until a time',
    lanes: true,
    batch: 1_000,
    load: () => from('./peers/bullmq.ts', 'bullmq'),
  },
  {
    id: 'dbos',
    name: 'DBOS',
    kind: 'peer',
    server: 'postgres',
    package: '@dbos-inc/dbos-sdk',
    settings:
      'PostgreSQL, a queue with concurrency 200 that is looked at every 10 ms, 20 connections; what waits is started without the queue',
    steps: true,
    waits: true,
    load: () => from('./peers/dbos.ts', 'dbos'),
  },
  {
    id: 'openworkflow-postgres',
    name: 'OpenWorkflow, PostgreSQL',
    kind: 'peer',
    server: 'postgres',
    package: 'openworkflow',
    settings: 'concurrency 100',
    steps: true,
    waits: true,
    load: async () => (await from<Make<[string]>>('./peers/openworkflow.ts', 'openworkflow'))('postgres'),
  },
  {
    id: 'openworkflow-sqlite',
    name: 'OpenWorkflow, SQLite',
    kind: 'peer',
    server: 'none',
    package: 'openworkflow',
    settings: 'concurrency 100, node:sqlite, which syncs before each answer',
    steps: true,
    waits: true,
    load: async () => (await from<Make<[string]>>('./peers/openworkflow.ts', 'openworkflow'))('sqlite'),
  },
  {
    id: 'restate',
    name: 'Restate',
    kind: 'peer',
    server: 'restate',
    package: '@restatedev/restate-server',
    settings:
      'its server with the sync of its log on, bidirectional over HTTP/2; a handler that waits is suspended after 50 ms',
    steps: true,
    waits: true,
    runsOnSubmit: true,
    load: () => from('./peers/restate.ts', 'restateSystem'),
  },
  {
    id: 'plainjob',
    name: 'plainjob, full',
    kind: 'peer',
    server: 'none',
    package: 'plainjob',
    settings: 'SQLite with synchronous FULL, one job at a time, looks every 10 ms',
    steps: false,
    waits: 'a handler cannot wait; a job for later has not begun',
    batch: 1_000,
    recovery: 'jobs time out after 30 minutes by default',
    load: async () => (await from<Make<[string]>>('./peers/plainjob.ts', 'plainjob'))('full'),
  },
  {
    id: 'plainjob-normal',
    name: 'plainjob',
    kind: 'peer',
    server: 'none',
    package: 'plainjob',
    settings: 'as it comes: synchronous NORMAL, so a power loss can take the last writes',
    steps: false,
    waits: 'a handler cannot wait; a job for later has not begun',
    batch: 1_000,
    recovery: 'jobs time out after 30 minutes by default',
    load: async () => (await from<Make<[string]>>('./peers/plainjob.ts', 'plainjob'))('normal'),
  },
  {
    id: 'raw-sqlite',
    name: 'raw SQLite',
    kind: 'limit',
    server: 'none',
    package: 'better-sqlite3',
    settings: 'the rows of this runtime by bare statements, synchronous FULL, 500 tasks a transaction',
    steps: true,
    waits: 'it does not wait',
    batch: 1_000,
    recovery: 'it has no leases that end',
    load: () => from('./systems/raw-sqlite.ts', 'rawSqlite'),
  },
]
