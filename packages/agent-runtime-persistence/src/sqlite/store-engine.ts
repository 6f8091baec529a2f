import { createIdCodec, type StoreInfo } from '@ku0/agent-runtime-core'
import { dataLossError, findDataLoss, type FoundLoss, recordLoss } from '../care/data-loss.ts'
import { Engine } from '../engine/engine.ts'
import type { EngineSetting } from '../engine/engine-setting.ts'
import { AnchorFile, bootWord } from './anchor.ts'
import { openLeaseClock } from './clock.ts'
import type { StoreDatabase } from './connection.ts'
import { SqliteDatabase } from './database.ts'
import { storeErrorOf } from './errors.ts'
import { isFull } from './full-disk.ts'
import {
  beginIncarnation,
  freshStoreId,
  incarnationsText,
  isMarkedCopy,
  knownIncarnations,
} from './incarnations.ts'
import type { Durability } from '../durability.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import { inTurn, openDatabase, type Db, type OpenedDatabase } from './open.ts'
import { Processes } from './processes.ts'
import { schemaVersion } from './schema.ts'

export interface EngineOptions extends EngineSetting {
  readonly path: string
  readonly durability: Durability
  /** Go on although commits are missing that the anchor names. */
  readonly acceptLoss: boolean
  /** Neither make it nor migrate it. */
  readonly existing?: boolean
  readonly identity: ProcessIdentity
  /** Whether workers of other machines come over lines. */
  readonly lines?: boolean
}

/** The engine of a store on SQLite, and its database: whatever an engine asks of it is answered at once. */
export interface StoreEngine {
  readonly engine: Engine
  readonly database: StoreDatabase
}

/** Opens the database, registers this process. Throws a StoreError; nothing is left open then. */
export function openStoreEngine(options: EngineOptions): StoreEngine {
  let loss: FoundLoss | undefined
  const opened = openDatabase(options.path, options.durability, {
    inspect: (path) => {
      loss = bearableLoss(path, options)
    },
    existing: options.existing === true,
  })
  const letGo: (() => void)[] = []
  try {
    return begin(options, opened, loss, letGo)
  } catch (error) {
    opened.db.close()
    for (const release of letGo) release()
    throw storeErrorOf(error, opened.path)
  }
}

/**
 * Closes the files without writing anything, as the death of its process would: the lock that proved its life can be had, and its leases
 * are as they were. For simulations, where one process plays many.
 */
export function die({ engine, database }: StoreEngine): void {
  engine.abandon()
  database.die()
}

/** `letGo` receives what the caller releases, in order, if this throws. */
function begin(
  options: EngineOptions,
  opened: OpenedDatabase,
  found: FoundLoss | undefined,
  letGo: (() => void)[],
): StoreEngine {
  const { db, path, durability } = opened
  const { chain, config, environment } = options
  const { storeId, past, now, processes } = enterInTurn(opened, options, found)
  letGo.push(() => processes.die())
  const loss = found?.loss
  if (loss !== undefined) beginLogAnew(db)
  const info: StoreInfo = {
    kind: opened.memory ? 'memory' : 'sqlite',
    location: path,
    storeId,
    processId: options.identity.processId,
    durability,
    schemaVersion,
    versions: {
      sqlite: db.prepare('SELECT sqlite_version()').pluck().get() as string,
      node: process.versions.node,
    },
    ...(loss === undefined ? {} : { acceptedLoss: loss }),
  }
  const database = new SqliteDatabase({
    opened,
    info,
    ids: createIdCodec(storeId, past),
    fenceFloor: past.at(-1)?.fenceFloor ?? 0,
    config,
    hashes: { chain, sha256Hex: (text) => environment.digest.sha256Hex(text) },
    processes,
    now,
  })
  const engine = new Engine(database, options)
  if (durability !== 'memory') {
    const boot = bootWord(options.identity.bootId)
    const anchor = new AnchorFile(path, { storeId, durability, boot }, loss !== undefined)
    letGo.push(() => anchor.close())
    database.fasten(anchor)
  }
  return { engine, database }
}

/** What a store may open without: nothing, unless that was accepted, now or by a durability that does not outlast a power loss. */
function bearableLoss(path: string, { acceptLoss, identity }: EngineOptions): FoundLoss | undefined {
  const found = findDataLoss(path)
  if (found === undefined) return undefined
  const { loss, anchor } = found
  const isOfTail = loss.kind === 'lost_tail' || loss.kind === 'damaged_log'
  const isExpected = isOfTail && anchor?.durability === 'normal' && anchor.boot !== bootWord(identity.bootId)
  if (!acceptLoss && !isExpected) throw dataLossError(path, loss)
  return found
}

/** What is lost is told once: behind its end the log would go on telling of it. Where there is no room it does. */
function beginLogAnew(db: Db): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (!isFull(error)) throw error
  }
}

/** One transaction. Where it is not committed, this process lets its lock go again. */
function enterInTurn(opened: OpenedDatabase, options: EngineOptions, found: FoundLoss | undefined) {
  let processes: Processes | undefined
  try {
    return inTurn(opened.db, () => {
      const entered = enter(opened, options, found)
      ;({ processes } = entered)
      return entered
    })
  } catch (error) {
    processes?.close()
    throw error
  }
}

/** Gives a new store its name, keeps a record of what was lost, and registers this process. In a transaction. */
function enter(opened: OpenedDatabase, options: EngineOptions, found: FoundLoss | undefined) {
  const { db, path, memory } = opened
  const { environment, identity, lines, states } = options
  const now = openLeaseClock(db, environment.clock, identity.bootId)
  const { at } = now()
  const fresh = freshStoreId(environment.ids)
  const incarnation = incarnationOf(opened, { fresh, at, lostBy: found?.storeId })
  if (found !== undefined) recordLoss(db, path, { ...found.loss, acceptedAt: at })
  const processes = new Processes(db, path, memory, { identity, now: at, lines, states })
  return { ...incarnation, now, processes }
}

interface IncarnationCase {
  /** The id of one that begins now. */
  readonly fresh: string
  readonly at: number
  /** Which one lost commits that its anchor tells of, and goes on without them. */
  readonly lostBy: string | undefined
}

/** The incarnation that is opened. A new one begins with a new store, a copy, and a loss; when several processes open it, with the first. */
function incarnationOf({ db, path }: OpenedDatabase, { fresh, at, lostBy }: IncarnationCase) {
  db.prepare("INSERT INTO meta (key, value) VALUES ('store_id', ?) ON CONFLICT DO NOTHING").run(fresh)
  const read = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck()
  if (isMarkedCopy(db) || read.get() === lostBy) beginIncarnation(db, fresh, at)
  return { storeId: read.get() as string, past: knownIncarnations(incarnationsText(db), path) }
}
