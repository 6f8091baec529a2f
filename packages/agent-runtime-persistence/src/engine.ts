import {
  createIdCodec,
  StoreError,
  type Claim,
  type Environment,
  type ExecutionConfig,
  type Interest,
  type OutputChunk,
  type Read,
  type StoredEvent,
  type StoreInfo,
  type Write,
  type LeaseNotice,
} from '@ku0/agent-runtime-core'
import { type Instant, type Surroundings, type LeaseRow } from '@ku0/agent-runtime-core/transition'
import { Cache } from './cache.ts'
import { flush, type Credit, type Flushed } from './flush.ts'
import { Publisher } from './publisher.ts'
import type { Answer, Turn } from './port.ts'
import { AnchorFile, bootWord } from './sqlite/anchor.ts'
import { openLeaseClock } from './sqlite/clock.ts'
import { dataLossError, findDataLoss, type FoundLoss, recordLoss } from './sqlite/data-loss.ts'
import { beginIncarnation, isMarkedCopy, pastIncarnations } from './sqlite/incarnations.ts'
import { isBusy, isFatal, storeErrorOf } from './sqlite/errors.ts'
import {
  assertKnown,
  assertSameFile,
  inTurn,
  openDatabase,
  pause,
  waitForLocks,
  type Db,
  type Durability,
  type OpenedDatabase,
} from './sqlite/open.ts'
import { Processes, type ProcessIdentity } from './sqlite/processes.ts'
import { prepareReads } from './sqlite/reads.ts'
import { schemaVersion } from './sqlite/schema.ts'
import { Statements } from './sqlite/statements.ts'
import { SqliteTables } from './sqlite/tables.ts'
import { renewShares, warmShares } from './warm-shares.ts'

export interface EngineOptions {
  readonly path: string
  readonly config: ExecutionConfig
  readonly durability: Durability
  /** Go on although commits are missing that the anchor tells of. */
  readonly acceptLoss: boolean
  readonly identity: ProcessIdentity
  readonly environment: Environment
  /** sha256 of a digest followed by a text. */
  readonly chain: Surroundings['chain']
  /** Ms since the process's event loop last showed life; renewal stops when that exceeds `maxStallMs`. */
  readonly stalledMs: () => number
}

interface Call {
  readonly call: number
  readonly operation: Write
}

/** A lock held by another process is tried for this long before the waiting calls are told `store_busy`. */
const busyPatienceMs = 10_000
/** Operations folded in one flush at the most; what is left follows in the next. */
const maxBatch = 4_000

/**
 * A store's life, one turn at a time: it takes in calls, flushes when something waits or is due, and says what came of it. It
 * does not wait and owns no timer: whoever runs it asks when it wants its next turn. Source: `docs/ARCHITECTURE.md`, The store.
 */
export class StoreEngine {
  readonly info: StoreInfo
  private readonly options: EngineOptions
  private readonly opened: OpenedDatabase
  private readonly tables: SqliteTables
  private readonly processes: Processes
  private readonly cache: Cache
  private readonly around: Surroundings
  private readonly now: () => Instant
  private readonly answerRead
  private readonly begin
  private readonly commit
  private readonly rollback
  private readonly demand = new Map<string, Credit>()
  private calls: Call[] = []
  private turn = emptyTurn()
  private seenVersion: number
  private readonly publisher: Publisher
  /** Of a store in memory there is none. */
  private readonly anchor: AnchorFile | undefined
  private busySince: number | undefined
  private notBefore = 0
  private tickAt = 0
  /** When the next delayed or waiting task is due, on the monotonic clock. */
  private dueAt = Number.POSITIVE_INFINITY
  /** When it is said again that a schedule is due, on the monotonic clock. */
  private sayDueAt = 0
  private renewAt = 0
  /** When this process shows itself next, at the latest. */
  private presentAt = 0
  private careAt = 0
  private claimable = true
  private others = 0
  private gone: readonly number[] = []
  private staleWrites = 0
  private commits = 0
  private repeated = 0
  /** When the log last grew, until it has been copied into the database file. */
  private wroteAt: number | undefined
  private closed = false
  /** So many of the calls are flushed one at a time, since together they failed. */
  private singly = 0
  /** Leases whose handlers were told that they could not be renewed. */
  private readonly lapsedTold = new Set<number>()
  /** The leases held when the cache had to be dropped: what became of them is told once it is warm again. */
  private held: ReadonlyMap<number, LeaseRow> | undefined
  private failure: Error | undefined

  /** Opens the database, registers this process. Throws a StoreError; nothing is left open then. */
  static open(options: EngineOptions): StoreEngine {
    let loss: FoundLoss | undefined
    const opened = openDatabase(options.path, options.durability, (path) => {
      loss = bearableLoss(path, options)
    })
    try {
      return new StoreEngine(options, opened, loss)
    } catch (error) {
      opened.db.close()
      throw storeErrorOf(error, opened.path)
    }
  }

  private constructor(options: EngineOptions, opened: OpenedDatabase, found: FoundLoss | undefined) {
    this.options = options
    const { config, environment } = options
    const loss = found?.loss
    this.opened = opened
    const { db } = this.opened
    const { storeId, past, now, processes } = inTurn(db, () => enter(this.opened, options, found))
    const ids = createIdCodec(storeId, past)
    this.now = now
    this.processes = processes
    const { chain } = options
    const sha256Hex = (text: string) => environment.digest.sha256Hex(text)
    const statements = new Statements(db)
    this.tables = new SqliteTables(statements, ids, { chain, sha256Hex })
    this.cache = new Cache(this.processes.own, this.tables.load.evaluations.reputation)
    this.around = {
      config,
      ids,
      chain,
      sha256Hex,
      fenceFloor: past.at(-1)?.fenceFloor ?? 0,
    }
    this.answerRead = prepareReads({
      db: statements,
      tables: this.tables,
      config,
      now: this.now,
      processId: (process) => this.processes.processId(process),
      local: () => ({ staleWrites: this.staleWrites, commits: this.commits, repeatedFlushes: this.repeated }),
    })
    this.begin = db.prepare('BEGIN IMMEDIATE')
    this.commit = db.prepare('COMMIT')
    this.rollback = db.prepare('ROLLBACK')
    waitForLocks(db, 0)
    this.seenVersion = this.tables.load.dataVersion()
    this.publisher = new Publisher(this.tables, this.answerRead)
    const { durability } = this.opened
    if (durability !== 'memory') {
      const boot = bootWord(options.identity.bootId)
      this.anchor = new AnchorFile(this.opened.path, { storeId, durability, boot }, loss !== undefined)
      this.anchor.write(this.tables.last)
    }
    this.info = {
      kind: this.opened.memory ? 'memory' : 'sqlite',
      location: this.opened.path,
      storeId,
      processId: options.identity.processId,
      durability: this.opened.durability,
      schemaVersion,
      versions: {
        sqlite: db.prepare('SELECT sqlite_version()').pluck().get() as string,
        node: process.versions.node,
      },
      ...(loss === undefined ? {} : { acceptedLoss: loss }),
    }
  }

  write(call: number, operation: Write): void {
    if (this.refuses(call)) return
    // One that comes back under its name starts to count anew.
    if (operation.kind === 'removeWorkers')
      for (const workerId of operation.workerIds) this.demand.delete(workerId)
    this.calls.push({ call, operation })
  }

  read(call: number, query: Read): void {
    if (this.refuses(call)) return
    try {
      this.turn.answers.push({ call, value: this.answerRead(query) })
    } catch (error) {
      const reason = storeErrorOf(error, this.opened.path)
      this.turn.answers.push({ call, error: reason })
      if (isFatal(error)) this.stop(reason)
    }
  }

  setDemand(workerId: string, credit: number): void {
    this.demand.set(workerId, { credit, given: this.demand.get(workerId)?.given ?? 0 })
    this.claimable = true
  }

  setInterest(interest: Interest): void {
    this.publisher.follow(interest)
  }

  /** Whether calls wait for a flush that may begin now. */
  get ready(): boolean {
    return this.calls.length > 0 || this.claimable
  }

  /**
   * Does what is due and says what came of it; call it when something came in, and after {@link StoreEngine.restMs}.
   */
  take(): Turn {
    if (this.failure === undefined && !this.closed) {
      try {
        this.run(this.options.environment.clock.monotonic())
      } catch (error) {
        this.stop(storeErrorOf(error, this.opened.path))
      }
    }
    const { failed, ...turn } = this.turn
    this.turn = emptyTurn()
    return failed === undefined ? turn : { ...turn, failed }
  }

  /** The answers to what was read since the last turn: none of them has to wait for a flush. */
  takeReads(): Turn {
    const { answers } = this.turn
    this.turn.answers = []
    const { failed: _, ...nothing } = emptyTurn()
    return { ...nothing, answers }
  }

  /** Does what was handed over before the end, whatever pause was due; a lock is waited for. */
  finish(): Turn {
    for (let left = 5_000; this.calls.length > 0 && this.failure === undefined && left > 0; left--) {
      this.notBefore = 0
      try {
        this.run(this.options.environment.clock.monotonic())
      } catch (error) {
        this.stop(storeErrorOf(error, this.opened.path))
      }
      if (this.notBefore > 0 && this.calls.length > 0) pause(1)
    }
    return this.take()
  }

  /** How long it may rest, in ms, when nothing comes in. */
  restMs(): number {
    if (this.failure !== undefined || this.closed) return Number.POSITIVE_INFINITY
    const now = this.options.environment.clock.monotonic()
    const next = this.ready
      ? now
      : Math.min(
          this.tickAt,
          this.renewAt,
          this.presentAt,
          this.dueAt,
          this.budgetDueAt(now),
          this.scheduleDueAt(now),
        )
    return Math.max(0, next - now, this.notBefore - now)
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    const { db } = this.opened
    if (this.failure === undefined && db.open) {
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

  /**
   * Lets go of the files without a word, as the death of its process would: the lock that proved its life can be had, and its leases
   * are as they were. For simulations, where one process plays many.
   */
  die(): void {
    if (this.closed) return
    this.closed = true
    this.opened.db.close()
    this.processes.die()
  }

  /** The connection: a simulation sets limits on it that elsewhere a disk sets by itself. Nothing else should want it. */
  get connection(): Db {
    return this.opened.db
  }

  /** At most one flush: what does not fit into it follows in the next turn, after the answers to this one are out. */
  private run(mono: number): void {
    const { config } = this.options
    if (mono < this.notBefore) return
    if (mono >= this.scheduleDueAt(mono)) {
      this.sayDueAt = mono + config.schedulerTickMs
      this.turn.schedulesDue = true
    }
    const ticked = mono >= this.tickAt
    if (ticked) {
      this.tickAt =
        mono + Math.min(config.schedulerTickMs, this.others > 0 ? foreignPollMs : Number.POSITIVE_INFINITY)
      this.look(mono)
    }
    const beats = mono >= this.renewAt
    const alive = beats && this.options.stalledMs() < config.maxStallMs
    // What a cache held that was dropped is known again once the flush has begun.
    const hasAny = this.held !== undefined || this.cache.running.size > 0 || this.cache.workers.size > 0
    const renewing = alive && hasAny
    const showing = renewing || mono >= this.presentAt
    const due =
      mono >= this.dueAt ||
      mono >= this.budgetDueAt(mono) ||
      (ticked && (this.gone.length > 0 || this.hasLapsed()))
    if (this.calls.length === 0 && !this.claimable && !showing && !due) {
      if (beats) this.renewAt = mono + config.heartbeatIntervalMs
      return
    }
    const size = this.singly > 0 ? 1 : maxBatch
    const batch = this.calls.length <= size ? this.calls : this.calls.slice(0, size)
    const end = this.flushBatch(batch, { renewing, showing }, mono)
    if (end === 'repeat') return
    this.armDue(this.options.environment.clock.monotonic())
    this.calls = batch === this.calls ? [] : this.calls.slice(batch.length)
    this.singly = Math.max(0, this.singly - batch.length)
    // What was refused took the renewal of its flush with it, which is due still.
    if (end === 'refused') return
    if (showing) this.presentAt = mono + config.presenceIntervalMs
    if (beats) this.renewAt = mono + config.heartbeatIntervalMs
  }

  /** On every tick: has another process written, died or come; is the file still the one that was opened? */
  private look(mono: number): void {
    this.armDue(mono)
    if (this.tables.load.dataVersion() !== this.seenVersion) this.claimable = true
    if (mono >= this.careAt) {
      this.careAt = mono + careMs
      assertSameFile(this.opened)
      this.others = this.processes.count()
      this.gone = this.processes.gone(this.now().at, this.options.config.presenceTtlMs)
    }
    this.anchor?.care(mono)
    if (this.cache.depth > 0 && this.hasDemand()) this.claimable = true
    if (this.wroteAt !== undefined && mono - this.wroteAt > idleMs) {
      this.wroteAt = undefined
      this.opened.db.pragma('wal_checkpoint(PASSIVE)')
    }
  }

  private hasDemand(): boolean {
    for (const { credit, given } of this.demand.values()) if (credit > given) return true
    return false
  }

  private hasLapsed(): boolean {
    const expiry = this.tables.load.nextExpiry()
    return expiry !== undefined && expiry <= this.now().leaseAt
  }

  /** Timers do not wait for a tick. */
  private armDue(mono: number): void {
    const due = this.tables.load.nextDue()
    this.dueAt = due === undefined ? Number.POSITIVE_INFINITY : mono + Math.max(0, due - this.now().at)
  }

  /** When the wall time of a budget reaches its next line, on the monotonic clock. */
  private budgetDueAt(mono: number): number {
    const at = this.cache.budgetAt
    return at === undefined ? Number.POSITIVE_INFINITY : mono + Math.max(0, at - this.now().at)
  }

  /** When to say that a schedule is due, on the monotonic clock: at its time, then at every tick until it is dealt with. */
  private scheduleDueAt(mono: number): number {
    const at = this.cache.scheduleAt
    if (at === undefined) return Number.POSITIVE_INFINITY
    return Math.max(mono + Math.max(0, at - this.now().at), this.sayDueAt)
  }

  /** One transaction. Its calls are answered, unless it is to be repeated. */
  private flushBatch(batch: readonly Call[], beat: Beat, mono: number): FlushEnd {
    if (!this.lock(mono)) return 'repeat'
    let flushed: Flushed
    let foreign: boolean
    try {
      foreign = this.refresh()
      assertSameFile(this.opened)
      flushed = this.flushOnce(batch, beat)
      if (!this.opened.db.inTransaction)
        throw new StoreError('store_io', 'the transaction was rolled back by SQLite itself')
      this.commit.run()
    } catch (error) {
      this.undo()
      if (isFatal(error) || (error instanceof StoreError && error.code !== 'store_full')) throw error
      this.tellLapsed()
      return this.refuseOrRepeat(batch, error, mono)
    }
    this.committed(flushed, batch, foreign, mono)
    return 'committed'
  }

  /** Begins the transaction; false when another process holds the lock. */
  private lock(mono: number): boolean {
    try {
      this.begin.run()
    } catch (error) {
      if (!isBusy(error)) throw error
      this.waitForLock(mono)
      return false
    }
    this.busySince = undefined
    return true
  }

  /** What follows a commit. Nothing here may be repeated, and what fails here stops the store. */
  private committed(flushed: Flushed, batch: readonly Call[], foreign: boolean, mono: number): void {
    const ownEvents = flushed.ws.events.length > 0
    const isTold = this.tables.committed()
    this.cache.absorb(flushed.ws)
    if (flushed.ws.schedules.size > 0) {
      this.cache.scheduleAt = this.tables.load.nextSchedule()
      this.sayDueAt = 0
    }
    if (flushed.ws.budgets.size > 0) this.cache.budgetAt = this.tables.load.nextBudget()
    for (const id of this.lapsedTold) if (!this.cache.running.has(id)) this.lapsedTold.delete(id)
    this.publisher.publishForeign(this.turn, ownEvents, foreign)
    this.claimable = false
    if (flushed.wrote) {
      this.commits++
      this.wroteAt = mono
    }
    this.processes.forgetLocks(this.gone)
    this.gone = []
    this.staleWrites += flushed.ws.staleWrites
    for (const [index, { call }] of batch.entries())
      this.turn.answers.push({ call, value: flushed.outcomes[index] })
    this.handOver(flushed)
    this.turn.notices.push(...flushed.ws.notices)
    this.publisher.publish(this.turn, flushed.ws)
    if (isTold) this.anchor?.write(this.tables.last)
    if (this.others > 0 && flushed.wrote)
      this.notBefore = this.options.environment.clock.monotonic() + fairnessMs
  }

  private flushOnce(batch: readonly Call[], { renewing, showing }: Beat): Flushed {
    const now = this.now()
    if (showing) this.processes.beat(now.at)
    for (const process of this.gone) this.processes.end(process, now.at)
    return flush(this.tables, this.cache, this.around, now, {
      operations: batch.map(({ operation }) => operation),
      renew: renewing,
      abandoned: this.lapsedTold,
      gone: this.gone,
      demand: this.demand,
      readAhead: this.others > 0 ? 8 : 256,
    })
  }

  /** Inside the transaction: when another process wrote since the last look, perhaps of a later version, what is kept is read anew. True if so. */
  private refresh(): boolean {
    const version = this.tables.load.dataVersion()
    const foreign = version !== this.seenVersion
    if (this.cache.warm && !foreign) return false
    if (foreign) assertKnown(this.tables.load.version(), this.opened.path)
    const before = this.held ?? new Map(this.cache.running)
    this.held = undefined
    this.seenVersion = version
    const since = this.cache.warm ? this.tables.last.number : undefined
    this.cache.clear(since !== undefined)
    this.tables.reload()
    warm(this.cache, this.tables, {
      since,
      config: this.options.config,
      now: this.now(),
      around: this.around,
    })
    this.noticeChanges(before)
    return foreign
  }

  /** What other processes did to leases of this one. */
  private noticeChanges(before: ReadonlyMap<number, LeaseRow>): void {
    const { ids } = this.tables
    for (const [id, { task, yieldAskedAt }] of before) {
      const kept = this.cache.running.get(id)
      if (kept !== undefined && (kept.yieldAskedAt === null || yieldAskedAt !== null)) continue
      const taskId = this.tables.load.task(task)?.explicitId ?? ids.task(task)
      if (kept !== undefined) {
        this.turn.notices.push({ leaseId: ids.lease(id), taskId, verdict: 'yield' })
        continue
      }
      const ended = this.tables.load.lease(id)
      const verdict = outsideEnds.get(ended?.endReason) ?? 'lost'
      const reason = verdict === 'canceled' ? this.cancelReason(task, ended?.endSeq ?? 0) : ended?.endReason
      this.turn.notices.push({ leaseId: ids.lease(id), taskId, verdict, ...(reason ? { reason } : {}) })
    }
  }

  private cancelReason(task: number, seq: number): string | undefined {
    return (JSON.parse(this.tables.event(task, seq) ?? '{}') as { reason?: string }).reason
  }

  private undo(): void {
    this.tables.rolledBack()
    this.held ??= new Map(this.cache.running)
    this.cache.clear()
    // What is to be renewed, and when something is due, is read again at once: perhaps nobody writes for long.
    this.claimable = true
    if (this.opened.db.inTransaction) this.rollback.run()
  }

  /** A flush that failed is repeated operation by operation, so that only the one at fault is refused. */
  private refuseOrRepeat(batch: readonly Call[], cause: unknown, mono: number): FlushEnd {
    if (batch.length > 1) {
      this.repeated++
      this.singly = batch.length
      return 'repeat'
    }
    for (const { call } of batch)
      this.turn.answers.push({ call, error: storeErrorOf(cause, this.opened.path) })
    if (batch.length === 0) this.notBefore = mono + 50
    return 'refused'
  }

  private waitForLock(mono: number): void {
    this.busySince ??= mono
    this.notBefore = mono + 0.1 + this.options.environment.random.next() * 0.4
    this.tellLapsed()
    if (mono - this.busySince < busyPatienceMs) return
    this.busySince = undefined
    const error = new StoreError(
      'store_busy',
      `${this.opened.path} was held by another process for ${busyPatienceMs} ms; try again`,
    )
    for (const { call } of this.calls) this.turn.answers.push({ call, error })
    this.calls = []
    this.singly = 0
  }

  /**
   * While nothing can be written, leases cannot be renewed: one whose time is up is lost, whether or not the store can say so
   * yet, and its handler must stop before another process starts the task. Source: `docs/reliability.md` B07.
   */
  private tellLapsed(): void {
    const { leaseAt } = this.now()
    const margin = this.options.config.leaseTtlMs / 10
    for (const lease of (this.held ?? this.cache.running).values()) {
      if (lease.expiresAt - margin > leaseAt || this.lapsedTold.has(lease.id)) continue
      this.lapsedTold.add(lease.id)
      const { ids } = this.tables
      const taskId = this.cache.tasks.get(lease.task)?.explicitId ?? ids.task(lease.task)
      this.turn.notices.push({ leaseId: ids.lease(lease.id), taskId, verdict: 'lost', reason: 'not renewed' })
    }
  }

  private handOver({ claims }: Flushed): void {
    for (const claim of claims) {
      const credit = this.demand.get(claim.workerId)
      if (credit !== undefined) this.demand.set(claim.workerId, { ...credit, given: credit.given + 1 })
      this.turn.claims.push(claim)
    }
  }

  private refuses(call: number): boolean {
    const error =
      this.failure ?? (this.closed ? new StoreError('store_closed', 'the store was closed') : undefined)
    if (error !== undefined) this.turn.answers.push({ call, error })
    return error !== undefined
  }

  /** Fail-stop: what is unknown stays unknown, so nothing more is acknowledged. */
  private stop(error: Error): void {
    this.failure = error
    for (const { call } of this.calls) this.turn.answers.push({ call, error })
    this.calls = []
    this.turn.failed = error
  }
}

/** What a flush does for this process itself: extend its leases, show that it lives. */
interface Beat {
  readonly renewing: boolean
  readonly showing: boolean
}

/** How a flush ended: its calls were told what came of them, or were refused; or nothing was said, and it is to be repeated. */
type FlushEnd = 'committed' | 'refused' | 'repeat'

/** How a holder hears of an end that another process brought about. */
const outsideEnds: ReadonlyMap<string | null | undefined, 'canceled' | 'failed'> = new Map([
  ['canceled', 'canceled'],
  ['failed', 'failed'],
])

/** While other processes are registered, their writes are looked for this often. */
const foreignPollMs = 10
/** How often the processes and the file are looked at. */
const careMs = 500
/** After this long without a commit the log is copied into the database file, so that no busy moment has to. */
const idleMs = 2_000
/** After a commit the lock is left alone for this long while others may want it. */
const fairnessMs = 0.3

function emptyTurn() {
  return {
    answers: [] as Answer[],
    claims: [] as Claim[],
    notices: [] as LeaseNotice[],
    events: [] as StoredEvent[],
    chunks: [] as OutputChunk[],
    schedulesDue: false,
    failed: undefined as Error | undefined,
  }
}

interface Warming {
  /** The commit that the streams and shares of the cache are of; undefined where it has none. */
  readonly since: number | undefined
  readonly config: ExecutionConfig
  readonly now: Instant
  readonly around: Surroundings
}

function warm(cache: Cache, tables: SqliteTables, it: Warming): void {
  const { load } = tables
  const { shares } = it.config
  const removed = load.clientsRemoved()
  const isFresh = it.since === undefined || (shares !== undefined && removed !== cache.clientsRemoved)
  if (isFresh) cache.clearStreams()
  const streams = isFresh ? load.streams() : load.streamsSince(it.since ?? 0)
  if (shares !== undefined && !isFresh) renewShares(cache, load, { since: it.since ?? 0, streams }, it)
  for (const row of streams) cache.keepStream(row)
  if (shares !== undefined && isFresh) warmShares(cache, load, shares)
  // Without shares only those are known that somebody asked for, and nothing tells which of them have changed.
  if (shares === undefined) cache.clients.clear()
  cache.clientsRemoved = removed
  for (const row of load.quotas()) cache.quotas.set(row.key, row)
  for (const row of load.work.circuits()) cache.circuits.set(row.route, row)
  for (const row of load.work.usages()) cache.usages.set(row.task, row)
  for (const row of load.work.swarms()) cache.swarms.set(row.name, row)
  for (const row of load.workers(cache.process)) cache.workers.set(row.id, row)
  for (const lease of load.running(cache.process)) {
    const task = load.task(lease.task)
    if (task === undefined) continue
    cache.leases.set(lease.id, lease)
    cache.running.set(lease.id, lease)
    cache.tasks.set(task.id, task)
  }
  cache.scheduleAt = load.nextSchedule()
  cache.budgetAt = load.nextBudget()
  cache.totals = load.totals()
  cache.depth = [...cache.streams.values()].reduce((sum, row) => sum + row.depth, 0)
  cache.delayed = [...cache.streams.values()].reduce((sum, row) => sum + row.delayed, 0)
  const [task, lease, stream, worker] = load.next()
  cache.next = {
    task: (task ?? 0) + 1,
    lease: (lease ?? 0) + 1,
    stream: (stream ?? 0) + 1,
    worker: (worker ?? 0) + 1,
    client: cache.next.client,
  }
  cache.warm = true
}

/** What a store may open without: nothing, unless that was accepted, now or by a durability that does not outlast a power loss. */
function bearableLoss(path: string, { acceptLoss, identity }: EngineOptions): FoundLoss | undefined {
  const found = findDataLoss(path)
  if (found === undefined) return undefined
  const { loss, anchor } = found
  const isExpected =
    loss.kind === 'lost_tail' && anchor.durability === 'normal' && anchor.boot !== bootWord(identity.bootId)
  if (!acceptLoss && !isExpected) throw dataLossError(path, loss)
  return found
}

/** Registers this process, gives a new store its name, and keeps a record of what was lost. In a transaction. */
function enter(opened: OpenedDatabase, options: EngineOptions, found: FoundLoss | undefined) {
  const { db, path, memory } = opened
  const { environment, identity } = options
  const now = openLeaseClock(db, environment.clock, identity.bootId)
  const { at } = now()
  const fresh = environment.ids.uuid().replaceAll('-', '').slice(0, 17)
  const incarnation = incarnationOf(opened, { fresh, at, lostBy: found?.anchor.storeId })
  const processes = new Processes(db, path, memory, identity, at)
  if (found !== undefined) recordLoss(db, path, { ...found.loss, acceptedAt: at })
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
  const past = pastIncarnations(db)
  if (past === undefined)
    throw new StoreError(
      'store_corrupt',
      `${path}: its earlier incarnations (meta, incarnations) cannot be read; restore a backup`,
    )
  return { storeId: read.get() as string, past }
}
