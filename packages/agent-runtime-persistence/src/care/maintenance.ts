import { assertOptions, flagRule } from '@ku0/agent-runtime-core'
import type { Backup, BackupOptions } from './backup-store.ts'
import type { Imported, ImportOptions } from './import-store.ts'
import type { InspectOptions, Inspection } from './inspect-store.ts'
import type { ServerReport } from '../postgres/care/probe.ts'
import type { Verification, VerifyOptions } from './verify/verification.ts'

// Each is loaded when it is first called: a program that runs tasks starts without them, and without the database's driver, which its store's thread loads.

/**
 * Verifies the store at a URL: pages and indexes, every task's events against their hash chain and every row against what the events make of
 * it, sums against counts, the journal against its own chain, and its end against the anchor. Changes nothing, and may be used while other
 * processes, and this one, write to the store: it reads on its own connection, in slices of some 20 ms, between which the event loop runs.
 * The faults are data, also of a file of which so much is cut or damaged that it cannot be opened, and `remedy` says what to do. It rejects with a StoreError for a file that is none of a store, or (`store_read_only`) when nobody has it open and
 * the files that SQLite leaves beside it would lock its owner out, and with `not_found` when there is none.
 * Source: `docs/operating.md`, Verify.
 */
export async function verifyStore(url: string, options: VerifyOptions = {}): Promise<Verification> {
  if (options.thread === true) {
    const { verifyInThread } = await import('../line/care-line.ts')
    return verifyInThread(url, options)
  }
  const { verify } = await import('./verify-store.ts')
  return verify(url, options)
}

/**
 * Copies the store at a URL, a file or PostgreSQL, into a new file, as it is at one moment, while this and other processes go on writing to it; then verifies the
 * copy, and only then gives it its name. Slices of 2 MiB, between which the event loop runs. Rejects with `already_exists` when there is such a
 * file, with `invalid_argument` when its name ends in white space, with `store_corrupt` when the copy does not verify, with `store_data_loss` when the store is behind its anchor, and as `verifyStore` does; nothing is left behind then. Source: `docs/operating.md`,
 * Backup.
 */
export async function backupStore(url: string, target: string, options: BackupOptions = {}): Promise<Backup> {
  const { backup } = await import('./backup-store.ts')
  return backup(url, target, options)
}

/**
 * Moves the store of a file to PostgreSQL: all rows, with their ids, events and hashes, into an empty store, in one transaction; then verifies it. Stop the processes
 * on the file first, and do not go on with it afterwards. A backup is restored there: as a new incarnation of its store, which gives out no id again. Rejects with `already_exists` if a process has the file or the target open or the target is not empty, with `store_corrupt` if the file does not verify, and as `verifyStore` does; the target stays empty then. Source: `docs/postgresql.md`.
 */
export async function importStore(file: string, url: string, options: ImportOptions = {}): Promise<Imported> {
  const { importFile } = await import('./import-store.ts')
  return importFile(file, url, options)
}

/**
 * Looks at a store and its surroundings: real durability settings, versions, file modes, sizes, the clock, processes, the anchor. Writes nothing to
 * the store, and may be used while it is in use; it tries the settings in a scratch database. Rejects as `verifyStore` does. Source:
 * `docs/operating.md`, Doctor.
 */
export async function inspectStore(url: string, options: InspectOptions = {}): Promise<Inspection> {
  assertOptions('inspectStore', options, { thread: flagRule })
  if (options.thread === true) {
    const { inspectInThread } = await import('../line/care-line.ts')
    return inspectInThread(url)
  }
  const { inspect } = await import('./inspect-store.ts')
  return inspect(url)
}

/**
 * Tries a PostgreSQL server, or one that calls itself compatible, for all that a store at this URL needs: version, rights, durability, clock, sessions, locks, notices, isolation, and, if the
 * role may make a schema, tasks from end to end in a schema of its own, which is dropped again. Writes nothing else, and may be used while the store is in use. The findings are data; it rejects with a
 * StoreError when the server cannot be reached, and with `invalid_argument` for a URL that is not of PostgreSQL. Source: `docs/postgresql-scale.md`.
 */
export async function probeServer(url: string): Promise<ServerReport> {
  const { probe } = await import('../postgres/care/probe.ts')
  return probe(url)
}
