import {
  assertOptions,
  functionRule,
  invalid,
  RuntimeError,
  type Rules,
  show,
  signalRule,
  StoreError,
} from '@ku0/agent-runtime-core'
import { openStore } from '../open-store.ts'
import { isPostgresUrl, parsePostgresUrl } from '../postgres/connection/url.ts'
import { isMarkedCopy } from '../sqlite/incarnations.ts'
import type { Db } from '../sqlite/open.ts'
import { livesBy } from '../sqlite/processes.ts'
import { openForReading } from '../sqlite/reading.ts'
import { parseStoreUrl } from '../store-url.ts'
import { verify, verifyFile } from './verify-store.ts'

/** A store that was imported and verified. */
export interface Imported {
  readonly storeId: string
  /** The last commit that is in it, and when that was made; 0 and null for a store without any. */
  readonly commit: number
  readonly at: number | null
  readonly tasks: number
  readonly events: number
  /** The file was a backup: its tasks go on in a new incarnation of the store, and what came after the backup is not there. */
  readonly restored: boolean
}

export interface ImportOptions {
  /** Called after each slice with the rows that are imported so far. */
  readonly onProgress?: (rows: number) => void
  /** Ends it early: the target stays empty, and it rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

const importRules: Rules<ImportOptions> = { onProgress: functionRule, signal: signalRule }

/** See `importStore`. */
export async function importFile(from: string, to: string, options: ImportOptions = {}): Promise<Imported> {
  assertOptions('importStore', options, importRules)
  if (!isPostgresUrl(to))
    throw invalid(
      `importStore target: the URL of an empty store on PostgreSQL, postgres://HOST/DATABASE?schema=NAME; given ${show(to)}. A file is copied with backupStore`,
    )
  parsePostgresUrl(to)
  const { db, path } = openForReading(parseStoreUrl(from))
  let restored: boolean
  try {
    // All reads are of one moment.
    db.exec('BEGIN')
    assertUnused(db, path)
    restored = isMarkedCopy(db)
    const { signal } = options
    const found = await verifyFile(path, { maxFaults: 1, ...(signal === undefined ? {} : { signal }) })
    const [fault] = found.faults
    if (fault !== undefined)
      throw new StoreError(
        'store_corrupt',
        `${path} is damaged, and nothing was imported: ${fault.where} should be ${fault.expected} and is ${fault.actual}; run verify to list the faults`,
      )
    // Makes the tables.
    await (await openStore(to)).close()
    const { fillFromFile } = await import('../postgres/care/import.ts')
    await fillFromFile(db, to, options)
  } finally {
    db.close()
  }
  const { ok, faults, storeId, lastGood, tasks, events } = await verify(to, { maxFaults: 1 })
  if (!ok)
    throw new StoreError(
      'store_corrupt',
      `the import does not verify: ${faults[0]?.where ?? ''} should be ${faults[0]?.expected ?? ''} and is ${faults[0]?.actual ?? ''}; drop its schema, and go on with ${path}`,
    )
  return { storeId, commit: lastGood.commit, at: lastGood.at, tasks, events, restored }
}

/** The tasks go on under the same ids and fencing tokens, unless it is a backup. So nobody may go on with the file. */
function assertUnused(db: Db, path: string): void {
  const alive = db
    .prepare<[], { process_id: string; pid: number }>(
      'SELECT process_id, pid FROM process WHERE ended_at IS NULL',
    )
    .all()
    .filter(({ process_id }) => livesBy(path, process_id) === true)
  if (alive.length > 0)
    throw new RuntimeError(
      'already_exists',
      `${path} is in use by ${alive.map(({ pid }) => `process ${pid}`).join(', ')}; stop them, and do not start them on the file again`,
    )
}
