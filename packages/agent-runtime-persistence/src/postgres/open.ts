import {
  type ConfigurationRow,
  type ConfigurationVerdict,
  type DataLoss,
  decideConfiguration,
  StoreError,
} from '@ku0/agent-runtime-core'
import { configurationsText } from '../sqlite/configurations.ts'
import { type Incarnation, knownIncarnations } from '../sqlite/incarnations.ts'
import { REMOTE, type ProcessIdentity } from '../process-identity.ts'
import { type Connections, lockMs, oldestServer } from './connection/connections.ts'
import { storeErrorOf } from './connection/errors.ts'
import { type Found, question, type Statement, statement } from './connection/statement.ts'
import { headText, lockHeadText, raisedVersion, type Head, type HeadRow } from './processes/head.ts'
import { acceptLosses, lossText } from './care/lost-commits.ts'
import { assertMade, migrate, unlimitedWork } from './tables/migrate.ts'
import { patiently } from './opening-patience.ts'
import { schemaVersion } from './tables/schema.ts'
import { arrayParameter } from './connection/parameters.ts'
import type { Session } from './connection/session.ts'

/** What a process finds when it opens a store. */
export interface Opened {
  readonly session: Session
  readonly storeId: string
  /** Its incarnations before this one, the oldest first. */
  readonly past: readonly Incarnation[]
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

/** How a program opens a store. */
export interface Entry {
  readonly identity: ProcessIdentity
  /** Whether workers of other machines come over lines. */
  readonly lines: boolean
  /** Open it although commits are missing. */
  readonly acceptLoss: boolean
  /** Neither make the tables nor migrate them. */
  readonly existing: boolean
  /** The settings of the store that this process states. */
  readonly states: string | undefined
  /** Whether the environment's clock counts instead of the server's: in tests, whose time stands still while a process waits. */
  readonly isVirtual: boolean
}

/** The same with what opening needs of this process. `at`: the time that its rows are dated with, from that of the server. */
export interface Opening extends Entry {
  readonly freshId: string
  readonly at: (serverMs: number) => number
  /** Connects to the server once more, so that nobody waits for that while this process holds the locks. */
  readonly meet: () => Promise<void>
  /** Runs before anybody else sees the row of this process. */
  readonly show: (process: number) => Promise<void>
  /** Takes that back: the row did not come about. */
  readonly hide: () => Promise<void>
  /** The monotonic clock. */
  readonly mono: () => number
}

/** How long a process that opens a store waits for a lock before it asks for it again, in ms. */
const openingPatienceMs = 10_000

/**
 * Connects, makes the tables where there are none, brings older ones up to date, and registers this process, in one transaction. Several
 * that open a store at once do it one after the other.
 */
export async function openTables(connections: Connections, opening: Opening): Promise<Opened> {
  const { location } = connections.place
  let session: Session | undefined
  try {
    session = await connections.open('commit')
    await opening.meet()
    const on = session
    const parts = { connections, mono: opening.mono, hide: opening.hide }
    return await patiently(on, parts, () => enter(on, connections, opening))
  } catch (error) {
    session?.drop()
    throw storeErrorOf(error, location)
  }
}

/** Where the tables are those of this program, nothing but the row of this process is written as a rule: others commit until then. */
async function enter(on: Session, connections: Connections, opening: Opening): Promise<Opened> {
  const { serverVersion, stored } = await lookAt(on, connections)
  if (stored === schemaVersion) {
    const entered = await join(on, { connections, opening, serverVersion })
    if (entered !== undefined) return entered
    await on.run('ROLLBACK')
  }
  return await enterWhole(on, { connections, opening, serverVersion })
}

interface Entering {
  readonly connections: Connections
  readonly opening: Opening
  readonly serverVersion: string
}

/** Before any lock is asked for. `stored`: the schema of the store that is there. */
async function lookAt(
  on: Session,
  { place }: Connections,
): Promise<{ readonly serverVersion: string; readonly stored: number | undefined }> {
  const { location, schema } = place
  const { rows } = await on.query(
    "SELECT current_setting('server_version_num')::bigint, current_setting('server_version'), current_setting('server_encoding'), to_regclass($1::text) IS NOT NULL",
    [`${schema}.head`],
  )
  const [number, serverVersion, encoding, isThere] = rows[0] as [number, string, string, number]
  if (number < oldestServer * 10_000)
    throw new StoreError(
      'store_schema',
      `${location}: this is PostgreSQL ${serverVersion}, and a store needs ${oldestServer} or later; upgrade the server`,
    )
  if (encoding !== 'UTF8')
    throw new StoreError(
      'store_schema',
      `${location}: this database keeps text as ${encoding}, and a store needs UTF8; make one with CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0`,
    )
  if (isThere === 0) return { serverVersion, stored: undefined }
  const heads = await on.query(`SELECT schema FROM ${schema}.head`)
  return { serverVersion, stored: heads.rows[0]?.[0] as number | undefined }
}

/** Begins a transaction, and waits for the others that open the store. It holds locks of all, so it runs as READ COMMITTED whatever the server's default is. */
function beginning({ beginning: [, ...settings], place }: Connections): readonly Statement[] {
  return [
    statement('BEGIN ISOLATION LEVEL READ COMMITTED'),
    ...settings,
    statement(`SET LOCAL lock_timeout TO ${openingPatienceMs}`),
    statement('SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))', [`ku0 ${place.schema}`]),
  ]
}

/** The lock of a row is a new one whenever somebody has changed that, so the wait for it has no end by itself. */
const limitedWait = statement(`SET LOCAL statement_timeout TO ${openingPatienceMs}`)

const timeText = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision'
const storeIdText =
  "SELECT value, (SELECT value FROM meta WHERE key = 'incarnations') FROM meta WHERE key = 'store_id'"
const nextProcessText = 'SELECT coalesce(max(id), 0) + 1 FROM process'

/** The answer to {@link storeIdText}. */
type Named = readonly [storeId: string, past: string | null]

/**
 * Comes into a store that needs nothing but the row of this process. What is read before the lock of `head` holds while the openers' lock is held,
 * but for what {@link standsText} asks again. Undefined where more is to be written.
 */
async function join(
  on: Session,
  { connections, opening, serverVersion }: Entering,
): Promise<Opened | undefined> {
  const { lines, states, at, show, isVirtual } = opening
  const begins = beginning(connections)
  const texts = [headText, storeIdText, timeText, lossText, configurationsText, nextProcessText]
  const found = await on.batch([...begins, ...texts.map((text) => question(text))])
  const [heads, named, told, losses, configurations, next] = found.slice(begins.length)
  const isNamed = named?.rows.length === 1
  const isLost = losses?.rows.length !== 0
  if (heads?.rows[0]?.[0] !== schemaVersion || !isNamed || isLost) return undefined
  const [storeId, past] = (named.rows[0] ?? []) as unknown as Named
  const rows = configurationRows(configurations?.rows ?? [])
  const verdict = states === undefined ? undefined : decideConfiguration(rows, states)
  if (verdict?.isNew === true) return undefined
  const toldAt = told?.rows[0]?.[0] as number
  const now = at(toldAt)
  const process = next?.rows[0]?.[0] as number
  const configuration = verdict?.id
  await show(process)
  const [, ...ended] = await on.batch([
    limitedWait,
    question(lockHeadText),
    statement(standsText, [configuration ?? null]),
    ...entry(opening, { process, now, configuration, toldAt: isVirtual ? undefined : toldAt }),
  ])
  const [, version, commit, hash, untold] = (ended[0]?.rows[0] ?? []) as unknown as HeadRow
  return {
    session: on,
    storeId,
    past: knownIncarnations(past ?? undefined, connections.place.location),
    process,
    remote: remoteOf(ended, lines),
    configuration,
    serverVersion,
    head: { version, number: commit, hash, untold },
    schema: schemaVersion,
    openedAt: now,
    loss: undefined,
  }
}

/** Ends the transaction if a loss was told meanwhile, or the settings that this process states are in force no more nor replaced by others: see {@link decideConfiguration}. */
const standsText = `SELECT must_stand((SELECT count(*) WHERE NOT EXISTS (${lossText})
  AND ($1::bigint IS NULL OR EXISTS (SELECT FROM process WHERE ended_at IS NULL AND configuration >= $1::bigint))))`

/** Makes what is missing, under the lock of all commits. */
async function enterWhole(on: Session, { connections, opening, serverVersion }: Entering): Promise<Opened> {
  const { location } = connections.place
  const { freshId, lines, acceptLoss, existing, states, at, show } = opening
  await on.batch([...beginning(connections), limitedWait])
  if (existing) await assertMade(on, connections.place)
  else await migrate(on, connections.place)
  const { rows } = await on.query(lockHeadText)
  const [stored, before, commit, hash, untold] = (rows[0] ?? []) as HeadRow
  const [, , , named, told, next] = await on.batch([
    unlimitedWork,
    statement(`SET LOCAL lock_timeout TO ${lockMs}`),
    statement("INSERT INTO meta VALUES ('store_id', $1::text) ON CONFLICT DO NOTHING", [freshId]),
    ...[storeIdText, timeText, nextProcessText].map((text) => question(text)),
  ])
  const [storeId, past] = (named?.rows[0] ?? []) as unknown as Named
  const now = at(told?.rows[0]?.[0] as number)
  const process = next?.rows[0]?.[0] as number
  const loss = await acceptLosses(on, location, { accepts: acceptLoss, at: now })
  const stated = states === undefined ? undefined : await state(on, states, now)
  await show(process)
  const entered = await on.batch(entry(opening, { process, now, configuration: stated?.id }))
  return {
    session: on,
    storeId,
    past: knownIncarnations(past ?? undefined, location),
    process,
    remote: remoteOf(entered, lines),
    configuration: stated?.id,
    serverVersion,
    head: { version: stated?.isNew === true ? before + 1 : before, number: commit, hash, untold },
    schema: stored,
    openedAt: now,
    loss,
  }
}

interface Registration {
  readonly process: number
  readonly now: number
  readonly configuration: number | undefined
  /** What time it was on the server when that was `now`: the wait for a lock since then counts, or the process would look silent as soon as it is there. */
  readonly toldAt?: number | undefined
}

/** The row of this process, and one for all processes on lines, whichever process of the store their lines lead to; and the commit. */
function entry({ identity, lines }: Opening, it: Registration): readonly Statement[] {
  const { process, now, configuration, toldAt } = it
  const { processId, host, bootId, pid } = identity
  return [
    statement(
      `INSERT INTO process SELECT $1::bigint, $2::text, $3::text, $4::text, $5::bigint, at, at, NULL, $6::bigint FROM ${entryAt('$7', '$8')}`,
      [process, processId, host, bootId, pid, configuration ?? null, now, toldAt ?? null],
    ),
    ...(lines
      ? [
          question(
            `INSERT INTO process SELECT coalesce((SELECT max(id) FROM process), 0) + 1, '${REMOTE}', '${REMOTE}', '', 0, at, at FROM ${entryAt('$1', '$2')}
             ON CONFLICT (process_id) DO UPDATE SET ended_at = NULL, last_seen_at = excluded.last_seen_at RETURNING id`,
            [now, toldAt ?? null],
          ),
        ]
      : []),
    statement('COMMIT'),
  ]
}

/** Where nothing was told, nothing was waited for. */
function entryAt(now: string, toldAt: string): string {
  return `(SELECT ${now}::bigint + floor(greatest(0, extract(epoch FROM clock_timestamp()) * 1000 - ${toldAt}::double precision))::bigint AS at) AS entry`
}

function remoteOf(entered: readonly Found[], lines: boolean): number | undefined {
  return lines ? (entered.at(-2)?.rows[0]?.[0] as number) : undefined
}

/** See `stateSettings` of a file. Others take new settings before they commit again. */
async function state(on: Session, settings: string, at: number): Promise<ConfigurationVerdict> {
  const { rows } = await on.query(configurationsText)
  const verdict = decideConfiguration(configurationRows(rows), settings)
  const { id, isNew, removed } = verdict
  if (!isNew) return verdict
  await on.batch([
    statement('DELETE FROM configuration WHERE id = ANY($1::bigint[])', [arrayParameter('bigint', removed)]),
    statement('INSERT INTO configuration VALUES ($1::bigint, $2::text, $3::bigint)', [id, settings, at]),
    raisedVersion,
  ])
  return verdict
}

function configurationRows(rows: Found['rows']): readonly ConfigurationRow[] {
  return (rows as readonly (readonly [number, string, number])[]).map(([id, settings, processes]) => ({
    id,
    settings,
    processes,
  }))
}
