// oxlint-disable-next-line house/database-files -- names of files that nothing has open
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
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
import Database from 'better-sqlite3'
import { isPostgresUrl, parsePostgresUrl } from '../postgres/connection/url.ts'
import { parseStoreUrl } from '../store-url.ts'
import { readAnchor } from '../sqlite/anchor.ts'
import { lossIn, dataLossError } from './data-loss.ts'
import { lostCommits, readLoss } from './loss-records.ts'
import { lossTold } from '../postgres/care/lost-commits.ts'
import { storeErrorOf } from '../sqlite/errors.ts'
import { markCopy } from '../sqlite/incarnations.ts'
import { assertNameKept } from '../sqlite/open.ts'
import { openForReading } from '../sqlite/reading.ts'
import { nextTurn, systemEnvironment } from '../system.ts'
import type { Verification } from './verify/verification.ts'
import { verifyFile } from './verify-store.ts'

/** A backup that was made and verified. */
export interface Backup {
  /** The absolute path of the copy. */
  readonly path: string
  readonly bytes: number
  readonly storeId: string
  /** The last commit that is in it, and when that was made; 0 and null for a store without any. */
  readonly commit: number
  readonly at: number | null
  readonly tasks: number
  readonly events: number
}

export interface BackupOptions {
  /** Called after each slice with the pages copied and the pages in all; from PostgreSQL with rows, and 0 for those in all. An error that it throws ends the backup, which rejects with it. */
  readonly onProgress?: (copied: number, pages: number) => void
  /** Ends it early: nothing is left of the copy, and it rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

const backupRules: Rules<BackupOptions> = { onProgress: functionRule, signal: signalRule }

/** See `backupStore`. */
export async function backup(url: string, target: string, options: BackupOptions = {}): Promise<Backup> {
  assertOptions('backupStore', options, backupRules)
  const { onProgress, signal } = options
  if (typeof target !== 'string' || target === '' || target.includes('\0') || !target.isWellFormed())
    throw invalid(`backupStore target: the path of a new file; given ${show(target)}`)
  const path = resolve(target)
  assertNameKept(path)
  assertFree(path)
  if (isPostgresUrl(url)) return backupServer(url, path, options)
  const { db, path: source } = openForReading(parseStoreUrl(url))
  const anchor = readAnchor(source)
  const partial = join(dirname(path), `backup-${systemEnvironment().ids.uuid()}.partial`)
  let theirs: { readonly error: unknown } | undefined
  const tell = (copied: number, pages: number) => {
    try {
      signal?.throwIfAborted()
      onProgress?.(copied, pages)
    } catch (error) {
      theirs = { error }
      throw error
    }
  }
  try {
    // What is read first is what is copied: the snapshot stays, whoever commits meanwhile.
    db.exec('BEGIN')
    const loss = lossIn(db, source, anchor)
    if (loss !== undefined) throw dataLossError(source, loss)
    db.prepare('SELECT count(*) FROM meta').get()
    // It is nobody else's while it is made, either, nor what a crash leaves of it.
    closeSync(openSync(partial, 'wx', 0o600))
    await db.backup(partial, {
      progress: ({ totalPages, remainingPages }) => {
        tell(totalPages - remainingPages, totalPages)
        return slicePages
      },
    })
    db.exec('COMMIT')
    finish(partial)
    chmodSync(partial, statSync(source).mode & 0o777)
    await nextTurn()
    return await verified({ partial, path, source, signal })
  } catch (error) {
    if (signal?.aborted === true || theirs?.error === error) throw error
    throw storeErrorOf(error, source)
  } finally {
    db.close()
    remove(partial)
  }
}

/** The rows of a store on PostgreSQL, as they are at one moment, in a file that can be opened as a store. */
async function backupServer(
  url: string,
  path: string,
  { onProgress, signal }: BackupOptions,
): Promise<Backup> {
  const partial = join(dirname(path), `backup-${systemEnvironment().ids.uuid()}.partial`)
  const { copyToFile } = await import('../postgres/care/copy.ts')
  try {
    closeSync(openSync(partial, 'wx', 0o600))
    const { location } = parsePostgresUrl(url)
    await copyToFile(url, partial, { signal, onProgress: (rows) => onProgress?.(rows, 0) })
    assertNothingTold(partial, location)
    finish(partial)
    return await verified({ partial, path, source: location, signal })
  } finally {
    remove(partial)
  }
}

/** A store that lacks commits is not copied, as a file is not that is behind its anchor. */
function assertNothingTold(partial: string, location: string): void {
  const { db } = openForReading(partial)
  try {
    const text = db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck().get(lostCommits)
    const loss = text === undefined ? undefined : readLoss(text)
    if (loss !== undefined) throw lossTold(location, loss)
  } finally {
    db.close()
  }
}

/** Gives a copy its name if it verifies. */
async function verified({
  partial,
  path,
  source,
  signal,
}: {
  readonly partial: string
  readonly path: string
  readonly source: string
  readonly signal: AbortSignal | undefined
}): Promise<Backup> {
  const found = await verifyFile(partial, { maxFaults: 1, ...(signal === undefined ? {} : { signal }) })
  if (!found.ok) throw notGood(source, found)
  const { size: bytes } = statSync(partial)
  publish(partial, path)
  const { storeId, tasks, events, lastGood } = found
  return { path, bytes, storeId, commit: lastGood.commit, at: lastGood.at, tasks, events }
}

function remove(partial: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(partial + suffix, { force: true })
}

function assertFree(path: string): void {
  const folder = dirname(path)
  try {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new StoreError('store_folder_missing', `${folder} does not exist; create the folder`)
    for (const name of [path, `${path}-wal`, `${path}-anchor`])
      if (lstatSync(name, { throwIfNoEntry: false }) !== undefined)
        throw new RuntimeError('already_exists', `${name} exists; a backup never replaces a file`)
  } catch (error) {
    throw storeErrorOf(error, path)
  }
}

/** Marked as a copy. Without a log of its own it can be read where nothing may be written. Whoever opens it as a store gives it one. */
function finish(path: string): void {
  const copy = new Database(path)
  try {
    markCopy(copy)
    copy.pragma('journal_mode = DELETE')
  } finally {
    copy.close()
  }
}

/** Under its name, whole, and only if nothing has that name by now. */
function publish(partial: string, path: string): void {
  try {
    linkSync(partial, path)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EEXIST')
      throw new RuntimeError('already_exists', `${path} exists; a backup never replaces a file`)
    // A file system without links.
    if (existsSync(path)) throw error
    renameSync(partial, path)
  }
}

function notGood(source: string, { faults: [first], faultCount, lastGood }: Verification): StoreError {
  return new StoreError(
    'store_corrupt',
    `${source} is damaged, and its copy would be too: ${first?.where ?? ''}: expected ${first?.expected ?? ''}, found ${first?.actual ?? ''}${faultCount > 1 ? `, and ${faultCount - 1} more faults` : ''}; run verify to list the faults; the last good commit is ${lastGood.commit}`,
    { details: { faultCount, lastGood } },
  )
}

const slicePages = 512
