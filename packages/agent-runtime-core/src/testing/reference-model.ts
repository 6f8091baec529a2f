import { childName, type ChildPolicy } from '../child.ts'
import type { FailureKind } from '../event.ts'
import { type Lane, laneRank } from '../lane.ts'
import type { LeaseEndReason } from '../lease.ts'
import type { LeaseState, TaskState } from '../states.ts'
import { type Overlap, runKeyOf } from '../schedule.ts'
import type { WaitKind, WaitOutcome } from '../wait.ts'

/** The settings that the model knows. */
export interface ModelConfig {
  readonly leaseTtlMs: number
  readonly heartbeatIntervalMs: number
  readonly queueDepthLimit: number
  readonly batchBackpressureThreshold: number
  readonly maxDelayed: number
  readonly maxCrashes: number
}

export interface ModelTask {
  readonly sequence: number
  readonly lane: Lane
  readonly type: string
  readonly input: string
  readonly key: string | undefined
  state: TaskState
  attempt: number
  crashes: number
  fence: number
  dueAt: number | undefined
  lease: ModelLease | undefined
  result: string | undefined
  /** It waits because its code and its history part. */
  parked: boolean
  readonly memos: Map<string, string>
  readonly waits: ModelWait[]
  readonly signals: ModelSignal[]
  /** How its waits ended: key, outcome, value. */
  readonly ended: [string, WaitOutcome, string | undefined][]
  readonly events: string[]
  readonly parent: ModelTask | undefined
  readonly children: Map<string, ModelChild>
}

/** A child, by the key that its parent gave it. */
interface ModelChild {
  readonly key: string
  readonly task: ModelTask
  readonly policy: ChildPolicy
  isOpen: boolean
}

export interface ModelWait {
  readonly key: string
  readonly kind: WaitKind
  /** Of a signal. */
  readonly name?: string
  readonly position: number
  readonly dueAt: number | undefined
}

interface ModelSignal {
  readonly name: string
  readonly value: string
  readonly at: number
}

/** A wait that needs no waiting, and since when. */
interface OverWait {
  readonly key: string
  readonly outcome: WaitOutcome
  readonly at: number
  readonly position: number
  readonly signal: ModelSignal | undefined
}

/** A wait as a pass asks for it. */
export interface ModelRequest extends Omit<ModelWait, 'dueAt'> {
  readonly delayMs: number | undefined
}

export interface ModelLease {
  /** The store-wide number of its start. */
  readonly dispatch: number
  readonly task: ModelTask
  readonly worker: ModelWorker
  readonly attempt: number
  readonly fence: number
  expiresAt: number
  state: LeaseState
  endReason: LeaseEndReason | undefined
  /** What ended it, when its holder did. */
  settlement: string | undefined
  /** Whether its worker has said that it has the slot back. */
  slotBack: boolean
}

export interface ModelWorker {
  readonly workerId: string
  readonly capacity: number
  readonly types: readonly string[]
  /** How much it may have been given in all, and was. */
  credit: number
  given: number
  lastSeenAt: number
  draining: boolean
  registered: boolean
}

/** A schedule that is due every so many ms, and submits batch tasks of the type `a`. */
export interface ModelSchedule {
  readonly name: string
  everyMs: number
  overlap: Overlap
  input: string
  nextAt: number
  paused: boolean
  lastTask: ModelTask | undefined
  runs: number
  rejected: number
  skipped: number
}

export type ModelReceipt =
  | { readonly accepted: true; readonly sequence: number; readonly deduplicated: boolean }
  | { readonly accepted: false; readonly sequence: number; readonly reason: string }

export type ModelSpawn =
  | 'stale'
  | { readonly as: 'spawned'; readonly sequence: number }
  | { readonly as: 'refused'; readonly sequence: number; readonly reason: string }

export type ModelSettlement =
  | { readonly as: 'completed'; readonly value: string }
  | { readonly as: 'failed'; readonly value: string; readonly kind: FailureKind }
  | { readonly as: 'retry'; readonly value: string; readonly delayMs: number }

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
  readonly schedules = new Map<string, ModelSchedule>()
  private inTurn = false
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
      const task = this.admit(it)
      if (typeof task === 'string') return { accepted: false, sequence: this.sequence, reason: task }
      if (it.key !== undefined) this.keys.set(it.key, task)
      return { accepted: true, sequence: task.sequence, deduplicated: false }
    })
  }

  spawn(
    lease: ModelLease | undefined,
    it: { key: string; policy: ChildPolicy; lane: Lane; type: string; input: string },
  ): ModelSpawn {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { key: name, policy, ...submission } = it
      const parent = lease.task
      const before = parent.children.get(name)
      if (before !== undefined) return { as: 'spawned', sequence: before.task.sequence }
      const task = this.admit(submission, parent)
      if (typeof task === 'string') return { as: 'refused', sequence: this.sequence, reason: task }
      parent.children.set(name, { key: name, task, policy, isOpen: true })
      parent.events.push('child.spawned')
      return { as: 'spawned', sequence: task.sequence }
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

  /** `drops`: the keys of children whose branch the step decides against. */
  step(
    lease: ModelLease | undefined,
    key: string,
    value: string,
    drops: readonly string[] = [],
  ): 'stale' | { memo?: string } {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { memos, events, children } = lease.task
      const memo = memos.get(key)
      if (memo !== undefined) return { memo }
      memos.set(key, value)
      events.push('step.completed')
      const dropped = [...children.values()].filter(
        ({ key: name, isOpen, policy }) => isOpen && policy === 'cancel' && drops.includes(name),
      )
      for (const child of dropped) children.delete(child.key)
      for (const child of dropped) {
        child.isOpen = false
        this.finish(child.task, 'canceled', 'canceled', 'canceled', '')
      }
      return {}
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
        const end =
          it.as === 'completed'
            ? `{"output":${it.value},"state":"completed"}`
            : `{"error":${it.value},"kind":"${it.kind}","state":"failed"}`
        this.finish(lease.task, it.as, it.as, it.as, end)
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
      const fresh = asked.filter(isNew).map(({ delayMs, ...wait }) => ({
        ...wait,
        dueAt: delayMs === undefined ? undefined : this.now + delayMs,
      }))
      const over = this.whatIsOver(task, [...task.waits, ...fresh])
      const parks = over.length === 0 && !stay
      for (const wait of fresh) {
        if (!parks && !over.some(({ key }) => key === wait.key)) task.events.push('wait.started')
        task.waits.push(wait)
      }
      if (parks) {
        this.end(lease, 'completed', 'waiting')
        task.state = 'waiting'
        task.events.push('task.waiting')
      }
      for (const { key, outcome, signal } of over) {
        this.endWait(task, key, outcome, signal)
        task.events.push('wait.resolved')
      }
      return { suspended: parks, resolved: over.map(({ key }) => key) }
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
      this.deliver(task, name, value)
      return { delivered: true, state: task.state }
    })
  }

  diverge(lease: ModelLease | undefined): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { task } = lease
      this.end(lease, 'completed', 'waiting')
      task.state = 'waiting'
      task.parked = true
      task.events.push('task.waiting')
      return 'ok'
    })
  }

  unpark(task: ModelTask | undefined): { resumed: boolean; state?: TaskState } {
    return this.turn(() => {
      if (task === undefined) return { resumed: false }
      if (!task.parked) return { resumed: false, state: task.state }
      task.parked = false
      task.state = 'queued'
      task.events.push('task.resumed')
      return { resumed: true, state: 'queued' }
    })
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
      this.finish(task, 'canceled', 'canceled', 'canceled', '{"state":"canceled"}')
      return { canceled: true, state: 'canceled' }
    })
  }

  /** A schedule keeps its next time unless its interval changes. */
  putSchedule(name: string, everyMs: number, overlap: Overlap, input: string): void {
    this.turn(() => {
      const known = this.schedules.get(name)
      const nextAt = known?.everyMs === everyMs ? known.nextAt : this.now + everyMs
      const fresh = { name, paused: false, lastTask: undefined, runs: 0, rejected: 0, skipped: 0 }
      this.schedules.set(name, { ...fresh, ...known, everyMs, overlap, input, nextAt })
    })
  }

  pauseSchedule(name: string): boolean {
    return this.turn(() => {
      const known = this.schedules.get(name)
      if (known !== undefined) known.paused = true
      return known !== undefined
    })
  }

  removeSchedule(name: string): boolean {
    return this.turn(() => this.schedules.delete(name))
  }

  /** Fires `times` times of a schedule that somebody saw due at `dueAt`; false when it is not any more. */
  fireSchedule(name: string, dueAt: number, times: number): boolean {
    return this.turn(() => {
      const schedule = this.schedules.get(name)
      if (schedule === undefined || schedule.paused || schedule.nextAt !== dueAt) return false
      for (let n = 0; n < times; n += 1) this.runOf(schedule, dueAt + n * schedule.everyMs)
      schedule.nextAt = dueAt + times * schedule.everyMs
      return true
    })
  }

  triggerSchedule(name: string): boolean {
    return this.turn(() => {
      const schedule = this.schedules.get(name)
      if (schedule !== undefined) this.countRun(schedule, this.submit({ ...runOf(schedule) }))
      return schedule !== undefined
    })
  }

  private runOf(schedule: ModelSchedule, dueAt: number): void {
    const { overlap, lastTask, name } = schedule
    if (overlap === 'skip' && lastTask !== undefined && !isOver(lastTask)) schedule.skipped += 1
    else this.countRun(schedule, this.submit({ ...runOf(schedule), key: runKeyOf(name, dueAt) }))
  }

  private countRun(schedule: ModelSchedule, receipt: ModelReceipt): void {
    const isOld = receipt.accepted ? receipt.deduplicated : receipt.reason === 'idempotency_conflict'
    if (isOld) {
      schedule.skipped += 1
      return
    }
    schedule[receipt.accepted ? 'runs' : 'rejected'] += 1
    schedule.lastTask = this.tasks.find(({ sequence }) => sequence === receipt.sequence)
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

  /** The task, or why it was refused; it takes a sequence in any case. */
  private admit(
    it: { lane: Lane; type: string; input: string; key?: string; delayMs?: number },
    parent?: ModelTask,
  ): ModelTask | string {
    const dueAt = it.delayMs === undefined || it.delayMs === 0 ? undefined : this.now + it.delayMs
    const reason = this.refusal(it.lane, dueAt !== undefined)
    const sequence = ++this.sequence
    if (reason !== undefined) {
      this.rejected += 1
      return reason
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
      memos: new Map(),
      waits: [],
      parked: false,
      signals: [],
      ended: [],
      events: ['task.queued'],
      parent,
      children: new Map(),
    }
    this.tasks.push(task)
    return task
  }

  /** It wakes the task that waits for the name, or is kept. */
  private deliver(task: ModelTask, name: string, value: string): void {
    task.signals.push({ name, value, at: this.now })
    const wait = task.waits
      .filter((it) => task.state === 'waiting' && !task.parked && it.name === name)
      .toSorted((a, b) => a.position - b.position)[0]
    if (wait !== undefined) this.resume(task, wait.key, 'received', task.signals.at(-1))
  }

  /** What is due at a turn, the operation of the turn, and what can start then. */
  private turn<T>(operation: () => T): T {
    // What one operation does in several steps is one turn.
    if (this.inTurn) return operation()
    const renewing = this.now >= this.renewAt
    if (renewing) this.renewAt = this.now + this.config.heartbeatIntervalMs
    this.sweep()
    for (const task of this.queued())
      if (task.dueAt !== undefined && task.dueAt <= this.now) task.dueAt = undefined
    for (const task of this.tasks.filter(({ state, parked }) => state === 'waiting' && !parked))
      this.wake(task)
    if (renewing) this.renew()
    this.inTurn = true
    const outcome = operation()
    this.inTurn = false
    this.claim()
    return outcome
  }

  private sweep(): void {
    const lapsed = this.live().filter(({ expiresAt }) => expiresAt <= this.now)
    for (const lease of lapsed.toSorted((a, b) => a.expiresAt - b.expiresAt || a.dispatch - b.dispatch)) {
      // Its parent may have taken it along just now.
      if (lease.state !== 'running') continue
      const crashes = ++lease.task.crashes
      const { maxCrashes } = this.config
      const error = `{"code":"poisoned","message":"the task lost its lease to crashes ${crashes} times (maxCrashes ${maxCrashes})","name":"RuntimeError"}`
      if (crashes >= maxCrashes)
        this.finish(
          lease.task,
          'failed',
          'failed',
          'expired',
          `{"error":${error},"kind":"poisoned","state":"failed"}`,
        )
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

  private whatIsOver(task: ModelTask, open: readonly ModelWait[]): OverWait[] {
    const unread = [...task.signals]
    return open
      .toSorted((a, b) => a.position - b.position)
      .flatMap(({ key, name, kind, dueAt, position }): OverWait[] => {
        const index = name === undefined ? -1 : unread.findIndex((it) => it.name === name)
        const signal = unread[index]
        if (signal !== undefined && signal.at <= (dueAt ?? Number.POSITIVE_INFINITY)) {
          unread.splice(index, 1)
          return [{ key, outcome: 'received', at: signal.at, position, signal }]
        }
        if (dueAt === undefined || dueAt > this.now) return []
        const outcome = kind === 'timer' ? 'fired' : 'timed_out'
        return [{ key, outcome, at: dueAt, position, signal: undefined }]
      })
      .toSorted((a, b) => a.at - b.at || a.position - b.position)
  }

  private wake(task: ModelTask): void {
    const [first] = task.waits
      .filter(({ dueAt }) => dueAt !== undefined && dueAt <= this.now)
      .toSorted((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.position - b.position)
    if (first !== undefined) this.resume(task, first.key, first.kind === 'timer' ? 'fired' : 'timed_out')
  }

  private resume(task: ModelTask, key: string, outcome: WaitOutcome, signal?: ModelSignal): void {
    this.endWait(task, key, outcome, signal)
    task.state = 'queued'
    task.events.push('task.resumed')
  }

  private endWait(task: ModelTask, key: string, outcome: WaitOutcome, signal?: ModelSignal): void {
    task.waits.splice(
      task.waits.findIndex((wait) => wait.key === key),
      1,
    )
    if (signal !== undefined) task.signals.splice(task.signals.indexOf(signal), 1)
    task.ended.push([key, outcome, signal?.value])
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
    /** What its parent hears. */
    told: string,
  ): void {
    const open = [...task.children.values()].filter(({ isOpen }) => isOpen)
    for (const child of open) child.isOpen = false
    for (const child of open)
      if (child.policy === 'cancel') this.finish(child.task, 'canceled', 'canceled', 'canceled', '')
    if (task.lease !== undefined) this.end(task.lease, lease, reason)
    task.state = state
    task.dueAt = undefined
    task.parked = false
    task.waits.length = 0
    task.signals.length = 0
    task.events.push(`task.${state}`)
    const child = [...(task.parent?.children.values() ?? [])].find((it) => it.task === task && it.isOpen)
    if (task.parent === undefined || child === undefined) return
    child.isOpen = false
    task.parent.events.push('child.ended')
    this.deliver(task.parent, childName(child.key), told)
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

function runOf({ input }: ModelSchedule): { lane: Lane; type: string; input: string } {
  return { lane: 'batch', type: 'a', input }
}
