import { RuntimeError, StoreError } from '@ku0/agent-runtime-core'
import {
  assertKnown,
  assertMigrated,
  assertWhole,
  type Migration,
  oldestOf,
  type StoredSchema,
} from '../../migration.ts'
import type { Session } from '../connection/session.ts'
import { statement } from '../connection/statement.ts'
import type { PostgresPlace } from '../connection/url.ts'
import { raisedVersion } from '../processes/head.ts'
import { migrations, schemaVersion } from './schema.ts'

/** The server takes as long as it needs for what follows. */
export const unlimitedWork = statement('SET LOCAL statement_timeout TO DEFAULT')

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
  await on.batch([unlimitedWork])
  if (version > 0) await on.run(`SET LOCAL lock_timeout = ${migrationPatienceMs}`)
  for (const { sql } of steps.slice(version)) await on.runLong(sql)
  await on.query('UPDATE head SET schema = $1::bigint, oldest = $2::bigint', [steps.length, oldestOf(steps)])
  // Those that have the store open see it when they look next.
  if (version > 0) await on.batch([raisedVersion])
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
export async function assertMade(on: Session, { location, schema }: PostgresPlace): Promise<StoredSchema> {
  const [isThere] =
    (await on.query('SELECT to_regclass($1::text) IS NOT NULL', [`${schema}.head`])).rows[0] ?? []
  if (isThere === 0) throw new RuntimeError('not_found', `there is no store at ${location}`)
  const version = ((await on.query('SELECT schema FROM head')).rows[0]?.[0] ?? 0) as number
  const stored = await schemaOf(on, version)
  assertKnown(stored, schemaVersion, location)
  assertMigrated(stored, schemaVersion, location)
  return stored
}

/**
 * How long a step waits at once for those who read a table, in ms. Everybody waits behind it meanwhile. It is less than the second after which a server
 * looks for a deadlock: a transaction that reads one table after another and the step, which alters them in another order, may wait for each other.
 */
const migrationPatienceMs = 500
