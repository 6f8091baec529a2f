import {
  StoreError,
  type ExecutionConfig,
  type IdCodec,
  type Read,
  type StoredEvent,
  type StoreInfo,
} from '@ku0/agent-runtime-core'
import type { Duties, Instant, Loaded, Wanted, WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Database, DutiesWanted, Kept, KeptWanted, LocalCounts, LockWait } from '../engine/database.ts'
import { prepareReads } from '../views/reads.ts'
import type { AnchorFile } from './anchor.ts'
import type { Connection, StoreDatabase } from './connection.ts'
import { Earliest } from './earliest.ts'
import { isBusy, isFatal, storeErrorOf } from './errors.ts'
import { isFull } from './full-disk.ts'
import { prepareKeep } from './keep.ts'
import { prepareWanted } from './wanted.ts'
import { assertKnown } from '../migration.ts'
import { schemaVersion } from './schema.ts'
import { assertSameFile, inTurn, pause, schemaOf, waitForLocks, type OpenedDatabase } from './open.ts'
import type { Hashes } from './integrity.ts'
import { LockPace } from './lock-pace.ts'
import type { Processes } from './processes.ts'
import { Statements } from './statements.ts'
import { SqliteTables } from './tables.ts'

export interface SqliteParts {
  readonly opened: OpenedDatabase
  readonly info: StoreInfo
  readonly ids: IdCodec
  readonly fenceFloor: number
  readonly config: ExecutionConfig
  readonly hashes: Hashes
  readonly processes: Processes
  readonly now: () => Instant
}

/** The engine's database on SQLite: one connection, one thread; every answer is there at once. */
export class SqliteDatabase implements Database, StoreDatabase {
  readonly info: StoreInfo
  readonly ids: IdCodec
  readonly fenceFloor: number
  readonly now: () => Instant
  readonly pollMs = 10
  /** Whether the commits of others are reported, so that an idle process may look for them less often. */
  isHeard = false
  /** Other processes that have the store open, as of the last look. */
  others = 0
  gone: readonly number[] = []
  private readonly opened: OpenedDatabase
  private config: ExecutionConfig
  private readonly tables: SqliteTables
  private readonly processes: Processes
  private readonly pace = new LockPace()
  private readonly answer
  private readonly wanted
  private readonly kept
  private readonly beginNow
  private readonly beginLook
  private readonly commitNow
  private readonly rollbackNow
  /** Of a store in memory there is none. */
  private anchor: AnchorFile | undefined
  private seenVersion: number
  /** The schema of the file up to which it is known to fit this program. */
  private knownSchema = schemaVersion
  private counts: LocalCounts = { staleWrites: 0, commits: 0, repeatedFlushes: 0 }
  private careAt = 0
  /** When the log last grew, until it has been copied into the database file. */
  private wroteAt: number | undefined
  /** The commit has a row in the journal, that the anchor is to be told of. */
  private isTold = false
  /** Of delayed and waiting tasks, asked for after each commit, and of leases that run out, asked for at each tick. */
  private readonly dueTasks = new Earliest()
  private readonly lapses = new Earliest()

  constructor({ opened, info, ids, fenceFloor, config, hashes, processes, now }: SqliteParts) {
    this.opened = opened
    this.info = info
    this.ids = ids
    this.fenceFloor = fenceFloor
    this.config = config
    this.processes = processes
    this.now = now
    const { db } = opened
    const statements = new Statements(db)
    const inForce = () => this.config
    this.tables = new SqliteTables(statements, ids, hashes)
    this.wanted = prepareWanted(this.tables)
    this.kept = prepareKeep(this.tables, processes.owners)
    this.answer = prepareReads({
      db: statements,
      tables: this.tables,
      get config() {
        return inForce()
      },
      now,
      processId: (process) => processes.processId(process),
      local: () => this.counts,
    })
    this.beginNow = db.prepare('BEGIN IMMEDIATE')
    this.beginLook = db.prepare('BEGIN')
    this.commitNow = db.prepare('COMMIT')
    this.rollbackNow = db.prepare('ROLLBACK')
    waitForLocks(db, 0)
    this.seenVersion = this.tables.load.dataVersion()
  }

  /** From now on the anchor is told of each commit. */
  fasten(anchor: AnchorFile): void {
    anchor.write(this.tables.last)
    anchor.catchUp()
    this.anchor = anchor
  }

  get process(): number {
    return this.processes.own
  }

  get remote(): number | undefined {
    return this.processes.remote
  }

  get configuration(): number | undefined {
    return this.processes.configuration
  }

  configured(config: ExecutionConfig): void {
    this.config = config
  }

  configurationWithout(gone: readonly number[]): number | undefined {
    return this.tables.load.configurations.lastWithout(gone)
  }

  settings(row: number): string {
    return this.tables.load.configurations.text(row)
  }

  get fairnessMs(): number {
    return this.others > 0 ? this.pace.restMs : 0
  }

  get lastCommit(): number {
    return this.tables.last.number
  }

  /** Whether another process has committed since this one has read last. */
  get hasForeignCommit(): boolean {
    return this.tables.load.dataVersion() !== this.seenVersion
  }

  /** The same, or that cannot be had: the look that follows meets the same, where it is dealt with. */
  get mayHaveForeignCommit(): boolean {
    try {
      return this.hasForeignCommit
    } catch {
      return true
    }
  }

  /** It looks at each commit. */
  looksAtMissed(): boolean {
    return false
  }

  /** Also: is the file still the one that was opened, and who has died or come? */
  look(mono: number): boolean {
    const { processes } = this
    const hasChanged = this.hasForeignCommit
    if (mono >= this.careAt) {
      this.careAt = mono + careMs
      assertSameFile(this.opened)
      this.others = processes.count()
      this.gone = processes.gone(this.now().at, this.config.presenceTtlMs)
    }
    this.anchor?.care(mono)
    if (this.wroteAt !== undefined && mono - this.wroteAt > idleMs) {
      this.wroteAt = undefined
      this.copyLog()
    }
    return hasChanged
  }

  /** What the database file has no room for stays in the log, where it is safe. The next commit shows that it is worth another try. */
  private copyLog(): void {
    try {
      this.opened.db.pragma('wal_checkpoint(PASSIVE)')
    } catch (error) {
      if (!isFull(error)) throw error
    }
  }

  nextAt(what: 'task' | 'lease' | 'schedule' | 'budget'): number | undefined {
    const { load } = this.tables
    switch (what) {
      case 'task':
        return this.dueTasks.learn(load.nextDue())
      case 'lease':
        return this.lapses.learn(load.nextExpiry())
      case 'schedule':
        return load.nextSchedule()
      case 'budget':
        return load.nextBudget()
    }
  }

  get restPollMs(): number {
    return this.isHeard ? heardPollMs : this.pollMs
  }

  begin(): boolean {
    try {
      this.beginNow.run()
    } catch (error) {
      if (!isBusy(error)) throw error
      return false
    }
    this.pace.granted()
    return true
  }

  /** What a look reads is all of the moment of its first question. */
  beginReading(): boolean {
    this.beginLook.run()
    try {
      this.tables.load.dataVersion()
      return true
    } catch (error) {
      this.rollback()
      if (!isBusy(error)) throw error
      return false
    }
  }

  retryMs(wait: LockWait): number {
    return this.pace.refused(wait)
  }

  hasForeignChanges(): boolean {
    this.anchor?.catchUp()
    assertSameFile(this.opened)
    const version = this.tables.load.dataVersion()
    if (version === this.seenVersion) return false
    this.assertKnown(this.tables.load.version() ?? 0)
    this.seenVersion = version
    this.dueTasks.forget()
    this.lapses.forget()
    return true
  }

  /** Another process may have brought the tables up to a later version. */
  private assertKnown(version: number): void {
    if (version <= this.knownSchema) return
    assertKnown(schemaOf(this.opened.db), schemaVersion, this.opened.path)
    this.knownSchema = version
  }

  keep(wanted: KeptWanted): Kept {
    this.tables.reload()
    return this.kept(wanted)
  }

  clientsRemoved(): string {
    return this.tables.load.clientsRemoved()
  }

  duties({ at, leaseAt, gone, limit, budgets }: DutiesWanted): Duties {
    const { load } = this.tables
    return {
      lapsed: this.lapses.isAfter(leaseAt) ? [] : load.lapsed(leaseAt, limit),
      due: this.dueTasks.isAfter(at) ? [] : load.due(at, limit),
      orphans: gone.flatMap((process) => load.running(process)),
      budgets: budgets ? load.budgetsDue(at, limit) : [],
    }
  }

  load(wanted: Wanted): Loaded {
    return this.wanted(wanted)
  }

  show(lives: boolean, gone: readonly number[], at: number): void {
    if (lives) this.processes.beat(at)
    for (const process of gone) this.processes.end(process, at)
  }

  apply(changes: WorkingSet, isTold: boolean): void {
    for (const { state, expiresAt } of changes.leases.changed.values())
      if (state === 'running') this.lapses.add(expiresAt)
    this.tables.write(changes, isTold)
  }

  lineRecord(line: string): string | undefined {
    return this.tables.load.line(line)
  }

  keepLine(line: string, record: string): void {
    this.tables.keepLine(line, record)
  }

  dropLines(before: number): void {
    this.tables.dropLines(before)
  }

  commit(): void {
    if (!this.opened.db.inTransaction)
      throw new StoreError('store_io', 'the transaction was rolled back by SQLite itself')
    this.commitNow.run()
    this.isTold = this.tables.committed()
  }

  rollback(): void {
    this.tables.rolledBack()
    if (this.opened.db.inTransaction) this.rollbackNow.run()
  }

  afterCommit({ wrote, mono }: { readonly wrote: boolean; readonly mono: number }): void {
    // A store in memory has no log.
    if (wrote && !this.opened.memory) this.wroteAt = mono
    this.processes.forgetLocks(this.gone)
    this.gone = []
    if (!this.isTold) return
    this.isTold = false
    this.anchor?.write(this.tables.last)
  }

  eventsAfter(commit: number, until: number): readonly StoredEvent[] {
    const events: StoredEvent[] = []
    for (const { number, touched } of this.tables.journal.after(commit, until - commit)) {
      if (number > until) break
      for (const [task, first, last] of touched) {
        const taskId = this.tables.load.task(task)?.explicitId ?? this.ids.task(task)
        const query: Read<'events'> = { kind: 'events', taskId, after: first - 1, limit: last - first + 1 }
        events.push(...((this.answer(query) as readonly StoredEvent[] | undefined) ?? []))
      }
    }
    return events
  }

  read(query: Read, counts: LocalCounts): ReturnType<typeof this.answer> {
    this.counts = counts
    return this.answer(query)
  }

  refusal(waitedMs: number): Error {
    return new StoreError(
      'store_busy',
      `${this.info.location} was held by another process for ${waitedMs} ms; try again`,
    )
  }

  /** A lock that is free proves that its process is gone: whoever has lost it is not seen again. */
  readonly isSeen = false
  readonly readAhead = 256
  readonly maxCalls = Number.POSITIVE_INFINITY

  /** A commit is answered at once. */
  readonly takesMore = false

  send(): undefined {
    return undefined
  }

  stands(): void {
    throw new Error('no commit is under way')
  }

  fell(): void {
    throw new Error('no commit is under way')
  }

  /** Its own errors: a lock that is held shows when a transaction begins. */
  isPassing(): boolean {
    return false
  }

  errorOf(cause: unknown): Error {
    return storeErrorOf(cause, this.opened.path)
  }

  isFatal(error: unknown): boolean {
    return isFatal(error)
  }

  pause(ms: number): void {
    pause(ms)
  }

  close(failed: boolean): void {
    const { db } = this.opened
    if (!failed && db.open) {
      try {
        inTurn(db, () => this.processes.end(this.processes.own, this.now().at), 1_000)
      } catch {
        // The lock below goes in any case, and that says the same.
      }
    }
    db.close()
    this.anchor?.close()
    this.processes.close()
  }

  /** The connection: a simulation sets limits on it that elsewhere a disk sets by itself. Nothing else should want it. */
  get connection(): Connection {
    return this.opened.db
  }

  /** Lets go of the files as the death of this process would: the lock that proved its life can be had. */
  die(): void {
    if (!this.opened.db.open) return
    this.opened.db.close()
    this.anchor?.close()
    this.processes.die()
  }
}

/** How often the processes and the file are looked at. */
const careMs = 500
/** After this long without a commit the log is copied into the database file, so that no busy moment has to. */
const idleMs = 2_000

/** So often an idle process looks by itself for commits that are reported to it: a report may be lost, or come late from a busy main thread. */
const heardPollMs = 100
