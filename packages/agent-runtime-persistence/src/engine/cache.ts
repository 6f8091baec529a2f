import { type ShareTree } from '@ku0/agent-runtime-core'
import {
  gone,
  childKey,
  entryKey,
  evaluationKey,
  isOwn,
  mergeHeads,
  noTotals,
  OPEN,
  tablesThatAre,
  type TableName,
  type AccessTokenRow,
  type Base,
  type BudgetRow,
  type ChildRow,
  type CircuitRow,
  type ClientRow,
  type EntryRow,
  type EvaluationRow,
  type Counted,
  type Duties,
  type Heads,
  type History,
  type KeyRow,
  type LeaseRow,
  type Loaded,
  type FoldablePart,
  type PrunableRow,
  type QuotaRow,
  type ReputationRow,
  type ScheduleRow,
  type Shares,
  type ShareOrder,
  type SharePool,
  type SignalRow,
  type Placed,
  type StreamRow,
  type PipelineRow,
  type SwarmRow,
  type TaskRow,
  type UsageRow,
  type VerdictsRow,
  type WaitRow,
  type WorkerRow,
  type WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import type { Kept } from './database.ts'

/** Of a stream of one client: there may be many. */
const maxHeadsOfClient = 8

const none: readonly never[] = []

const lookedUpTables = tablesThatAre('lookedUp')
const keptTables = tablesThatAre('kept')
const toldTables = tablesThatAre('told')
const wholeTables = tablesThatAre('whole')

/** Agents whose standing is kept between flushes, at the most. */
const maxReputations = 20_000

/**
 * Committed rows kept between flushes: counters, this process's running tasks, the heads of streams. It changes after a commit
 * only, and is dropped whole when a flush failed or another process wrote.
 */
export class Cache implements Base {
  readonly process: number
  readonly remote: number | undefined
  private readonly maxHeads: number
  tasks = new Map<number, TaskRow>()
  leases = new Map<number, LeaseRow>()
  readonly streams = new Map<number, StreamRow>()
  readonly streamsByKey = new Map<string, StreamRow>()
  readonly clients = new Map<string, ClientRow>()
  readonly streamsByClient = new Map<string, number[]>()
  readonly shares = {
    trees: new Map<string, ShareTree>(),
    ages: new Map<string, ShareTree>(),
    entries: new Map<number, Placed>(),
    pools: new Map<string, SharePool>(),
  }
  readonly workers = new Map<number, WorkerRow>()
  readonly workersNamed = new Map<string, readonly WorkerRow[]>()
  readonly quotas = new Map<string, QuotaRow>()
  readonly keys = new Map<string, KeyRow>()
  readonly explicitIds = new Map<string, number>()
  readonly heads = new Map<number, Heads>()
  readonly memos = new Map<number, Map<string, number>>()
  readonly outputs = new Map<number, number>()
  /** The data of `task.queued` of heads, as far as it was read with them. */
  submissions = new Map<number, string>()
  readonly events = new Map<string, string>()
  readonly prunable = new Map<number, PrunableRow>()
  readonly foldable = new Map<string, FoldablePart>()
  readonly waits = new Map<number, readonly WaitRow[]>()
  readonly signals = new Map<number, readonly SignalRow[]>()
  readonly verdicts = new Map<number, VerdictsRow>()
  readonly blobs = new Map<string, string>()
  readonly children = new Map<number, ReadonlyMap<number, ChildRow>>()
  readonly childKeys = new Map<string, ChildRow>()
  readonly histories = new Map<number, History>()
  readonly naming = new Map<string, readonly number[]>()
  readonly schedules = new Map<string, ScheduleRow>()
  readonly circuits = new Map<string, CircuitRow>()
  readonly usages = new Map<number, UsageRow>()
  readonly swarms = new Map<string, SwarmRow>()
  readonly pipelines = new Map<number, PipelineRow>()
  readonly budgets = new Map<number, BudgetRow>()
  readonly parked = new Map<number, readonly number[]>()
  /** When the first budget's wall time reaches a line. */
  budgetAt: number | undefined
  scheduleCount = 0
  readonly accessTokens = new Map<string, AccessTokenRow>()
  accessTokenCount = 0
  readonly evaluations = new Map<string, EvaluationRow>()
  readonly entries = new Map<string, EntryRow>()
  agentCount = 0
  /** When the first schedule that is not paused is due. */
  scheduleAt: number | undefined
  /** The live leases of this process, and of those on its lines. */
  running = new Map<number, LeaseRow>()
  totals = noTotals
  depth = 0
  delayed = 0
  next = { task: 1, lease: 1, stream: 1, worker: 1, client: 1 }
  private readonly lookedUp = new Set<number>()
  private readonly lookedUpLeases = new Set<number>()
  private changesSinceRenewal = 0
  /** How often clients were removed, as of the last look. */
  clientsRemoved = '0'
  /** False until the counters were loaded. */
  warm = false

  /** By agent, those that were never evaluated too. */
  private readonly reputations = new Map<string, ReputationRow | undefined>()
  /** Agents whose standing was asked for and is not known. What was decided without it is decided again once it is. */
  readonly unknownAgents = new Set<string>()

  /** `maxHeads`: so many heads of one stream are kept between flushes; what lies behind them is read again when they are used up. */
  constructor(process: number, remote?: number, maxHeads = 512) {
    this.process = process
    this.remote = remote
    this.maxHeads = maxHeads
  }

  readonly reputationOf = (agent: string): ReputationRow | undefined => {
    const row = this.reputations.get(agent)
    if (row === undefined && !this.reputations.has(agent)) this.unknownAgents.add(agent)
    return row
  }

  /** Rows that were wanted. What is kept already stays as it is. */
  take(loaded: Loaded): void {
    for (const row of loaded.tasks ?? none) this.lookUp(row)
    for (const row of loaded.leases ?? none) this.lookUp(undefined, row)
    for (const [id, task] of loaded.explicitIds ?? none) this.explicitIds.set(id, task)
    for (const row of loaded.keys ?? none) this.keys.set(row.key, row)
    for (const { task, waits, signals, children } of loaded.waits ?? none) {
      this.waits.set(task, waits)
      this.signals.set(task, signals)
      if (children.length > 0) this.children.set(task, new Map(children.map((child) => [child.task, child])))
    }
    for (const [task, row] of loaded.verdicts ?? none) this.verdicts.set(task, row)
    for (const [task, seqs] of loaded.memos ?? none) this.memos.set(task, seqs)
    for (const rows of [loaded.children, loaded.child])
      for (const row of rows ?? none) this.childKeys.set(childKey(row.parent, row.key), row)
    for (const row of loaded.budgets ?? none) this.budgets.set(row.task, row)
    for (const [task, parked] of loaded.parked ?? none) this.parked.set(task, parked)
    for (const [task, history] of loaded.histories ?? none) this.histories.set(task, history)
    for (const { task, memos, blobs } of loaded.recorded ?? none) {
      if (!this.histories.has(task))
        this.histories.set(task, { submission: '', memos, doubts: [], failedOf: [], lastFailure: 0 })
      for (const [sha256, text] of blobs) this.blobs.set(sha256, text)
    }
    for (const [task, seq, data] of loaded.events ?? none) this.events.set(`${task}:${seq}`, data)
    for (const row of loaded.prunable ?? none) this.prunable.set(row.id, row)
    for (const part of loaded.foldable ?? none) this.foldable.set(part.place, part)
    for (const [signal, text] of loaded.signals ?? none) {
      const unread = this.signals.get(signal.task) ?? none
      this.signals.set(
        signal.task,
        unread.map((it) => (it.seq === signal.seq ? signal : it)),
      )
      if (signal.blob !== null) this.blobs.set(signal.blob, text)
    }
    for (const [task, chunks] of loaded.outputs ?? none) this.outputs.set(task, chunks)
    for (const row of loaded.pipelines ?? none) this.pipelines.set(row.task, row)
    for (const row of loaded.clients ?? none) this.clients.set(row.name, row)
    for (const row of loaded.schedules ?? none) this.schedules.set(row.name, row)
    for (const row of loaded.accessTokens ?? none) this.accessTokens.set(row.name, row)
    for (const row of loaded.entries ?? none)
      if (row.key !== null) this.entries.set(entryKey(row.client, row.key), row)
    for (const row of loaded.evaluations ?? none)
      if (row.key !== null) this.evaluations.set(evaluationKey(row.agent, row.key), row)
    for (const [agent, row] of loaded.reputations ?? none) {
      this.reputations.set(agent, row)
      this.unknownAgents.delete(agent)
    }
    for (const [workerId, rows] of loaded.workersNamed ?? none) this.workersNamed.set(workerId, rows)
    for (const [key, tasks] of loaded.naming ?? none) this.naming.set(key, tasks)
    for (const [what, count] of loaded.counts ?? none) this.keepCount(what, count)
    for (const { stream, after, limit, rows, texts } of loaded.heads ?? none) {
      for (const [index, { id }] of rows.entries()) {
        const text = texts[index] ?? null
        if (text !== null) this.submissions.set(id, text)
      }
      const complete = rows.length < limit
      const upTo = complete ? Number.MAX_SAFE_INTEGER : (rows.at(-1)?.id ?? after)
      this.addHeads(stream, { rows, upTo, complete })
    }
  }

  /** What is kept besides streams and shares. */
  keep(kept: Kept): void {
    for (const row of kept.quotas) this.quotas.set(row.key, row)
    for (const row of kept.circuits) this.circuits.set(row.route, row)
    for (const row of kept.usages) this.usages.set(row.task, row)
    for (const row of kept.swarms) this.swarms.set(row.name, row)
    for (const row of kept.workers) this.workers.set(row.id, row)
    const tasks = new Map(kept.tasks.map((task) => [task.id, task]))
    for (const lease of kept.leases) {
      const task = tasks.get(lease.task)
      if (task === undefined) continue
      this.leases.set(lease.id, lease)
      this.running.set(lease.id, lease)
      this.tasks.set(task.id, task)
    }
    this.scheduleAt = kept.scheduleAt
    this.budgetAt = kept.budgetAt
    this.totals = kept.totals
    this.depth = 0
    this.delayed = 0
    for (const { depth, delayed } of this.streams.values()) {
      this.depth += depth
      this.delayed += delayed
    }
    this.next = { ...kept.next, client: this.next.client }
    this.warm = true
  }

  /** Rows that a flush has to do something about. */
  takeDuties({ lapsed, orphans, due }: Duties): void {
    for (const lease of lapsed) this.lookUp(undefined, lease)
    for (const lease of orphans) this.lookUp(undefined, lease)
    for (const task of due) this.lookUp(task)
  }

  private keepCount(what: Counted, count: number): void {
    if (what === 'schedules') this.scheduleCount = count
    else if (what === 'accessTokens') this.accessTokenCount = count
    else if (what === 'agents') this.agentCount = count
    else this.next.client = Math.max(this.next.client, count)
  }

  /** What another process may have changed goes; with `keepStreams` the streams and their order stay, as of the last commit seen. */
  clear(keepStreams = false): void {
    for (const table of this.tablesOf([...lookedUpTables, ...keptTables, ...toldTables])) table.clear()
    for (const map of [this.submissions, this.running, this.reputations]) map.clear()
    if (!keepStreams) this.clearStreams()
    this.scheduleAt = undefined
    this.budgetAt = undefined
    this.unknownAgents.clear()
    this.lookedUp.clear()
    this.lookedUpLeases.clear()
    this.warm = false
  }

  /** The same where it is known of which tasks another process has changed rows, and which streams: all other rows of tasks and leases stay. */
  clearChanged(touched: ReadonlySet<number>, streams: readonly StreamRow[]): void {
    this.forgetLookups()
    for (const { id } of streams) this.dropHeads(id)
    for (const id of touched) {
      const task = this.tasks.get(id)
      if (task?.stream != null && task.lease === null) this.dropHeads(task.stream)
    }
    for (const { id, task, process } of this.running.values())
      if (touched.has(task) || process === this.remote) {
        this.running.delete(id)
        this.leases.delete(id)
        this.forget(task)
      }
    for (const table of [...this.tablesOf(keptTables), this.reputations]) table.clear()
  }

  private dropHeads(stream: number): void {
    for (const { id } of this.heads.get(stream)?.rows ?? none) this.forget(id)
    this.heads.delete(stream)
  }

  private tablesOf(names: readonly TableName[]): readonly Clearable[] {
    return names.map((name): Clearable => this[name])
  }

  clearStreams(): void {
    for (const table of this.tablesOf(wholeTables)) table.clear()
    const { trees, ages, entries, pools } = this.shares
    for (const map of [trees, ages, entries, pools]) map.clear()
    this.next = { ...this.next, client: 1 }
  }

  /** More heads of a stream, behind those known already. */
  addHeads(stream: number, more: Heads): void {
    const known = this.heads.get(stream)
    this.heads.set(stream, known === undefined ? more : { ...more, rows: [...known.rows, ...more.rows] })
    for (const row of more.rows) this.tasks.set(row.id, row)
  }

  /** What a flush decided, now that it is committed. */
  absorb(ws: WorkingSet): void {
    for (const lease of ws.leases.changed.values()) {
      if (lease.state === 'running' && isOwn(this, lease.process)) {
        this.leases.set(lease.id, lease)
        this.running.set(lease.id, lease)
      } else {
        this.leases.delete(lease.id)
        this.running.delete(lease.id)
      }
    }
    for (const task of ws.tasks.changed.values()) {
      if (this.isOwn(task)) this.tasks.set(task.id, task)
      else this.forget(task.id)
    }
    for (const [task, memos] of ws.memos) if (this.tasks.has(task)) this.remember(task, memos)
    for (const [task, count] of ws.outputCounts.changed)
      if (this.tasks.has(task)) this.outputs.set(task, count)
    const first = firstOf(ws.tasks.changed.keys())
    for (const stream of ws.streams.changed.values()) {
      const isNew = !this.streams.has(stream.id)
      this.keepStream(stream)
      if (!this.isBehindHeads(ws, stream.id, first)) this.absorbHeads(ws, stream.id, isNew)
    }
    for (const task of ws.tasks.changed.values()) this.renewHead(ws, task)
    for (const row of ws.workers.changed.values()) {
      if (row.registered && isOwn(this, row.process)) this.workers.set(row.id, row)
      else this.workers.delete(row.id)
    }
    for (const row of ws.quotas.changed.values()) this.quotas.set(row.key, row)
    if (ws.shares === undefined) overwrite(this.clients, ws.clients.changed)
    else this.absorbShares(ws, ws.shares)
    for (const row of ws.reputations.values()) this.reputations.set(row.agent, row)
    overwrite(this.circuits, ws.circuits.changed)
    overwrite(this.usages, ws.usages.changed)
    overwrite(this.swarms, ws.swarms.changed)
    this.totals = ws.totals
    this.depth = ws.depth
    this.delayed = ws.delayed
    this.next = {
      task: ws.nextTask,
      lease: ws.nextLease,
      stream: ws.nextStream,
      worker: ws.nextWorker,
      client: ws.nextClient,
    }
    this.forgetLookups()
    this.renewTables(ws.tasks.changed.size + ws.leases.changed.size)
  }

  /** A stream that is new, or changed. */
  keepStream(stream: StreamRow): void {
    const isNew = !this.streams.has(stream.id)
    this.streams.set(stream.id, stream)
    this.streamsByKey.set(stream.key, stream)
    if (!isNew) return
    const others = this.streamsByClient.get(stream.client)
    if (others === undefined) this.streamsByClient.set(stream.client, [stream.id])
    else others.push(stream.id)
  }

  takeOrder(order: ShareOrder): void {
    for (const [group, tree] of order.trees) this.shares.trees.set(group, tree)
    for (const [group, tree] of order.ages) this.shares.ages.set(group, tree)
    for (const [stream, entry] of order.entries) this.shares.entries.set(stream, entry)
    for (const [name, pool] of order.pools) this.shares.pools.set(name, pool)
  }

  absorbShares(ws: WorkingSet, book: Shares): void {
    overwrite(this.clients, ws.clients.changed)
    const { trees, ages, entries, pools } = this.shares
    for (const [key, tree] of book.trees)
      if (tree === undefined) trees.delete(key)
      else trees.set(key, tree)
    for (const [group, tree] of book.ages) ages.set(group, tree)
    for (const [stream, entry] of book.entries)
      if (entry === gone) entries.delete(stream)
      else entries.set(stream, entry)
    for (const [name, pool] of book.pools)
      if (pool.members === 0 && name !== OPEN) pools.delete(name)
      else pools.set(name, pool)
  }

  /** Rows that one operation asked about, outside what is kept. */
  lookUp(task: TaskRow | undefined, lease?: LeaseRow): void {
    if (task !== undefined && !this.tasks.has(task.id)) {
      this.tasks.set(task.id, task)
      this.lookedUp.add(task.id)
    }
    if (lease !== undefined && !this.leases.has(lease.id)) {
      this.leases.set(lease.id, lease)
      this.lookedUpLeases.add(lease.id)
    }
  }

  /** Ends a flush: what was read for single operations goes. */
  forgetLookups(): void {
    for (const id of this.lookedUp) {
      const task = this.tasks.get(id)
      const kept = task !== undefined && (this.isOwn(task) || this.isHead(task))
      if (!kept) this.forget(id)
    }
    for (const id of this.lookedUpLeases) if (!this.running.has(id)) this.leases.delete(id)
    empty(this.lookedUp, this.lookedUpLeases, ...this.tablesOf(lookedUpTables))
    // Not before: what a flush was decided on must stay for as long as it lasts.
    if (this.reputations.size > maxReputations) this.reputations.clear()
  }

  /**
   * The table of a `Map` that was outgrown points to the next one. So one that lived long and is dead keeps all that follow it,
   * with every row in them, through each collection of the young: a fiftieth of the store's time. Copied in time, none gets old.
   */
  private renewTables(changes: number): void {
    this.changesSinceRenewal += changes
    if (this.changesSinceRenewal < this.tasks.size) return
    this.changesSinceRenewal = 0
    this.tasks = new Map(this.tasks)
    this.leases = new Map(this.leases)
    this.running = new Map(this.running)
    this.submissions = new Map(this.submissions)
  }

  private isOwn(task: TaskRow): boolean {
    return task.lease !== null && this.running.has(task.lease)
  }

  private isHead(task: TaskRow): boolean {
    return (
      task.stream !== null && (this.heads.get(task.stream)?.rows.some((row) => row.id === task.id) ?? false)
    )
  }

  /**
   * Whether a flush left the heads of a stream as they are, since all that it changed lies behind them: as a submission does to a long queue. `first`: the first
   * task that it changed.
   */
  private isBehindHeads(ws: WorkingSet, stream: number, first: number): boolean {
    const known = this.heads.get(stream)
    return known !== undefined && !known.complete && first > known.upTo && (ws.taken.get(stream) ?? 0) === 0
  }

  private absorbHeads(ws: WorkingSet, stream: number, isNew: boolean): void {
    const known = this.heads.get(stream) ?? (isNew ? { rows: [], upTo: 0, complete: true } : undefined)
    if (known === undefined) return
    const merged = mergeHeads(known, ws.queued.get(stream) ?? [])
    const rows = merged.slice(ws.taken.get(stream) ?? 0).flatMap((row) => {
      const task = ws.tasks.changed.get(row.id) ?? row
      return task.state === 'queued' && task.dueAt === null && task.stream === stream ? [task] : []
    })
    const most = ws.stream(stream).client === '' ? this.maxHeads : maxHeadsOfClient
    const kept = rows.length > most ? rows.slice(0, most) : rows
    const complete = known.complete && kept.length === rows.length
    const upTo = complete
      ? Number.MAX_SAFE_INTEGER
      : kept.length === rows.length
        ? known.upTo
        : (kept.at(-1)?.id ?? 0)
    this.heads.set(stream, { rows: kept, upTo, complete })
    for (const row of kept) this.tasks.set(row.id, row)
    for (const row of rows.slice(kept.length)) this.tasks.delete(row.id)
  }

  /** A queued task that changed without leaving its place (an event was appended) is kept as it is now. */
  private renewHead(ws: WorkingSet, task: TaskRow): void {
    if (
      task.state !== 'queued' ||
      task.dueAt !== null ||
      task.stream === null ||
      ws.streams.changed.has(task.stream)
    )
      return
    const heads = this.heads.get(task.stream)
    if (heads === undefined || !heads.rows.some((row) => row.id === task.id)) return
    this.heads.set(task.stream, {
      ...heads,
      rows: heads.rows.map((row) => (row.id === task.id ? task : row)),
    })
    this.tasks.set(task.id, task)
  }

  private remember(task: number, memos: ReadonlyMap<string, number>): void {
    const known = this.memos.get(task)
    if (known === undefined) this.memos.set(task, new Map(memos))
    else for (const [key, seq] of memos) known.set(key, seq)
  }

  private forget(task: number): void {
    this.tasks.delete(task)
    this.memos.delete(task)
    this.outputs.delete(task)
    this.submissions.delete(task)
  }
}

interface Clearable {
  readonly size: number
  clear(): void
}

/** Infinite where there is none. */
function firstOf(ids: Iterable<number>): number {
  let first = Number.POSITIVE_INFINITY
  for (const id of ids) if (id < first) first = id
  return first
}

/** What is empty already is left alone: clearing it would make a new table. */
function empty(...kept: readonly Clearable[]): void {
  for (const it of kept) if (it.size > 0) it.clear()
}

/** The rows that changed; undefined stands for one that is gone. */
function overwrite<K, V>(kept: Map<K, V>, changes: ReadonlyMap<K, V | undefined>): void {
  for (const [key, row] of changes) {
    if (row === undefined) kept.delete(key)
    else kept.set(key, row)
  }
}
