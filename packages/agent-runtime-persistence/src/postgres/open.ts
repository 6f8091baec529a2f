import {
  type ConfigurationVerdict,
  type DataLoss,
  decideConfiguration,
  RuntimeError,
  StoreError,
} from '@ku0/agent-runtime-core'
import { configurationsText } from '../sqlite/configurations.ts'
import { REMOTE, type ProcessIdentity } from '../process-identity.ts'
import { type Connections, lockMs } from './connections.ts'
import { storeErrorOf } from './errors.ts'
import { lockHeadText, raisedVersion, type Head, type HeadRow } from './head.ts'
import { acceptLosses } from './lost-commits.ts'
import {
  assertKnown,
  assertMigrated,
  assertWhole,
  type Migration,
  oldestOf,
  type StoredSchema,
} from '../migration.ts'
import { migrations, schemaVersion } from './schema.ts'
import { arrayParameter } from './parameters.ts'
import type { Session } from './session.ts'
import type { PostgresPlace } from './url.ts'
import { statement } from './write.ts'

/** What a process finds when it opens a store. */
export interface Opened {
  readonly session: Session
  readonly storeId: string
  readonly process: number
  /** The row of the processes on lines. */
  readonly remote: number | undefined
  /** The row of the settings that it states. */
  readonly configuration: number | undefined
  readonly serverVersion: string
  readonly head: Head
  /** The schema that the store has: this program's, or a later one that has only added to it. */
  readonly schema: number
  /** The time of the server, as rows are dated. */
  readonly openedAt: number
  /** The commits that are missing, and whose loss was accepted now. */
  readonly loss: DataLoss | undefined
}

/** The options that a store is opened with. `at`: the time that its rows are dated with, from that of the server. */
export interface Opening {
  readonly identity: ProcessIdentity
  readonly freshId: string
  /** Whether workers of other machines come over lines. */
  readonly lines: boolean
  /** Open it although commits are missing. */
  readonly acceptLoss: boolean
  /** Neither make the tables nor migrate them. */
  readonly existing: boolean
  /** The settings of the store that this process states. */
  readonly states: string | undefined
  readonly at: (serverMs: number) => number
  /** Connects to the server once more, so that nobody waits for that while this process holds the locks. */
  readonly meet: () => Promise<void>
  /** Runs before anybody else sees the row of this process. */
  readonly show: (process: number) => Promise<void>
}

/** How long a process that opens a store waits for the others that open it, in ms: as long as at a file. */
const openingPatienceMs = 10_000

/** The oldest PostgreSQL that the statements are tested with. */
export const oldest = 15

/**
 * Connects, makes the tables where there are none, brings older ones up to date, and registers this process, in one transaction. Several
 * that open a store at once do it one after the other.
 */
export async function openTables(connections: Connections, opening: Opening): Promise<Opened> {
  const { location, schema } = connections.place
  let session: Session | undefined
  try {
    session = await connections.open('commit')
    await opening.meet()
    return await enter(session, connections, opening)
  } catch (error) {
    session?.drop()
    throw storeErrorOf(error, location)
  }

  async function enter(
    on: Session,
    { prelude }: Connections,
    { identity, freshId, lines, acceptLoss, existing, states, at, show }: Opening,
  ): Promise<Opened> {
    // It holds the lock of all commits, whatever the server's default is: where that is serializable, it would fail beside a process that commits.
    await on.run(`BEGIN ISOLATION LEVEL READ COMMITTED; ${prelude}`)
    const [server] = (
      await on.query(
        "SELECT current_setting('server_version_num')::bigint, current_setting('server_version'), current_setting('server_encoding')",
      )
    ).rows as readonly (readonly [number, string, string])[]
    const [number, serverVersion, encoding] = server ?? [0, '', '']
    if (number < oldest * 10_000)
      throw new StoreError(
        'store_schema',
        `${location}: this is PostgreSQL ${serverVersion}, and a store needs ${oldest} or later; upgrade the server`,
      )
    if (encoding !== 'UTF8')
      throw new StoreError(
        'store_schema',
        `${location}: this database keeps text as ${encoding}, and a store needs UTF8; make one with CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0`,
      )
    // Many processes that start at once wait here for each other, and for the commits of those that are open, for longer than a commit would.
    await on.run(`SET LOCAL lock_timeout TO ${openingPatienceMs}`)
    await on.query('SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))', [`ku0 ${schema}`])
    if (existing) await assertMade(on, connections.place)
    else await migrate(on, connections.place)
    const { rows } = await on.query(lockHeadText)
    const [stored, before, commit, hash, untold] = (rows[0] ?? []) as HeadRow
    const [, , named, told] = await on.batch([
      statement(`SET LOCAL lock_timeout TO ${lockMs}`),
      statement("INSERT INTO meta VALUES ('store_id', $1::text) ON CONFLICT DO NOTHING", [freshId]),
      { text: "SELECT value FROM meta WHERE key = 'store_id'", values: [] },
      { text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision', values: [] },
    ])
    const storeId = named?.rows[0]?.[0] as string
    const now = at(told?.rows[0]?.[0] as number)
    const loss = await acceptLosses(on, location, { accepts: acceptLoss, at: now })
    const { processId, host, bootId, pid } = identity
    const stated = states === undefined ? undefined : await state(on, states, now)
    const { rows: made } = await on.query(
      'INSERT INTO process SELECT coalesce(max(id), 0) + 1, $1::text, $2::text, $3::text, $4::bigint, $5::bigint, $5::bigint, NULL, $6::bigint FROM process RETURNING id',
      [processId, host, bootId, pid, now, stated?.id ?? null],
    )
    const remote = lines ? await enterRemote(on, now) : undefined
    await show(made[0]?.[0] as number)
    await on.run('COMMIT')
    return {
      session: on,
      storeId,
      process: made[0]?.[0] as number,
      remote,
      configuration: stated?.id,
      serverVersion,
      head: { version: stated?.isNew === true ? before + 1 : before, number: commit, hash, untold },
      schema: stored,
      openedAt: now,
      loss,
    }
  }

  /** See `stateSettings` of a file. Others take new settings before they commit again. */
  async function state(on: Session, settings: string, at: number): Promise<ConfigurationVerdict> {
    const { rows } = await on.query(configurationsText)
    const verdict = decideConfiguration(
      (rows as [number, string, number][]).map(([id, text, processes]) => ({
        id,
        settings: text,
        processes,
      })),
      settings,
    )
    const { id, isNew, removed } = verdict
    if (!isNew) return verdict
    await on.batch([
      statement('DELETE FROM configuration WHERE id = ANY($1::bigint[])', [
        arrayParameter('bigint', removed),
      ]),
      statement('INSERT INTO configuration VALUES ($1::bigint, $2::text, $3::bigint)', [id, settings, at]),
      raisedVersion,
    ])
    return verdict
  }

  /** One row for all processes on lines, whichever process of the store their lines lead to. */
  async function enterRemote(on: Session, now: number): Promise<number> {
    const { rows } = await on.query(
      `INSERT INTO process SELECT coalesce(max(id), 0) + 1, '${REMOTE}', '${REMOTE}', '', 0, $1::bigint, $1::bigint FROM process
       ON CONFLICT (process_id) DO UPDATE SET ended_at = NULL, last_seen_at = excluded.last_seen_at RETURNING id`,
      [now],
    )
    return rows[0]?.[0] as number
  }
}

/** Brings the tables up to date, in one transaction. Those that have had more steps are left as they are. */
export async function migrate(
  on: Session,
  { location, schema }: PostgresPlace,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  const found = await on.query(
    'SELECT to_regnamespace($1::text) IS NOT NULL, to_regclass($2::text) IS NOT NULL',
    [schema, `${schema}.head`],
  )
  const [hasSchema, hasTables] = found.rows[0] ?? []
  if (hasSchema === 0) await on.run(`CREATE SCHEMA ${schema}`)
  const version =
    hasTables === 0
      ? 0
      : ((await on.query('SELECT schema FROM head FOR UPDATE')).rows[0]?.[0] as number | undefined)
  if (version === undefined)
    throw new StoreError('store_schema', `${location}: the table head is empty; restore a backup`)
  assertKnown(await schemaOf(on, version), steps.length, location)
  if (version >= steps.length) return
  // A long reader keeps a table from being altered, and everybody waits behind that: rather try again later.
  if (version > 0) await on.run(`SET LOCAL lock_timeout = ${migrationPatienceMs}`)
  for (const { sql } of steps.slice(version)) await on.run(sql)
  await on.query('UPDATE head SET schema = $1::bigint, oldest = $2::bigint', [steps.length, oldestOf(steps)])
}

/** What a store says of its schema, to somebody who may not know it. */
async function schemaOf(on: Session, version: number): Promise<StoredSchema> {
  if (version <= schemaVersion) return { version, oldest: undefined }
  return { version, oldest: (await on.query('SELECT oldest FROM head')).rows[0]?.[0] as number }
}

/** For what only reads: the tables are there, and of this version. */
export async function assertTables(on: Session, place: PostgresPlace): Promise<void> {
  assertWhole(await assertMade(on, place), schemaVersion, place.location)
}

/** The tables are there, and need no migration. */
async function assertMade(on: Session, { location, schema }: PostgresPlace): Promise<StoredSchema> {
  const [isThere] =
    (await on.query('SELECT to_regclass($1::text) IS NOT NULL', [`${schema}.head`])).rows[0] ?? []
  if (isThere === 0) throw new RuntimeError('not_found', `there is no store at ${location}`)
  const version = ((await on.query('SELECT schema FROM head')).rows[0]?.[0] ?? 0) as number
  const stored = await schemaOf(on, version)
  assertKnown(stored, schemaVersion, location)
  assertMigrated(stored, schemaVersion, location)
  return stored
}

/** How long a step waits for those who read a table, in ms. */
const migrationPatienceMs = 5_000
