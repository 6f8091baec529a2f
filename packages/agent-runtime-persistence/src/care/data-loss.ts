import { statSync } from 'node:fs'
import { type AcceptedLoss, type DataLoss, StoreError } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import { anchorPath } from '../anchor-path.ts'
import { type Anchor, readAnchor } from '../sqlite/anchor.ts'
import { pastIncarnations } from '../sqlite/incarnations.ts'
import { damageIn, type LogDamage } from '../sqlite/log-damage.ts'
import { assertOurs, type Db } from '../sqlite/open.ts'
import { isInUse } from '../sqlite/processes.ts'
import { type LossRecords, readLosses, withLoss } from './loss-records.ts'

/** What is missing, and of which store. */
export interface FoundLoss {
  readonly loss: DataLoss
  readonly storeId: string
  /** The anchor beside it, where there is one. */
  readonly anchor: Anchor | undefined
}

/**
 * Compares a database with its anchor and with its log before anything is written to it; undefined when all is there. On a connection that
 * cannot write: one that can would, when it is closed, copy what is left of a damaged log and delete the rest. What processes that live
 * have opened was whole then, and their log is not gone through again.
 */
export function findDataLoss(path: string): FoundLoss | undefined {
  // First, since the store may be in use: the journal is never behind what was an anchor before.
  const anchor = readAnchor(path)
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    const loss = anchor && nothingLeft(anchor)
    return anchor && loss && { loss, anchor, storeId: anchor.storeId }
  }
  const damage = isInUse(path) ? undefined : damageIn(path)
  if (anchor === undefined && damage === undefined) return undefined
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 10_000 })
  try {
    assertOurs(db, path)
    return db.transaction(() => {
      const byAnchor = anchor && compareWithAnchor(db, anchor)
      if (anchor && byAnchor) return { loss: byAnchor, anchor, storeId: anchor.storeId }
      return damage && { loss: lossBehind(db, damage), anchor, storeId: storeIdOf(db) ?? '' }
    })()
  } finally {
    db.close()
  }
}

/** The same of a database that is open. Call it in a transaction that began after the anchor was read. */
export function lossIn(db: Db, path: string, anchor: Anchor | undefined): DataLoss | undefined {
  const byAnchor = anchor && compareWithAnchor(db, anchor)
  if (byAnchor !== undefined) return byAnchor
  const damage = damageIn(path)
  return damage && lossBehind(db, damage)
}

/** How many of the transactions were commits of the journal can only be guessed: most are. */
function lossBehind(db: Db, { commits }: LogDamage): DataLoss {
  const end = isMade(db) ? journalEnd(db) : { lastGood: 0, lastGoodAt: null }
  return { kind: 'damaged_log', anchored: end.lastGood + commits, ...end }
}

/** Whether it has its tables. */
function isMade(db: Db): boolean {
  return db.pragma('user_version', { simple: true }) !== 0
}

function storeIdOf(db: Db): string | undefined {
  if (!isMade(db)) return undefined
  return db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck().get()
}

function journalEnd(db: Db): Pick<DataLoss, 'lastGood' | 'lastGoodAt'> {
  const last = db.prepare<[], JournalEnd>('SELECT number, at FROM journal ORDER BY number DESC LIMIT 1').get()
  return { lastGood: last?.number ?? 0, lastGoodAt: last?.at ?? null }
}

/** Before its first commit a store had nothing that could be lost. */
function nothingLeft({ commit: anchored }: Anchor): DataLoss | undefined {
  return anchored > 0 ? { kind: 'other_store', anchored, lastGood: 0, lastGoodAt: null } : undefined
}

function compareWithAnchor(db: Db, anchor: Anchor): DataLoss | undefined {
  const { commit: anchored } = anchor
  if (!isMade(db)) return nothingLeft(anchor)
  const end = journalEnd(db)
  // That of the one before is the store's own: a crash came after the new one had begun, and before its anchor.
  const own = [storeIdOf(db), ...(pastIncarnations(db) ?? []).map((it) => it.storeId)]
  if (!own.includes(anchor.storeId)) return nothingLeft(anchor)
  if (end.lastGood < anchored) return { kind: 'lost_tail', anchored, ...end }
  const hash = db.prepare<[number], Buffer>('SELECT hash FROM journal WHERE number = ?').pluck().get(anchored)
  if (hash === undefined || hash.toString('hex') === anchor.hash) return undefined
  const before = db
    .prepare<[number], JournalEnd>(
      'SELECT number, at FROM journal WHERE number < ? ORDER BY number DESC LIMIT 1',
    )
    .get(anchored)
  return {
    kind: 'other_history',
    anchored,
    lastGood: before?.number ?? 0,
    lastGoodAt: before?.at ?? null,
  }
}

/** Losses that somebody has decided to live with, oldest first, and what is wrong with their records. */
export function acceptedLosses(db: Db): LossRecords {
  return readLosses(acceptedText(db))
}

function acceptedText(db: Db): string | undefined {
  return db.prepare<[], string>("SELECT value FROM meta WHERE key = 'accepted_losses'").pluck().get()
}

/**
 * Keeps a record of what was accepted: the store goes on as if nothing were missing. Throws `store_corrupt` where earlier records cannot be
 * read: they would be gone. Called in a transaction.
 */
export function recordLoss(db: Db, path: string, loss: AcceptedLoss): void {
  db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('accepted_losses', ?)").run(
    withLoss(acceptedText(db), path, loss),
  )
}

/** The error of a store that is not opened for what it lacks. */
export function dataLossError(path: string, loss: DataLoss): StoreError {
  return new StoreError(
    'store_data_loss',
    `${describeLoss(path, loss)}. Keep a copy of its files and restore a backup; or open it once with acceptLoss: true to continue with what is left`,
    { details: { ...loss, path } },
  )
}

/** One sentence without its end. */
export function describeLoss(path: string, { kind, anchored, lastGood, lastGoodAt }: DataLoss): string {
  const good = lastGoodAt === null ? 'nothing' : `commit ${lastGood} of ${new Date(lastGoodAt).toISOString()}`
  const told = `${anchorPath(path)} records commit ${anchored}`
  switch (kind) {
    case 'lost_tail':
      return `${path} has lost its last commits: it ends with ${good}, and ${told}`
    case 'other_history':
      return `${path} is not what was written: its commit ${anchored} differs from the one that ${anchorPath(path)} records; the last good one is ${good}`
    case 'damaged_log':
      return `${path}-wal is damaged: the store ends with ${good}, and ${anchored - lastGood} transactions after the damage are lost`
    case 'other_store':
      return `${path} is not the store that was here before: it is empty or another store, and ${told}. If you removed or replaced it on purpose, remove ${anchorPath(path)} as well`
  }
}

interface JournalEnd {
  readonly number: number
  readonly at: number
}
