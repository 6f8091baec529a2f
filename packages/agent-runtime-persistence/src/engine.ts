import {
  createIdCodec,
  StoreError,
  type Claim,
  type Environment,
  type ExecutionConfig,
  type EventType,
  type Instant,
  type Interest,
  type OutputChunk,
  type Read,
  type StoredEvent,
  type StoreInfo,
  type Surroundings,
  type Write,
  type LeaseNotice,
} from '@ku0/agent-runtime-core'
import { Cache } from './cache.ts'
import { flush, type Credit, type Flushed } from './flush.ts'
import type { Answer, Turn } from './port.ts'
import { openLeaseClock } from './sqlite/clock.ts'
import { isBusy, isFatal, storeErrorOf } from './sqlite/errors.ts'
import { assertSameFile, openDatabase, type Durability, type OpenedDatabase } from './sqlite/open.ts'
import { Processes, type ProcessIdentity } from './sqlite/processes.ts'
import { prepareReads } from './sqlite/reads.ts'
import { schemaVersion } from './sqlite/schema.ts'
import { SqliteTables } from './sqlite/tables.ts'

export interface EngineOptions {
  readonly path: string
  readonly config: ExecutionConfig
  readonly durability: Durability
  readonly identity: ProcessIdentity
  readonly environment: Environment
  /** sha256 of a digest followed by a text. */
  readonly chain: Surroundings['chain']
  /** Ms since the process's event loop last showed life; renewal stops when that exceeds `maxStallMs`. */
  readonly stalledMs: () => number
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
  private calls: { readonly call: number; readonly operation: Write }[] = []
  private interested: Interest = { types: [], tasks: [] }
  private turn = emptyTurn()
  private seenVersion: number
  private published: number
  private busySince: number | undefined
  private notBefore = 0
  private tickAt = 0
  private renewAt = 0
  private careAt = 0
  private claimable = true
  private others = 0
  private gone: readonly number[] = []
  private staleWrites = 0
  private commits = 0
  private repeated = 0
  private closed = false
  private failure: Error | undefined

  constructor(options: EngineOptions) {
    this.options = options
    const { config, environment } = options
    this.opened = openDatabase(options.path, options.durability)
    const { db } = this.opened
    const storeId = storeIdOf(this.opened, environment)
    const ids = createIdCodec(storeId)
    this.now = openLeaseClock(db, environment.clock, options.identity.bootId)
    this.tables = new SqliteTables(db, ids)
    this.processes = new Processes(db, this.opened.path, this.opened.memory, options.identity, this.now().at)
    this.cache = new Cache(this.processes.own)
    this.around = {
      config,
      ids,
      chain: options.chain,
      sha256Hex: (text) => environment.digest.sha256Hex(text),
    }
    this.answerRead = prepareReads({
      db,
      tables: this.tables,
      config,
      now: this.now,
      processId: (process) => this.processes.processId(process),
      local: () => ({ staleWrites: this.staleWrites, commits: this.commits, repeatedFlushes: this.repeated }),
    })
    this.begin = db.prepare('BEGIN IMMEDIATE')
    this.commit = db.prepare('COMMIT')
    this.rollback = db.prepare('ROLLBACK')
    this.seenVersion = this.tables.load.dataVersion()
    this.published = this.tables.last.number
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
    }
  }

  write(call: number, operation: Write): void {
    if (!this.refuses(call)) this.calls.push({ call, operation })
  }

  read(call: number, query: Read): void {
    if (this.refuses(call)) return
    try {
      this.turn.answers.push({ call, value: this.answerRead(query) })
    } catch (error) {
      this.turn.answers.push({ call, error: storeErrorOf(error, this.opened.path) })
    }
  }

  setDemand(workerId: string, credit: number): void {
    this.demand.set(workerId, { credit, given: this.demand.get(workerId)?.given ?? 0 })
    this.claimable = true
  }

  setInterest(interest: Interest): void {
    this.interested = interest
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

  /** How long it may rest, in ms, when nothing comes in. */
  restMs(): number {
    if (this.failure !== undefined || this.closed) return Number.POSITIVE_INFINITY
    const now = this.options.environment.clock.monotonic()
    if (this.ready) return Math.max(0, this.notBefore - now)
    return Math.max(0, Math.min(this.tickAt, this.renewAt) - now)
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    const { db } = this.opened
    if (this.failure === undefined && db.open) {
      try {
        this.processes.end(this.processes.own, this.now().at)
      } catch {
        // The lock below goes in any case, and that says the same.
      }
    }
    db.close()
    this.processes.close()
  }

  /** At most one flush: what does not fit into it follows in the next turn, after the answers to this one are out. */
  private run(mono: number): void {
    const { config } = this.options
    if (mono < this.notBefore) return
    const ticked = mono >= this.tickAt
    if (ticked) {
      this.tickAt = mono + Math.min(config.schedulerTickMs, this.others > 0 ? foreignPollMs : Number.POSITIVE_INFINITY)
      this.look(mono)
    }
    const beats = mono >= this.renewAt
    const alive = beats && this.options.stalledMs() < config.maxStallMs
    const renewing = alive && (this.cache.running.size > 0 || this.cache.workers.size > 0)
    const due = ticked && (this.gone.length > 0 || this.isDue())
    if (this.calls.length === 0 && !this.claimable && !renewing && !due) {
      if (beats) this.renewAt = mono + config.heartbeatIntervalMs
      return
    }
    const batch = this.calls.length <= maxBatch ? this.calls : this.calls.slice(0, maxBatch)
    if (!this.flushBatch(batch, renewing, mono)) return
    this.calls = batch === this.calls ? [] : this.calls.slice(batch.length)
    if (beats) this.renewAt = mono + config.heartbeatIntervalMs
  }

  /** On every tick: has another process written, died or come; is the file still the one that was opened? */
  private look(mono: number): void {
    if (this.tables.load.dataVersion() !== this.seenVersion) this.claimable = true
    if (mono >= this.careAt) {
      this.careAt = mono + careMs
      assertSameFile(this.opened)
      this.others = this.processes.count()
      this.gone = this.processes.gone(this.now().at, this.options.config.presenceTtlMs)
    }
    if (this.cache.depth > 0 && this.hasDemand()) this.claimable = true
  }

  private hasDemand(): boolean {
    for (const { credit, given } of this.demand.values()) if (credit > given) return true
    return false
  }

  private isDue(): boolean {
    const { at, leaseAt } = this.now()
    const due = this.tables.load.nextDue()
    if (due !== undefined && due <= at) return true
    const expiry = this.tables.load.nextExpiry()
    return expiry !== undefined && expiry <= leaseAt
  }

  /** One transaction. False when another process holds the lock: the calls stay and are tried again. */
  private flushBatch(
    batch: readonly { call: number; operation: Write }[],
    renewing: boolean,
    mono: number,
  ): boolean {
    let flushed: Flushed
    try {
      this.begin.run()
    } catch (error) {
      if (!isBusy(error)) throw error
      this.waitForLock(mono)
      return false
    }
    this.busySince = undefined
    try {
      const foreign = this.refresh()
      if (batch.some(({ operation }) => operation.kind === 'submit')) assertSameFile(this.opened)
      flushed = this.flushOnce(batch, renewing)
      if (!this.opened.db.inTransaction)
        throw new StoreError('store_io', 'the transaction was rolled back by SQLite itself')
      this.commit.run()
      this.tables.committed()
      this.cache.absorb(flushed.ws)
      if (foreign || this.published < this.tables.last.number - (flushed.ws.events.length > 0 ? 1 : 0))
        this.publishForeign(flushed.ws.events.length > 0)
    } catch (error) {
      this.undo()
      if (isFatal(error) || (error instanceof StoreError && error.code !== 'store_full')) throw error
      this.oneByOne(batch, error, renewing, mono)
      return true
    }
    this.claimable = false
    if (flushed.wrote) this.commits++
    this.processes.forgetLocks(this.gone)
    this.gone = []
    this.staleWrites += flushed.ws.staleWrites
    for (const [index, { call }] of batch.entries())
      this.turn.answers.push({ call, value: flushed.outcomes[index] })
    this.handOver(flushed)
    this.publish(flushed)
    if (this.others > 0 && flushed.wrote)
      this.notBefore = this.options.environment.clock.monotonic() + fairnessMs
    return true
  }

  private flushOnce(batch: readonly { operation: Write }[], renewing: boolean): Flushed {
    const now = this.now()
    if (renewing) this.processes.beat(now.at)
    for (const process of this.gone) this.processes.end(process, now.at)
    return flush(this.tables, this.cache, this.around, now, {
      operations: batch.map(({ operation }) => operation),
      renew: renewing,
      gone: this.gone,
      demand: this.demand,
      readAhead: this.others > 0 ? 8 : 256,
    })
  }

  /** Inside the transaction: when another process wrote since the last look, what is kept is read anew. True if so. */
  private refresh(): boolean {
    const version = this.tables.load.dataVersion()
    const foreign = version !== this.seenVersion
    if (this.cache.warm && !foreign) return false
    const before = new Map(this.cache.running)
    this.seenVersion = version
    this.cache.clear()
    this.tables.reload()
    warm(this.cache, this.tables)
    this.noticeChanges(before)
    return foreign
  }

  /** What other processes did to leases of this one. */
  private noticeChanges(
    before: ReadonlyMap<number, { readonly task: number; readonly yieldAskedAt: number | null }>,
  ): void {
    const { ids } = this.tables
    for (const [id, { task, yieldAskedAt }] of before) {
      const kept = this.cache.running.get(id)
      if (kept !== undefined && (kept.yieldAskedAt === null || yieldAskedAt !== null)) continue
      const reason = kept === undefined ? this.tables.load.lease(id)?.endReason : undefined
      const taskId = this.tables.load.task(task)?.explicitId ?? ids.task(task)
      const verdict = kept !== undefined ? 'yield' : reason === 'canceled' ? 'canceled' : 'lost'
      this.turn.notices.push({ leaseId: ids.lease(id), taskId, verdict, ...(reason ? { reason } : {}) })
    }
  }

  private undo(): void {
    this.tables.rolledBack()
    this.cache.clear()
    if (this.opened.db.inTransaction) this.rollback.run()
  }

  /** A flush that failed is repeated operation by operation, so that only the one at fault is refused. */
  private oneByOne(
    batch: readonly { call: number; operation: Write }[],
    cause: unknown,
    renewing: boolean,
    mono: number,
  ): void {
    if (batch.length <= 1) {
      for (const { call } of batch)
        this.turn.answers.push({ call, error: storeErrorOf(cause, this.opened.path) })
      if (batch.length === 0) this.notBefore = mono + 50
      return
    }
    this.repeated++
    for (const item of batch) {
      while (!this.flushBatch([item], renewing, mono)) pause()
    }
  }

  private waitForLock(mono: number): void {
    this.busySince ??= mono
    this.notBefore = mono + 0.1 + this.options.environment.random.next() * 0.4
    if (mono - this.busySince < busyPatienceMs) return
    this.busySince = undefined
    const error = new StoreError(
      'store_busy',
      `${this.opened.path} was held by another process for ${busyPatienceMs} ms; try again`,
    )
    for (const { call } of this.calls) this.turn.answers.push({ call, error })
    this.calls = []
  }

  private handOver({ claims }: Flushed): void {
    for (const claim of claims) {
      const credit = this.demand.get(claim.workerId)
      if (credit !== undefined) this.demand.set(claim.workerId, { ...credit, given: credit.given + 1 })
      this.turn.claims.push(claim)
    }
  }

  private publish({ ws }: Flushed): void {
    this.turn.notices.push(...ws.notices)
    if (ws.events.length > 0) this.published = this.tables.last.number
    const wants = wantedBy(this.interested)
    if (wants === undefined) return
    const names = new Map([...ws.tasks].map(([id, row]) => [id, row.explicitId ?? this.tables.ids.task(id)]))
    for (const event of ws.events) {
      const taskId = names.get(event.task) ?? this.tables.ids.task(event.task)
      if (!wants(event.type, event.also, taskId)) continue
      const data =
        event.blob === null
          ? event.data
          : this.tables.withBlob(event.data, event.blob, ws.blobs.get(event.blob) ?? '')
      const { seq, type, at, hash, also } = event
      this.turn.events.push({ taskId, seq, type, at, data, hash: Buffer.from(hash).toString('hex'), also })
    }
    for (const { task, seq, attempt, at, data } of ws.outputs) {
      const taskId = names.get(task) ?? ws.task(task)?.explicitId ?? this.tables.ids.task(task)
      if (this.interested.tasks.includes(taskId)) this.turn.chunks.push({ taskId, seq, attempt, at, data })
    }
  }

  /** The events that other processes committed since the last look, by the journal. */
  private publishForeign(ownWrote: boolean): void {
    const until = this.tables.last.number - (ownWrote ? 1 : 0)
    const wants = wantedBy(this.interested)
    const tasks = new Set<string>()
    if (wants !== undefined) {
      for (const { number, touched } of this.tables.journal.after(this.published, until - this.published)) {
        if (number > until) break
        for (const [task, first, last] of touched) {
          const taskId = this.tables.load.task(task)?.explicitId ?? this.tables.ids.task(task)
          tasks.add(taskId)
          const query: Read<'events'> = { kind: 'events', taskId, after: first - 1, limit: last - first + 1 }
          for (const event of (this.answerRead(query) as readonly StoredEvent[] | undefined) ?? [])
            if (wants(event.type, alsoOf(event), taskId))
              this.turn.events.push({ ...event, also: alsoOf(event), elsewhere: true })
        }
      }
      this.publishForeignOutput()
    }
    this.published = until
  }

  private readonly outputSeen = new Map<string, number>()

  private publishForeignOutput(): void {
    for (const taskId of this.interested.tasks) {
      const after = this.outputSeen.get(taskId) ?? 0
      const query: Read<'output'> = { kind: 'output', taskId, after, limit: 1000 }
      const chunks = (this.answerRead(query) as readonly OutputChunk[] | undefined) ?? []
      this.turn.chunks.push(...chunks)
      const last = chunks.at(-1)
      if (last !== undefined) this.outputSeen.set(taskId, last.seq)
    }
    for (const taskId of this.outputSeen.keys())
      if (!this.interested.tasks.includes(taskId)) this.outputSeen.delete(taskId)
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

/** While other processes are registered, their writes are looked for this often. */
const foreignPollMs = 10
/** How often the processes and the file are looked at. */
const careMs = 500
/** After a commit the lock is left alone for this long while others may want it. */
const fairnessMs = 0.3

function emptyTurn() {
  return {
    answers: [] as Answer[],
    claims: [] as Claim[],
    notices: [] as LeaseNotice[],
    events: [] as StoredEvent[],
    chunks: [] as OutputChunk[],
    failed: undefined as Error | undefined,
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0.3)
}

function warm(cache: Cache, tables: SqliteTables): void {
  const { load } = tables
  for (const row of load.streams()) {
    cache.streams.set(row.id, row)
    cache.streamsByKey.set(row.key, row)
  }
  for (const row of load.quotas()) cache.quotas.set(row.key, row)
  for (const row of load.workers(cache.process)) cache.workers.set(row.id, row)
  for (const lease of load.running(cache.process)) {
    const task = load.task(lease.task)
    if (task === undefined) continue
    cache.leases.set(lease.id, lease)
    cache.running.set(lease.id, lease)
    cache.tasks.set(task.id, task)
  }
  cache.totals = load.totals()
  cache.depth = [...cache.streams.values()].reduce((sum, row) => sum + row.depth, 0)
  cache.delayed = [...cache.streams.values()].reduce((sum, row) => sum + row.delayed, 0)
  const [task, lease, stream, worker] = load.next()
  cache.next = {
    task: (task ?? 0) + 1,
    lease: (lease ?? 0) + 1,
    stream: (stream ?? 0) + 1,
    worker: (worker ?? 0) + 1,
  }
  cache.warm = true
}

function storeIdOf({ db }: OpenedDatabase, environment: Environment): string {
  const fresh = environment.ids.uuid().replaceAll('-', '').slice(0, 17)
  db.prepare("INSERT INTO meta (key, value) VALUES ('store_id', ?) ON CONFLICT DO NOTHING").run(fresh)
  return db.prepare("SELECT value FROM meta WHERE key = 'store_id'").pluck().get() as string
}

type Wants = (type: EventType, also: readonly EventType[], taskId: string) => boolean

function wantedBy({ types, tasks }: Interest): Wants | undefined {
  if (types === 'all') return () => true
  if (types.length === 0 && tasks.length === 0) return undefined
  const names = new Set(types)
  const ids = new Set(tasks)
  return (type, also, taskId) => names.has(type) || also.some((name) => names.has(name)) || ids.has(taskId)
}

/** The further names of an event read back; see `StoredEvent.also`. */
function alsoOf({ type, data }: StoredEvent): readonly EventType[] {
  switch (type) {
    case 'task.started':
      return ['lease.acquired']
    case 'task.completed':
    case 'task.waiting':
      return ['lease.released']
    case 'task.failed':
    case 'task.canceled':
      return (JSON.parse(data) as { leaseId?: string }).leaseId === undefined ? [] : ['lease.released']
    case 'task.requeued': {
      const { reason } = JSON.parse(data) as { reason: string }
      if (reason === 'expired' || reason === 'owner_dead') return ['lease.expired']
      return reason === 'yielded' ? ['lease.released', 'task.preempted'] : ['lease.released']
    }
    default:
      return []
  }
}
