import {
  mergeHeads,
  noTotals,
  type Base,
  type ChildRow,
  type Heads,
  type History,
  type KeyRow,
  type LeaseRow,
  type QuotaRow,
  type ScheduleRow,
  type SignalRow,
  type StreamRow,
  type TaskRow,
  type VerdictsRow,
  type WaitRow,
  type WorkerRow,
  type WorkingSet,
} from '@ku0/agent-runtime-core'

/** Heads of one stream that are kept between flushes; what lies behind them is read again when they are used up. */
const maxHeads = 512

/**
 * Committed rows kept between flushes: counters, this process's running tasks, the heads of streams. It changes after a commit
 * only, and is dropped whole when a flush failed or another process wrote.
 */
export class Cache implements Base {
  readonly process: number
  readonly tasks = new Map<number, TaskRow>()
  readonly leases = new Map<number, LeaseRow>()
  readonly streams = new Map<number, StreamRow>()
  readonly streamsByKey = new Map<string, StreamRow>()
  readonly workers = new Map<number, WorkerRow>()
  readonly quotas = new Map<string, QuotaRow>()
  readonly keys = new Map<string, KeyRow>()
  readonly explicitIds = new Map<string, number>()
  readonly heads = new Map<number, Heads>()
  readonly memos = new Map<number, Map<string, number>>()
  readonly outputs = new Map<number, number>()
  /** The data of `task.queued` of heads, as far as it was read with them. */
  readonly submissions = new Map<number, string>()
  readonly events = new Map<string, string>()
  readonly waits = new Map<number, readonly WaitRow[]>()
  readonly signals = new Map<number, readonly SignalRow[]>()
  readonly verdicts = new Map<number, VerdictsRow>()
  readonly blobs = new Map<string, string>()
  readonly children = new Map<number, ReadonlyMap<number, ChildRow>>()
  readonly childKeys = new Map<string, ChildRow>()
  readonly histories = new Map<number, History>()
  readonly naming = new Map<string, readonly number[]>()
  readonly schedules = new Map<string, ScheduleRow>()
  scheduleCount = 0
  /** When the first schedule that is not paused is due. */
  scheduleAt: number | undefined
  /** This process's live leases. */
  readonly running = new Map<number, LeaseRow>()
  totals = noTotals
  depth = 0
  delayed = 0
  next = { task: 1, lease: 1, stream: 1, worker: 1 }
  private readonly lookedUp = new Set<number>()
  private readonly lookedUpLeases = new Set<number>()
  /** False until the counters were loaded. */
  warm = false

  constructor(process: number) {
    this.process = process
  }

  clear(): void {
    for (const map of [
      this.tasks,
      this.leases,
      this.streams,
      this.workers,
      this.heads,
      this.memos,
      this.outputs,
      this.submissions,
      this.running,
    ])
      map.clear()
    for (const map of [this.streamsByKey, this.quotas, this.keys, this.explicitIds, this.events]) map.clear()
    this.histories.clear()
    this.naming.clear()
    this.schedules.clear()
    this.scheduleAt = undefined
    this.forgetWaits()
    this.lookedUp.clear()
    this.lookedUpLeases.clear()
    this.warm = false
  }

  /** More heads of a stream, behind those known already. */
  addHeads(stream: number, more: Heads): void {
    const known = this.heads.get(stream)
    this.heads.set(stream, known === undefined ? more : { ...more, rows: [...known.rows, ...more.rows] })
    for (const row of more.rows) this.tasks.set(row.id, row)
  }

  /** What a flush decided, now that it is committed. */
  absorb(ws: WorkingSet): void {
    for (const lease of ws.leases.values()) {
      if (lease.state === 'running' && lease.process === this.process) {
        this.leases.set(lease.id, lease)
        this.running.set(lease.id, lease)
      } else {
        this.leases.delete(lease.id)
        this.running.delete(lease.id)
      }
    }
    for (const task of ws.tasks.values()) {
      if (this.isOwn(task)) this.tasks.set(task.id, task)
      else this.forget(task.id)
    }
    for (const [task, memos] of ws.memos) if (this.tasks.has(task)) this.remember(task, memos)
    for (const [task, count] of ws.outputCounts) if (this.tasks.has(task)) this.outputs.set(task, count)
    for (const stream of ws.streams.values()) {
      const isNew = !this.streams.has(stream.id)
      this.streams.set(stream.id, stream)
      this.streamsByKey.set(stream.key, stream)
      this.absorbHeads(ws, stream.id, isNew)
    }
    for (const task of ws.tasks.values()) this.renewHead(ws, task)
    for (const row of ws.workers.values()) {
      if (row.registered && row.process === this.process) this.workers.set(row.id, row)
      else this.workers.delete(row.id)
    }
    for (const row of ws.quotas.values()) this.quotas.set(row.key, row)
    this.totals = ws.totals
    this.depth = ws.depth
    this.delayed = ws.delayed
    this.next = { task: ws.nextTask, lease: ws.nextLease, stream: ws.nextStream, worker: ws.nextWorker }
    this.forgetLookups()
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
    this.lookedUp.clear()
    this.lookedUpLeases.clear()
    this.keys.clear()
    this.explicitIds.clear()
    this.events.clear()
    this.histories.clear()
    this.naming.clear()
    this.schedules.clear()
    this.forgetWaits()
  }

  private forgetWaits(): void {
    this.waits.clear()
    this.signals.clear()
    this.verdicts.clear()
    this.blobs.clear()
    this.children.clear()
    this.childKeys.clear()
  }

  private isOwn(task: TaskRow): boolean {
    return task.lease !== null && this.running.has(task.lease)
  }

  private isHead(task: TaskRow): boolean {
    return (
      task.stream !== null && (this.heads.get(task.stream)?.rows.some((row) => row.id === task.id) ?? false)
    )
  }

  private absorbHeads(ws: WorkingSet, stream: number, isNew: boolean): void {
    const known = this.heads.get(stream) ?? (isNew ? { rows: [], upTo: 0, complete: true } : undefined)
    if (known === undefined) return
    const merged = mergeHeads(known.rows, ws.queued.get(stream) ?? [], known.upTo, known.complete)
    const rows = merged.slice(ws.taken.get(stream) ?? 0).flatMap((row) => {
      const task = ws.tasks.get(row.id) ?? row
      return task.state === 'queued' && task.dueAt === null && task.stream === stream ? [task] : []
    })
    const kept = rows.length > maxHeads ? rows.slice(0, maxHeads) : rows
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
    if (task.state !== 'queued' || task.dueAt !== null || task.stream === null || ws.streams.has(task.stream))
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
