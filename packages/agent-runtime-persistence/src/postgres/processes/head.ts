import { StoreError } from '@ku0/agent-runtime-core'
import { type Found, type Statement, statement } from '../connection/statement.ts'
import type { Connections } from '../connection/connections.ts'
import type { Session } from '../connection/session.ts'

/** The one row that every commit changes: who has locked it, or finds it as it was, commits next. */
export interface Head {
  /** Rises with every write. */
  readonly version: number
  /** The hash and number of the last commit in the journal. */
  readonly number: number
  readonly hash: Buffer
  /** The version of the last commit that changed rows which other processes keep, and that its events do not name. */
  readonly untold: number
}

/** What stands there: see {@link HeadRow}. */
export const headText = 'SELECT schema, version, number, hash, untold, oldest FROM head'

/** The same with the lock. */
export const lockHeadText = `${headText} FOR UPDATE`

export type HeadRow = readonly [
  schema: number,
  version: number,
  number: number,
  hash: Buffer,
  untold: number,
  /** The oldest schema whose programs may use the store. */
  oldest: number,
]

const stands = `schema = $1::bigint AND version = $2::bigint AND number = $3::bigint AND hash = $4::bytea`
/**
 * The writes that follow in the transaction find their rows by their keys, however many are given. Else the planner may join those with the whole
 * table, and keep a plan that does so since the table was small. Source: `docs/decisions/0095-rows-are-found-by-their-keys.md`.
 */
const byKey = [
  ['plan_cache_mode', 'force_generic_plan'],
  ...['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_material', 'jit'].map(
    (name) => [name, 'off'] as const,
  ),
].map(([name, value]) => `set_config('${name}', '${value}', true)`)
const moveText = `WITH done AS (UPDATE head SET version = $5::bigint, number = $6::bigint, hash = $7::bytea, writer = $8::bigint, untold = $9::bigint WHERE ${stands} RETURNING 1)
  SELECT must_stand((SELECT count(*) FROM done)), ${byKey.join(', ')}`
const standsText = `SELECT must_stand((SELECT count(*) FROM head WHERE ${stands}))`

/** Takes the lock and moves the head on; it ends the transaction if another process has committed. */
export function movedHead(schema: number, from: Head, to: Head, writer: number): Statement {
  return statement(moveText, [
    schema,
    from.version,
    from.number,
    from.hash,
    to.version,
    to.number,
    to.hash,
    writer,
    to.untold,
  ])
}

/** Ends the transaction if another process has committed. */
export function standingHead(schema: number, head: Head): Statement {
  return statement(standsText, [schema, head.version, head.number, head.hash])
}

/** Others look at the store anew: what they had decided comes to nothing. Nobody may take the new version for that of a commit of its own. */
export const raisedVersion: Statement = statement('UPDATE head SET version = version + 1, writer = 0')

/** What a process asks on a new connection, perhaps of another server: the hash of the last commit that it has seen, and whether its own row is there. */
export const seenText = `SELECT (SELECT hash FROM journal WHERE number = $1::bigint), EXISTS (SELECT FROM process WHERE id = $2::bigint AND process_id = $3::text)`

/**
 * What a promoted standby may lack that was acknowledged here: the number of the last commit tells. Where others have committed since, its place
 * in the journal tells, unless it was pruned, and the row of this process. `seen`: the answer to {@link seenText}, on a new connection.
 */
export function lostOf(
  head: Head,
  last: Head,
  seen: Found | undefined,
): 'lost_tail' | 'other_history' | 'process' | undefined {
  const [hash, isKnown] = (seen?.rows[0] ?? []) as [hash?: Buffer | null, isKnown?: number]
  const stored = head.number === last.number ? head.hash : (hash ?? last.hash)
  if (head.number < last.number) return 'lost_tail'
  if (!stored.equals(last.hash)) return 'other_history'
  return isKnown === 0 ? 'process' : undefined
}

/** Of a process that has seen what is missing: it stops. */
export function lossSeen(head: Head, last: Head, location: string): StoreError {
  return new StoreError(
    'store_data_loss',
    `${location} has lost commits: this process is registered and has seen commit ${last.number}, and the database, which ends with commit ${head.number}, lacks that; stop every process, and restore the server that has it, or open the store once with acceptLoss: true to continue with what is left`,
  )
}

/** Commits whose outcome is unknown: from the last head that stands to each of those that follow it. */
export interface Outcome {
  readonly last: Head
  readonly heads: readonly Head[]
  readonly writer: number
  readonly connections: Pick<Connections, 'place' | 'prelude'>
}

/**
 * How many of the commits are stored whose answers were lost, counted from the first. The server decides first: it holds the lock of `head` until
 * it has committed or given up. Then the journal tells. What is not there may be done twice, as nobody was told of it; what is left of it on its
 * way finds another version when it arrives, and comes to nothing. Throws where retention has cut the journal there meanwhile, so that nobody can tell.
 */
export async function storedOf(
  session: Session,
  { last, heads, writer, connections: { place, prelude } }: Outcome,
): Promise<number> {
  await session.run(`BEGIN; ${prelude}`)
  const { rows } = await session.query('SELECT version, writer FROM head FOR UPDATE')
  const [version, wrote] = rows[0] as [number, number]
  const journal = await session.query('SELECT number, hash FROM journal WHERE number > $1::bigint', [
    last.number,
  ])
  const hashes = new Map(journal.rows.map(([number, hash]) => [number as number, hash as Buffer]))
  const { rows: bases } = await session.query("SELECT value FROM meta WHERE key = 'journal_base'")
  // The last row that retention has cut.
  const [base = '0', hash = ''] = String(bases[0]?.[0]).split(':')
  hashes.set(Number(base), Buffer.from(hash, 'hex'))
  const isStored = (head: Head, before: Head) =>
    head.number > before.number
      ? (hashes.get(head.number)?.equals(head.hash) ?? false)
      : version === head.version && wrote === writer
  // Each builds on the one before it: with the last that is stored all before it are.
  const stored = heads.findLastIndex((head, at) => isStored(head, heads[at - 1] ?? last)) + 1
  const missing = heads[stored]
  if (missing !== undefined && missing.number > last.number && missing.number < Number(base))
    throw cutPast(missing, place.location)
  if (missing !== undefined) await session.batch([raisedVersion])
  await session.run('COMMIT')
  return stored
}

function cutPast({ number }: Head, location: string): StoreError {
  return new StoreError(
    'store_outcome_unknown',
    `${location}: the connection was lost during commit ${number}, and retention has cut the journal there since, so nobody can tell whether that is stored; start the process again, and repeat the calls with their keys or request ids`,
  )
}
