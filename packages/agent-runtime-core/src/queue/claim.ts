import { type Candidate, decidePlacement, isEligible } from './placement.ts'
import { Heap } from './heap.ts'
import { comesBefore, type Head } from './order.ts'
import { isPaused } from './pause.ts'
import { decidePreemption } from './preemption.ts'
import { agedRank } from '../share/fairness.ts'
import { isSuspect } from './quarantine.ts'
import { lanes } from '../task/lane.ts'
import { startQueued } from './start-queued.ts'
import { sharedKeys, streamOf } from './stream.ts'
import { lacksCredits } from '../ledger/afford.ts'
import { askForCredits } from '../ledger/ask.ts'
import { mayStart, QuotaRoom, toReserve } from '../quota/hold.ts'
import { type Found, type Next, ShareRound } from '../share/share-round.ts'
import type { AccountRow } from '../budget/row.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { StreamRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import { notice } from '../lease/fence.ts'
import type { Heads, WorkingSet } from '../transition/working-set.ts'
import { isSilent } from '../worker/worker.ts'

/** A worker of this process and its standing demand. `inFlight` counts its taken slots and rises with every grant. */
export interface Demander extends Candidate {
  readonly worker: number
  inFlight: number
}

/** A task that was given to a worker in this flush. */
export interface Grant {
  readonly task: TaskRow
  readonly lease: LeaseRow
  readonly workerId: string
}

/** Streams that go by one order: those whose heads are known, and those that have to be asked. */
interface Line {
  readonly without: StreamRow[]
  readonly heads: Heap<Head & Found>
}

/**
 * Hands queued tasks to free slots until there are none of either; resumable: when it needs to know the heads of more
 * streams, it says which and is called again once they are loaded. Source: Track AA, Scheduling Rules; `docs/semantics.md 3`.
 */
export class ClaimRound {
  readonly grants: Grant[] = []
  private readonly ws: WorkingSet
  private readonly workers: readonly Demander[]
  /** This process's leases as of the last commit. */
  private readonly running: ReadonlyMap<number, LeaseRow>
  /** Whether a suspect runs in this process; undefined until somebody asks. */
  private suspectRuns: boolean | undefined
  private readonly blocked = new Set<number>()
  private readonly merged = new Map<number, readonly TaskRow[]>()
  /** Undefined where there are no shares. */
  private readonly byShares: ShareRound | undefined

  constructor(ws: WorkingSet, workers: readonly Demander[], running: ReadonlyMap<number, LeaseRow>) {
    this.ws = ws
    this.workers = workers
    this.running = running
    const { shares } = ws
    this.byShares =
      shares &&
      new ShareRound(ws, shares, {
        headOf: (stream) => this.head(stream),
        mayRun: (stream, quotaKeys) => this.mayRun(stream, quotaKeys, anyTask),
        heldBy: (stream) => this.heldBy(ws.stream(stream)),
        hasRoom: (quotaKeys) => mayStart(ws, quotaKeys, anyTask),
        grants: () => this.grants.length,
      })
  }

  /** Slots that could be given out now. */
  get freeSlots(): number {
    let sum = 0
    for (const worker of this.workers) if (this.mayTake(worker)) sum += worker.capacity - worker.inFlight
    return sum
  }

  /** The streams whose heads must be loaded before it can go on; undefined when the round is over. */
  run(): readonly number[] | undefined {
    const lines = this.ws.shares === undefined ? this.lines() : noLines
    while (this.workers.some((worker) => this.mayTake(worker))) {
      const next = this.next(lines)
      if (next === undefined) break
      if ('unknown' in next) return next.unknown
      this.start(next.task, next.row)
    }
    this.byShares?.end()
    return undefined
  }

  /** The head that comes next, or the streams of which a head must be known first. The caller starts the head that it gets. */
  private next(lines: readonly Line[]): Next | undefined {
    if (this.byShares !== undefined) return this.byShares.next()
    for (const line of lines) {
      const unknown = this.fill(line)
      if (unknown.length > 0) return { unknown }
      for (let first = line.heads.first; first !== undefined; first = line.heads.first) {
        line.heads.removeFirst()
        if (this.isRunnable(first.task)) {
          line.without.push(first.row)
          return first
        }
        // Grants only take room away: what may not start now may not in this round.
        this.blocked.add(first.stream)
      }
    }
    return undefined
  }

  /** Gives the streams of a line their heads. Returns those whose head is not known. */
  private fill(line: Line): readonly number[] {
    const unknown: number[] = []
    const { agingMs } = this.ws.config
    for (const row of line.without.splice(0)) {
      const { id: stream, laneRank } = row
      if (this.blocked.has(stream) || this.ws.stream(stream).depth === 0) continue
      const task = this.first(stream)
      if (task === 'unknown') unknown.push(stream)
      else if (task !== undefined) {
        const rank =
          agingMs === undefined ? laneRank : agedRank(laneRank, this.ws.now.at - task.queuedAt, agingMs)
        line.heads.add({ stream, laneRank: rank, sequence: task.id, task, row })
      }
    }
    return unknown
  }

  /** The streams of each lane. Where waiting lifts tasks, those of all lanes are looked at together. Source: `docs/semantics.md` C5. */
  private lines(): readonly Line[] {
    const byLane = this.openStreams()
    const lines = this.ws.config.agingMs === undefined ? byLane : [byLane.flat()]
    return lines.map((without) => ({ without, heads: new Heap<Head & Found>(comesBefore) }))
  }

  /**
   * Asks running tasks to yield when interactive ones wait for nothing but a slot; only those whose slot would be of use.
   * Source: `docs/semantics.md 3.6`.
   */
  preempt(): void {
    const { ws } = this
    if (!ws.config.preemption) return
    const waiting = (this.openStreams()[0] as StreamRow[]).filter((row) => this.lacksOnlySlot(row))
    const room = new QuotaRoom(ws)
    const count = waiting.reduce((sum, row) => sum + room.take(row, row.depth, this.tokensOf(row)), 0)
    if (count === 0) return
    const candidates = [...this.running.values()].flatMap(({ id }) => {
      const lease = ws.lease(id)
      if (lease?.state !== 'running') return []
      const isOfUse = this.workers.some(
        (it) => it.worker === lease.worker && waiting.some((stream) => this.couldTake(it, stream)),
      )
      const task = ws.task(lease.task)
      if (task === undefined || !isOfUse) return []
      const { laneRank } = ws.stream(streamOf(task))
      return [{ id, laneRank, dispatch: id, asked: lease.yieldAskedAt !== null, lease }]
    })
    for (const { lease } of decidePreemption(count, candidates)) {
      ws.putLease({ ...lease, yieldAskedAt: ws.now.leaseAt })
      notice(ws, lease, 'yield')
    }
  }

  /**
   * The tokens that the first task of a stream reserves; none if it is not known, so that a slot is freed for
   * it and it is loaded.
   */
  private tokensOf({ id }: StreamRow): number {
    const first = this.firstOf(id)
    return first === undefined ? 0 : toReserve(first)
  }

  /** The first task of a stream, if it is known. */
  private firstOf(stream: number): TaskRow | undefined {
    for (const row of this.candidates(stream)) {
      const task = this.ws.tasks.changed.get(row.id) ?? row
      if (this.isQueuedIn(stream, task)) return task
    }
    return undefined
  }

  private isQueuedIn(stream: number, task: TaskRow): boolean {
    return task.state === 'queued' && task.dueAt === null && task.stream === stream
  }

  /** Whether a stream's type is run here, by workers that are all full. */
  private lacksOnlySlot(stream: StreamRow): boolean {
    if (isPaused(this.ws, stream)) return false
    const able = this.workers.filter((worker) => this.couldTake(worker, stream))
    if (able.length === 0 || able.some((worker) => worker.inFlight < worker.capacity)) return false
    const first = this.firstOf(stream.id)
    return first === undefined || !(this.isQuarantined(first) || lacksCredits(this.ws, stream, first))
  }

  private couldTake(worker: Demander, { type, laneRank }: StreamRow): boolean {
    const { config, now } = this.ws
    return isEligible({ ...worker, inFlight: 0 }, type, now.leaseAt, config.leaseTtlMs, lanes[laneRank])
  }

  private mayTake(worker: Demander): boolean {
    const { config, now } = this.ws
    return (
      worker.inFlight < worker.capacity &&
      !worker.draining &&
      !isSilent(worker.lastSeenAt, now.leaseAt, config.leaseTtlMs)
    )
  }

  private openStreams(): StreamRow[][] {
    const byLane: StreamRow[][] = lanes.map(() => [])
    for (const stream of this.ws.streams.all())
      if (stream.depth > 0) (byLane[stream.laneRank] as StreamRow[]).push(stream)
    return byLane
  }

  /** The first task of a stream if it may run; a stream whose head may not is passed over for this round, in place. One that lacks nothing but credits asks for them. */
  private head(stream: number): TaskRow | 'unknown' | undefined {
    const task = this.first(stream)
    if (task === undefined || task === 'unknown') return task
    if (this.isRunnable(task)) {
      const row = this.ws.stream(stream)
      if (!lacksCredits(this.ws, row, task)) return task
      askForCredits(this.ws, row, task)
    }
    this.blocked.add(stream)
    return undefined
  }

  /** The first queued task of a stream that was not given away in this round. */
  private first(stream: number): TaskRow | 'unknown' | undefined {
    const { ws } = this
    const loaded = ws.base.heads.get(stream)
    if (loaded === undefined && ws.base.streams.has(stream)) return 'unknown'
    const rows = this.candidates(stream)
    let taken = ws.taken.get(stream) ?? 0
    for (; taken < rows.length; taken++) {
      const row = rows[taken] as TaskRow
      const task = ws.tasks.changed.get(row.id) ?? row
      if (!this.isQueuedIn(stream, task)) continue
      ws.taken.set(stream, taken)
      return task
    }
    ws.taken.set(stream, taken)
    return loaded === undefined || loaded.complete ? undefined : 'unknown'
  }

  /** The known tasks of a stream, in order: loaded heads, and the tasks queued in this flush. */
  private candidates(stream: number): readonly TaskRow[] {
    const known = this.merged.get(stream)
    if (known !== undefined) return known
    const rows = mergeHeads(this.ws.base.heads.get(stream) ?? noHeads, this.ws.queued.get(stream) ?? noTasks)
    this.merged.set(stream, rows)
    return rows
  }

  /** More heads of these streams were loaded, behind those known. */
  loaded(streams: readonly number[]): void {
    for (const stream of streams) this.merged.delete(stream)
  }

  /** Which quotas have no room for the first of a stream, or whether its client lacks credits. That it wants more tokens than are left does not count: the next may want fewer. */
  private heldBy(stream: StreamRow): 'shared' | 'own' | undefined {
    const { id, quotaKeys } = stream
    const head = this.firstOf(id)
    const { fence, tokens } = head ?? anyTask
    const first = { fence, tokens: Math.min(1, tokens) }
    const shared = sharedKeys(quotaKeys)
    if (!mayStart(this.ws, shared, first)) return 'shared'
    if (head !== undefined && lacksCredits(this.ws, stream, head)) return 'own'
    return mayStart(this.ws, quotaKeys, first) ? undefined : 'own'
  }

  /** Whether a task may run now, whatever credits its client has: those are for `head` to look at. */
  private isRunnable(task: TaskRow): boolean {
    const stream = this.ws.stream(streamOf(task))
    return this.mayRun(stream, stream.quotaKeys, task) && !this.isQuarantined(task)
  }

  /** A suspect waits until no other runs in this process. Source: `docs/semantics.md 3.9`. */
  private isQuarantined(task: TaskRow): boolean {
    if (!this.isSuspect(task)) return false
    this.suspectRuns ??= this.runsSuspect()
    return this.suspectRuns
  }

  private runsSuspect(): boolean {
    for (const { id, task, attempt } of this.running.values()) {
      // The first attempt has no crash behind it.
      if (attempt === 1 || !this.ws.isHeld({ id })) continue
      const row = this.ws.task(task)
      if (row !== undefined && this.isSuspect(row)) return true
    }
    return false
  }

  private isSuspect(task: TaskRow): boolean {
    return isSuspect(task, this.ws.config.maxCrashes)
  }

  private mayRun(
    stream: StreamRow,
    quotaKeys: readonly string[],
    task: Pick<TaskRow, 'fence' | 'tokens'>,
  ): boolean {
    const { ws } = this
    const { type, laneRank } = stream
    const { leaseAt } = ws.now
    return (
      !isPaused(ws, stream) &&
      this.workers.some((worker) =>
        isEligible(worker, type, leaseAt, ws.config.leaseTtlMs, lanes[laneRank]),
      ) &&
      mayStart(ws, quotaKeys, task)
    )
  }

  private start(task: TaskRow, stream: StreamRow): void {
    const { ws } = this
    const { leaseAt } = ws.now
    const worker = decidePlacement(
      this.workers,
      stream.type,
      leaseAt,
      ws.config.leaseTtlMs,
      lanes[stream.laneRank],
    )
    if (worker === undefined) throw new Error(`no worker for ${stream.type}, although one was eligible`)
    const { task: row, lease } = startQueued(ws, task, stream, worker, (reserved, id) =>
      this.charge(reserved, stream, id),
    )
    worker.inFlight++
    if (this.isSuspect(task)) this.suspectRuns = true
    ws.taken.set(stream.id, (ws.taken.get(stream.id) ?? 0) + 1)
    this.grants.push({ task: row, lease, workerId: worker.workerId })
  }

  /** Where there are shares: what the start adds to its client's, and the stream's next head. */
  private charge(task: TaskRow, stream: StreamRow, dispatch: number): AccountRow | null {
    const { shares } = this.ws
    if (shares === undefined) return task.account
    const next = this.candidates(stream.id)[(this.ws.taken.get(stream.id) ?? 0) + 1]
    this.ws.moveHead(stream.id, next ?? { id: task.id + 1, account: task.account })
    const account = shares.charge(task, stream, dispatch)
    shares.replace(this.ws.stream(stream.id))
    return account
  }
}

/** A task that needs no tokens: what has no room for it has none for any. */
const anyTask = { fence: 0, tokens: 0 } as const
const noLines: readonly Line[] = []
const noTasks: readonly TaskRow[] = []
/** The heads of a stream that is new. */
const noHeads: Heads = { rows: noTasks, upTo: 0, complete: true }

/** Loaded heads and tasks queued since, in order of submission; what lies beyond the loaded stretch is left for later. */
export function mergeHeads({ rows, upTo, complete }: Heads, queued: readonly TaskRow[]): readonly TaskRow[] {
  const within = queued.filter((task) => complete || task.id <= upTo)
  if (within.length === 0) return rows
  return [...rows, ...within].toSorted((a, b) => a.id - b.id)
}
