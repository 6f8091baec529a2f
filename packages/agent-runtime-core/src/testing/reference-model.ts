import { type Lane, laneRank } from '../lane.ts'
import type { LeaseEndReason } from '../lease.ts'
import type { LeaseState, TaskState } from '../states.ts'
import type {
  ModelConfig,
  ModelLease,
  ModelReceipt,
  ModelRequest,
  ModelSettlement,
  ModelSignal,
  ModelTask,
  ModelWait,
  ModelWorker,
  OverWait,
} from './model-records.ts'
import { mayTryAgain, sendBack, sendsBack, valueOf, whatIsDue, whatIsOver } from './model-waits.ts'

/**
 * The store as a page of plain code: what it may do, without how. Each call is a turn of its own in a process that is awake, at
 * the moment {@link ReferenceModel.now}. Source: `docs/reliability.md` 3.2, corrected by `docs/semantics.md`.
 */
export class ReferenceModel {
  now: number
  readonly tasks: ModelTask[] = []
  readonly leases: ModelLease[] = []
  workers: ModelWorker[] = []
  readonly keys = new Map<string, ModelTask>()
  rejected = 0
  /** Sequences given out, to rejected submissions too. */
  sequence = 0
  private renewAt: number
  private readonly config: ModelConfig

  constructor(config: ModelConfig, now: number) {
    this.config = config
    this.now = now
    this.renewAt = now
  }

  get depth(): number {
    return this.queued().filter(({ dueAt }) => dueAt === undefined).length
  }

  get delayed(): number {
    return this.queued().filter(({ dueAt }) => dueAt !== undefined).length
  }

  submit(it: { lane: Lane; type: string; input: string; key?: string; delayMs?: number }): ModelReceipt {
    return this.turn(() => {
      const known = it.key === undefined ? undefined : this.keys.get(it.key)
      if (known !== undefined) {
        const { sequence } = known
        return known.type === it.type && known.input === it.input
          ? { accepted: true, sequence, deduplicated: true }
          : { accepted: false, sequence, reason: 'idempotency_conflict' }
      }
      const dueAt = it.delayMs === undefined || it.delayMs === 0 ? undefined : this.now + it.delayMs
      const reason = this.refusal(it.lane, dueAt !== undefined)
      const sequence = ++this.sequence
      if (reason !== undefined) {
        this.rejected += 1
        return { accepted: false, sequence, reason }
      }
      const task: ModelTask = {
        sequence,
        lane: it.lane,
        type: it.type,
        input: it.input,
        key: it.key,
        state: 'queued',
        attempt: 1,
        crashes: 0,
        fence: 0,
        dueAt,
        lease: undefined,
        result: undefined,
        recorded: 0,
        memos: new Map(),
        waits: [],
        signals: [],
        ended: [],
        intents: [],
        approvedSeq: 0,
        rejections: [],
        events: ['task.queued'],
      }
      this.tasks.push(task)
      if (it.key !== undefined) this.keys.set(it.key, task)
      return { accepted: true, sequence, deduplicated: false }
    })
  }

  register(workerId: string, capacity: number, types: readonly string[]): void {
    this.turn(() => {
      this.workers.push({
        workerId,
        capacity,
        types,
        credit: capacity,
        given: 0,
        lastSeenAt: this.now,
        draining: false,
        registered: true,
      })
    })
  }

  drain(worker: ModelWorker): void {
    this.turn(() => void (worker.draining = true))
  }

  remove(worker: ModelWorker): void {
    this.turn(() => {
      for (const lease of this.live()) if (lease.worker === worker) this.requeue(lease, 'drained')
      worker.registered = false
    })
  }

  /** A slot whose lease has ended is free again. */
  free(lease: ModelLease): void {
    lease.slotBack = true
    lease.worker.credit += 1
    this.turn(() => undefined)
  }

  step(lease: ModelLease | undefined, key: string, value: string): 'stale' | { memo?: string } {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { memos, events } = lease.task
      const memo = memos.get(key)?.value
      if (memo !== undefined) return { memo }
      memos.set(key, { value, seq: events.push('step.completed') })
      lease.task.recorded += 1
      return {}
    })
  }

  /** The intent of a step, or with `failed` how a try of it ended. */
  intend(lease: ModelLease | undefined, key: string, failed?: 'error' | 'timeout'): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { intents, events } = lease.task
      const seq = events.push(failed === undefined ? 'step.started' : 'step.failed')
      intents.push({ key, seq, ...(failed === undefined ? {} : { failed }) })
      return 'ok'
    })
  }

  settle(lease: ModelLease | undefined, it: ModelSettlement): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease === undefined) return 'stale'
      const { delayMs: _, ...rest } = { delayMs: 0, ...it }
      const settlement = JSON.stringify(rest)
      if (lease.state !== 'running') return lease.settlement === settlement ? 'ok' : 'stale'
      lease.settlement = settlement
      if (it.as === 'retry') this.requeue(lease, 'retry', it.delayMs)
      else {
        lease.task.result = it.value
        this.finish(lease.task, it.as, it.as, it.as)
      }
      return 'ok'
    })
  }

  suspend(
    lease: ModelLease | undefined,
    asked: readonly ModelRequest[],
    stay: boolean,
  ): 'stale' | { suspended: boolean; resolved: readonly string[] } {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { task } = lease
      const isNew = ({ key }: { key: string }) => !task.waits.some((wait) => wait.key === key)
      const fresh = asked.filter(isNew).map((request) => this.begun(task, request))
      const over = whatIsOver(task, [...task.waits, ...fresh], this.now)
      const back = over.find(sendsBack)
      task.waits.push(...fresh)
      if (back !== undefined || (over.length === 0 && !stay)) {
        this.end(lease, 'completed', 'waiting')
        task.state = 'waiting'
        task.events.push('task.waiting')
        if (back !== undefined) this.conclude(task, back)
        return { suspended: true, resolved: [] }
      }
      for (const wait of fresh)
        if (wait.kind !== 'approval' && !over.some((it) => it.wait === wait)) task.events.push('wait.started')
      for (const it of over) this.endWait(task, it, task.events.push('wait.resolved'))
      return { suspended: false, resolved: over.map(({ wait }) => wait.key) }
    })
  }

  signal(
    task: ModelTask | undefined,
    name: string,
    value: string,
  ): { delivered: boolean; state?: TaskState } {
    return this.turn(() => {
      if (task === undefined) return { delivered: false }
      if (isOver(task)) return { delivered: false, state: task.state }
      task.events.push('signal.received')
      this.deliver(task, { name, value, at: this.now, outcome: 'received' })
      return { delivered: true, state: task.state }
    })
  }

  /** A verdict on the request of this seq; the first counts. */
  resolve(
    task: ModelTask | undefined,
    request: number,
    outcome: 'approved' | 'rejected',
    value: string,
  ): { as: 'resolved' | 'not_open'; state?: TaskState } {
    return this.turn(() => {
      if (task === undefined) return { as: 'not_open' }
      const wait = this.pending(task).find(({ terms }) => terms?.request === request)
      if (wait?.name === undefined) return { as: 'not_open', state: task.state }
      task.events.push('approval.resolved')
      this.deliver(task, { name: wait.name, value, at: this.now, outcome })
      return { as: 'resolved', state: task.state }
    })
  }

  /** The approvals of a task that nobody has answered. */
  pending({ waits, signals }: ModelTask): readonly ModelWait[] {
    return inOrder(waits).filter(
      ({ terms, name }) => terms?.asked === true && !signals.some((signal) => signal.name === name),
    )
  }

  release(lease: ModelLease | undefined, reason: 'yielded' | 'drained'): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      this.requeue(lease, reason)
      return 'ok'
    })
  }

  cancel(task: ModelTask | undefined): { canceled: boolean; state?: TaskState } {
    return this.turn(() => {
      if (task === undefined) return { canceled: false }
      if (isOver(task)) return { canceled: false, state: task.state }
      this.finish(task, 'canceled', 'canceled', 'canceled')
      return { canceled: true, state: 'canceled' }
    })
  }

  /** Time passes while the process sleeps; then it wakes. */
  advance(ms: number): void {
    this.now += ms
    this.turn(() => undefined)
  }

  /** The process ends its registration and a new one opens the store: workers are gone, leases run out. */
  restart(): void {
    this.workers = []
    this.renewAt = this.now
    this.turn(() => undefined)
  }

  /** What is due at a turn, the operation of the turn, and what can start then. */
  private turn<T>(operation: () => T): T {
    const renewing = this.now >= this.renewAt
    if (renewing) this.renewAt = this.now + this.config.heartbeatIntervalMs
    this.sweep()
    for (const task of this.queued())
      if (task.dueAt !== undefined && task.dueAt <= this.now) task.dueAt = undefined
    for (const task of this.tasks.filter(({ state }) => state === 'waiting')) {
      const due = whatIsDue(task, this.now)
      if (due !== undefined) this.conclude(task, due)
    }
    if (renewing) this.renew()
    const outcome = operation()
    this.claim()
    return outcome
  }

  private sweep(): void {
    const lapsed = this.live().filter(({ expiresAt }) => expiresAt <= this.now)
    for (const lease of lapsed.toSorted((a, b) => a.expiresAt - b.expiresAt || a.dispatch - b.dispatch)) {
      lease.task.crashes += 1
      if (lease.task.crashes >= this.config.maxCrashes) this.finish(lease.task, 'failed', 'failed', 'expired')
      else this.requeue(lease, 'expired')
    }
  }

  private renew(): void {
    for (const lease of this.live())
      if (this.workers.includes(lease.worker)) lease.expiresAt = this.now + this.config.leaseTtlMs
    for (const worker of this.workers) if (worker.registered) worker.lastSeenAt = this.now
  }

  private claim(): void {
    for (;;) {
      const next = this.queued()
        .filter(({ dueAt, type }) => dueAt === undefined && this.place(type) !== undefined)
        .toSorted((a, b) => laneRank[a.lane] - laneRank[b.lane] || a.sequence - b.sequence)[0]
      const worker = next === undefined ? undefined : this.place(next.type)
      if (next === undefined || worker === undefined) return
      worker.given += 1
      next.fence += 1
      const lease: ModelLease = {
        dispatch: this.leases.length + 1,
        task: next,
        worker,
        attempt: next.attempt,
        fence: next.fence,
        expiresAt: this.now + this.config.leaseTtlMs,
        state: 'running',
        endReason: undefined,
        settlement: undefined,
        slotBack: false,
      }
      this.leases.push(lease)
      next.state = 'running'
      next.lease = lease
      next.events.push('task.started')
    }
  }

  private place(type: string): ModelWorker | undefined {
    const inFlight = (worker: ModelWorker) => Math.max(0, worker.capacity - (worker.credit - worker.given))
    return this.workers
      .filter(
        (worker) =>
          worker.registered &&
          !worker.draining &&
          this.now - worker.lastSeenAt < this.config.leaseTtlMs &&
          inFlight(worker) < worker.capacity &&
          (worker.types.includes('*') || worker.types.includes(type)),
      )
      .toSorted(
        (a, b) =>
          inFlight(a) - inFlight(b) || a.lastSeenAt - b.lastSeenAt || (a.workerId < b.workerId ? -1 : 1),
      )[0]
  }

  private refusal(lane: Lane, delayed: boolean): string | undefined {
    if (delayed) return this.delayed >= this.config.maxDelayed ? 'queue_full' : undefined
    if (this.depth >= this.config.queueDepthLimit) return 'queue_full'
    return this.depth >= this.config.batchBackpressureThreshold && lane === 'batch'
      ? 'backpressure'
      : undefined
  }

  private begun(task: ModelTask, { delayMs, approval, ...wait }: ModelRequest): ModelWait {
    const dueAt = delayMs === undefined ? undefined : this.now + delayMs
    if (approval === undefined) return { ...wait, dueAt }
    const { asked, maxRetries, onReject, onTimeout } = approval
    const request = task.events.push('approval.requested')
    return { ...wait, dueAt, terms: { asked, maxRetries, onReject, onTimeout, request } }
  }

  private deliver(task: ModelTask, signal: ModelSignal): void {
    task.signals.push(signal)
    const wait = inOrder(task.waits).find(({ name }) => name === signal.name)
    if (task.state === 'waiting' && wait !== undefined)
      this.conclude(task, { wait, outcome: signal.outcome, at: this.now, signal })
  }

  /** A wait of a waiting task is over: it goes on, or fails for want of an approval. */
  private conclude(task: ModelTask, it: OverWait): void {
    if (sendsBack(it) && !mayTryAgain(task, it)) {
      task.result = undefined
      return this.finish(task, 'failed', 'failed', 'failed')
    }
    this.endWait(task, it, task.events.push('task.resumed'))
    task.state = 'queued'
  }

  private endWait(task: ModelTask, it: OverWait, seq: number): void {
    const { wait, outcome, signal } = it
    task.waits.splice(task.waits.indexOf(wait), 1)
    if (signal !== undefined) task.signals.splice(task.signals.indexOf(signal), 1)
    if (sendsBack(it) || outcome === 'fail') return sendBack(task, it, seq)
    task.ended.push({ key: wait.key, kind: wait.kind, outcome, value: valueOf(it), seq })
    if (outcome === 'approved' || outcome === 'passed') task.approvedSeq = seq
  }

  private requeue(lease: ModelLease, reason: 'expired' | 'retry' | 'yielded' | 'drained', delayMs = 0): void {
    const { task } = lease
    const isRise = reason === 'expired' || reason === 'retry'
    if (isRise) task.attempt += 1
    this.end(lease, isRise ? 'failed' : 'canceled', reason)
    task.state = 'queued'
    task.dueAt = delayMs > 0 ? this.now + delayMs : undefined
    task.events.push('task.requeued')
  }

  private finish(
    task: ModelTask,
    state: 'completed' | 'failed' | 'canceled',
    lease: LeaseState,
    reason: LeaseEndReason,
  ): void {
    if (task.lease !== undefined) this.end(task.lease, lease, reason)
    task.state = state
    task.dueAt = undefined
    task.waits.length = 0
    task.signals.length = 0
    task.events.push(`task.${state}`)
  }

  private end(lease: ModelLease, state: LeaseState, reason: LeaseEndReason): void {
    lease.state = state
    lease.endReason = reason
    lease.task.lease = undefined
  }

  private queued(): ModelTask[] {
    return this.tasks.filter(({ state }) => state === 'queued')
  }

  private live(): ModelLease[] {
    return this.leases.filter(({ state }) => state === 'running')
  }
}

function isOver({ state }: ModelTask): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled'
}

/** In the order of the calls. */
export function inOrder(waits: readonly ModelWait[]): readonly ModelWait[] {
  return waits.toSorted((a, b) => a.position - b.position || (a.key < b.key ? -1 : 1))
}
