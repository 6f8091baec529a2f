import { StoreError } from '@ku0/agent-runtime-core'
import type { Statement } from './batch.ts'
import type { Session } from './session.ts'
import { statement } from './write.ts'

/** The one row that every commit changes: who has locked it, or finds it as it was, commits next. */
export interface Head {
  /** Rises with every write. */
  readonly version: number
  /** Of the last commit in the journal. */
  readonly number: number
  readonly hash: Buffer
}

export const lockHeadText = 'SELECT schema, version, number, hash FROM head FOR UPDATE'

const stands = `schema = $1::bigint AND version = $2::bigint AND number = $3::bigint AND hash = $4::bytea`
const moveText = `WITH done AS (UPDATE head SET version = $5::bigint, number = $6::bigint, hash = $7::bytea, writer = $8::bigint WHERE ${stands} RETURNING 1)
  SELECT must_stand((SELECT count(*) FROM done))`
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
  ])
}

/** Ends the transaction if another process has committed. */
export function standingHead(schema: number, head: Head): Statement {
  return statement(standsText, [schema, head.version, head.number, head.hash])
}

/** The code of the error by which a transaction ends whose head another process has moved. */
export const headMoved = 'KU002'

/** A promoted standby may lack commits that were acknowledged here: the number of the last one tells. */
export function assertNothingLost(head: Head, last: Head, location: string): void {
  if (head.number > last.number || (head.number === last.number && head.hash.equals(last.hash))) return
  throw new StoreError(
    'store_data_loss',
    `${location} has lost commits: this process has seen commit ${last.number}, and the database ends with another commit ${head.number}; stop every process, and restore the server that has it`,
  )
}

/** Whose outcome is unknown: a commit on the way from one head to the next. */
export interface Outcome {
  readonly last: Head
  readonly next: Head
  readonly writer: number
  /** What a transaction begins with, besides. */
  readonly prelude: string
}

/**
 * Whether a commit is stored whose answer was lost. The server decides first: it holds the lock of `head` until it has committed or given up. Then
 * the journal tells. A commit that is not there may be done twice, as nobody was told of it; what is left of it on its way finds another version
 * when it arrives, and comes to nothing.
 */
export async function isStored(session: Session, { last, next, writer, prelude }: Outcome): Promise<boolean> {
  await session.run(`BEGIN; ${prelude}`)
  const { rows } = await session.query('SELECT version, writer FROM head FOR UPDATE')
  const found = await session.query('SELECT hash FROM journal WHERE number = $1::bigint', [next.number])
  const [version, wrote] = rows[0] as [number, number]
  const stored =
    next.number > last.number
      ? ((found.rows[0]?.[0] as Buffer | undefined)?.equals(next.hash) ?? false)
      : version === next.version && wrote === writer
  if (!stored) await session.query('UPDATE head SET version = version + 1')
  await session.run('COMMIT')
  return stored
}
