import { decidePlacement, isEligible, type Candidate } from '../decide/placement.ts'
import { decideOrder, type Head } from '../decide/order.ts'
import { decidePreemption } from '../decide/preemption.ts'
import { countInWindow, hasRoomAtDispatch, quotaRule } from '../decide/quota.ts'
import { lanes } from '../lane.ts'
import { windowStart } from '../quota.ts'
import { dequeue, hold, streamOf } from './queue.ts'
import type { LeaseRow, StreamRow, TaskRow } from './rows.ts'
import { notice } from './settle.ts'
import type { WorkingSet } from './working-set.ts'

/** A worker of this process and its standing demand. `inFlight` counts its taken slots and rises with every grant. */
export interface Demander extends Candidate {
  readonly worker: number
  inFlight: number
}

/** A task that was handed to a worker in this flush. */
export interface Grant {
  readonly task: TaskRow
  readonly lease: LeaseRow
  readonly workerId: string
}

/**
 * Hands queued tasks to free slots until there are none of either; resumable: when it needs to know the heads of more
 * streams, it says which and is called again once they are loaded. Source: Track AA, Scheduling Rules; `docs/semantics.md 3`.
 */
export class ClaimRound {
  readonly grants: Grant[] = []
  private readonly ws: WorkingSet
  private readonly workers: readonly Demander[]
  private readonly blocked = new Set<number>()
  private readonly merged = new Map<number, readonly TaskRow[]>()

  constructor(ws: WorkingSet, workers: readonly Demander[]) {
    this.ws = ws
    this.workers = workers
  }

  /** Slots that could be given out now. */
  get freeSlots(): number {
    let sum = 0
    for (const worker of this.workers) if (this.mayTake(worker)) sum += worker.capacity - worker.inFlight
    return sum
  }

  /** The streams whose heads must be loaded before it can go on; undefined when the round is over. */
  run(): readonly number[] | undefined {
    const streams = this.openStreams()
    while (this.workers.some((worker) => this.mayTake(worker))) {
      const unknown: number[] = []
      const heads: (Head & { readonly task: TaskRow; readonly row: StreamRow })[] = []
      for (const lane of lanes.keys()) {
        for (const row of streams[lane] ?? []) {
          if (this.blocked.has(row.id) || this.ws.stream(row.id).depth === 0) continue
          const task = this.head(row.id)
          if (task === 'unknown') unknown.push(row.id)
          else if (task !== undefined)
            heads.push({ stream: row.id, laneRank: lane, sequence: task.id, task, row })
        }
        if (unknown.length > 0) return unknown
        if (heads.length > 0) break
      }
      const next = decideOrder(heads)
      if (next === undefined) return undefined
      this.start(next.task, next.row)
    }
    return undefined
  }

  /** Asks running tasks to yield when interactive ones wait and no slot is free. Source: `docs/semantics.md 3.6`. */
  preempt(running: Iterable<LeaseRow>): void {
    const { ws } = this
    if (!ws.config.preemption || this.freeSlots > 0) return
    const waiting = (this.openStreams()[0] ?? []).reduce(
      (sum, row) => sum + (this.blocked.has(row.id) ? 0 : row.depth),
      0,
    )
    if (waiting === 0) return
    const candidates = [...running].flatMap(({ id }) => {
      const lease = ws.lease(id)
      const task = lease?.state === 'running' ? ws.task(lease.task) : undefined
      if (lease === undefined || task === undefined) return []
      const laneRank = ws.stream(streamOf(task)).laneRank
      return [{ id, laneRank, dispatch: id, asked: lease.yieldAskedAt !== null, lease }]
    })
    for (const { lease } of decidePreemption(waiting, candidates)) {
      ws.putLease({ ...lease, yieldAskedAt: ws.now.leaseAt })
      notice(ws, lease, 'yield')
    }
  }

  private mayTake(worker: Demander): boolean {
    return (
      worker.inFlight < worker.capacity &&
      !worker.draining &&
      this.ws.now.leaseAt - worker.lastSeenAt < this.ws.config.leaseTtlMs
    )
  }

  private openStreams(): StreamRow[][] {
    const byLane: StreamRow[][] = lanes.map(() => [])
    for (const stream of this.ws.allStreams()) if (stream.depth > 0) byLane[stream.laneRank]?.push(stream)
    return byLane
  }

  /** The first task of a stream that may run; a stream whose head may not is passed over for this round, in place. */
  private head(stream: number): TaskRow | 'unknown' | undefined {
    const { ws } = this
    const loaded = ws.base.heads.get(stream)
    if (loaded === undefined && ws.base.streams.has(stream)) return 'unknown'
    const rows = this.candidates(stream)
    let taken = ws.taken.get(stream) ?? 0
    for (; taken < rows.length; taken++) {
      const row = rows[taken] as TaskRow
      const task = ws.tasks.get(row.id) ?? row
      if (task.state !== 'queued' || task.dueAt !== null) continue
      ws.taken.set(stream, taken)
      if (this.isRunnable(task)) return task
      this.blocked.add(stream)
      return undefined
    }
    ws.taken.set(stream, taken)
    return loaded === undefined || loaded.complete ? undefined : 'unknown'
  }

  /** What is known of a stream, in order: loaded heads with the tasks queued in this flush among them. */
  private candidates(stream: number): readonly TaskRow[] {
    const known = this.merged.get(stream)
    const loaded = this.ws.base.heads.get(stream)
    if (known !== undefined) return known
    const rows = mergeHeads(
      loaded?.rows ?? [],
      this.ws.queued.get(stream) ?? [],
      loaded?.upTo ?? 0,
      loaded?.complete ?? true,
    )
    this.merged.set(stream, rows)
    return rows
  }

  /** More heads of these streams were loaded, behind those known. */
  loaded(streams: readonly number[]): void {
    for (const stream of streams) this.merged.delete(stream)
  }

  private isRunnable(task: TaskRow): boolean {
    const { ws } = this
    const { type, quotaKeys } = ws.stream(streamOf(task))
    const { leaseAt } = ws.now
    if (!this.workers.some((worker) => isEligible(worker, type, leaseAt, ws.config.leaseTtlMs))) return false
    const window = windowStart(ws.now.at, ws.config.quotaConfig?.windowMs ?? 60_000)
    return quotaKeys.every((key) => {
      const rule = quotaRule(ws.config.quotaConfig, key)
      return rule === undefined || hasRoomAtDispatch(rule, ws.quota(key), window, task.tokens)
    })
  }

  private start(task: TaskRow, stream: StreamRow): void {
    const { ws } = this
    const { at, leaseAt } = ws.now
    const worker = decidePlacement(this.workers, stream.type, leaseAt, ws.config.leaseTtlMs)
    if (worker === undefined) throw new Error(`no worker for ${stream.type}, although one was eligible`)
    const id = ws.nextLease++
    const fence = task.fence + 1
    dequeue(ws, task)
    hold(ws, task, 'queued', 'running')
    this.countWindows(task, stream)
    const row = ws.move(
      task,
      { state: 'running', lease: id, fence, startedAt: at },
      'task.started',
      `{"attempt":${task.attempt},"dispatch":${id},"fencingToken":${fence},"lane":"${lanes[stream.laneRank]}","leaseId":"${ws.ids.lease(id)}","type":${JSON.stringify(stream.type)},"waitMs":${Math.max(0, at - task.queuedAt)},"workerId":${JSON.stringify(worker.workerId)}}`,
      acquired,
    )
    const lease: LeaseRow = {
      id,
      task: row.id,
      worker: worker.worker,
      process: ws.base.process,
      attempt: row.attempt,
      fence,
      state: 'running',
      acquiredAt: leaseAt,
      expiresAt: leaseAt + ws.config.leaseTtlMs,
      lastHeartbeatAt: leaseAt,
      endedAt: null,
      endReason: null,
      endSeq: null,
      yieldAskedAt: null,
      abortAcknowledgedAt: null,
      abortGraceExpiredAt: null,
      progress: null,
    }
    ws.putLease(lease)
    worker.inFlight++
    ws.taken.set(stream.id, (ws.taken.get(stream.id) ?? 0) + 1)
    ws.count({ running: ws.totals.running + 1 })
    this.grants.push({ task: row, lease, workerId: worker.workerId })
  }

  /** Windows in defer mode count at dispatch. Source: `docs/semantics.md 2.8`. */
  private countWindows(task: TaskRow, stream: StreamRow): void {
    const { ws } = this
    for (const key of stream.quotaKeys)
      if (quotaRule(ws.config.quotaConfig, key)?.onExceeded === 'defer')
        ws.putQuota(
          countInWindow(
            ws.quota(key),
            windowStart(ws.now.at, ws.config.quotaConfig?.windowMs ?? 60_000),
            task.tokens,
          ),
        )
  }
}

const acquired = ['lease.acquired'] as const

/** Loaded heads and tasks queued since, in order of submission; what lies beyond the loaded stretch is left for later. */
export function mergeHeads(
  rows: readonly TaskRow[],
  queued: readonly TaskRow[],
  upTo: number,
  complete: boolean,
): readonly TaskRow[] {
  const within = queued.filter((task) => complete || task.id <= upTo).toSorted((a, b) => a.id - b.id)
  if (within.length === 0) return rows
  const last = rows.at(-1)

  if (last === undefined || (within[0] as TaskRow).id > last.id) return [...rows, ...within]
  return [...rows, ...within].toSorted((a, b) => a.id - b.id)
}
