import {
  type ChildPolicy,
  type Lane,
  type Overlap,
  type ClientTier,
  isFinal,
  type TaskState,
} from '@ku0/agent-runtime-core'
import {
  answer,
  budgetsOf,
  exceedsLeft,
  giveBudget,
  isAsked,
  isExhausted,
  passTime,
  spend,
} from './budgets.ts'
import { dropChildren } from './children.ts'
import { answerProbes, breach, isOpen, takeProbe } from './circuits.ts'
import { firstInOrder, nextClaim } from './claims.ts'
import { evaluate } from './evaluations.ts'
import { fork, type ModelFork, type ModelForked } from './forks.ts'
import {
  begin,
  cancel,
  cancelAll,
  complete,
  conclude,
  deliver,
  endWait,
  fail,
  park,
  putBack,
  queue,
  requeue,
} from './moves.ts'
import { admitted, blockAll, charge, exceeds, mayStart, quotasFor, started, streamOf } from './quotas.ts'
import type {
  ModelAgent,
  ModelCall,
  ModelCharge,
  ModelCircuit,
  ModelConfig,
  ModelLease,
  ModelReceipt,
  ModelRequest,
  ModelSchedule,
  ModelSettlement,
  ModelSpawn,
  ModelSubmission,
  ModelTask,
  ModelWorker,
  SubmitNew,
} from './records.ts'
import { fireSchedule, putSchedule, triggerSchedule } from './schedules.ts'
import { ModelShares } from './shares.ts'
import { pendingApprovals, sendsBack, whatIsDue, whatIsOver } from './waits.ts'

/**
 * The store as a few pages of plain code: what it may do, without how. Each call is a turn of its own in a process that is awake, at
 * the moment {@link ReferenceModel.now}. Source: `docs/reliability.md` 3.2, corrected by `docs/semantics.md`.
 */
export class ReferenceModel {
  now: number
  readonly tasks: ModelTask[] = []
  readonly leases: ModelLease[] = []
  workers: ModelWorker[] = []
  readonly keys = new Map<string, ModelTask>()
  readonly taskIds = new Map<string, ModelTask>()
  readonly schedules = new Map<string, ModelSchedule>()
  readonly agents = new Map<string, ModelAgent>()
  readonly circuits = new Map<string, ModelCircuit>()
  rejected = 0
  /** By quota key: until when a provider blocked it, or had. */
  readonly blocked = new Map<string, number>()
  /** Sequences given out, to rejected submissions too. */
  sequence = 0
  readonly shares: ModelShares | undefined
  private renewAt: number
  /** How many processes there were. */
  private process = 1
  private readonly config: ModelConfig

  constructor(config: ModelConfig, now: number) {
    this.config = config
    this.now = now
    this.renewAt = now
    const { shares, agingMs } = config
    this.shares = shares === undefined ? undefined : new ModelShares(shares, agingMs, this.tasks)
  }

  get depth(): number {
    return this.queued().filter(({ dueAt }) => dueAt === undefined).length
  }

  get delayed(): number {
    return this.queued().filter(({ dueAt }) => dueAt !== undefined).length
  }

  submit(it: ModelSubmission): ModelReceipt {
    return this.turn(() => this.submitOne(it))
  }

  spawn(
    lease: ModelLease | undefined,
    it: Omit<ModelSubmission, 'key'> & ModelCall & { readonly policy: ChildPolicy },
  ): ModelSpawn {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { key, position, policy, ...submission } = it
      const { budget } = it
      const parent = lease.task
      const before = parent.children.get(key)
      if (before !== undefined) return { as: 'spawned', sequence: before.task.sequence }
      if (
        budget !== undefined &&
        !isExhausted(parent, this.now) &&
        exceedsLeft(budgetsOf(parent), budget.limits, this.now)
      )
        return { as: 'over_budget' }
      const task = this.admit(submission, parent)
      if (typeof task === 'string') return { as: 'refused', sequence: this.sequence, reason: task }
      const seq = parent.events.push('child.spawned')
      parent.children.set(key, { key, task, position, policy, seq, isOpen: true, ended: undefined })
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

  /** A task that its caller runs. It is admitted whatever the depth. */
  hold(lane: Lane, type: string): ModelLease {
    return this.turn(() => {
      const held = { lane, type, input: 'null' }
      const task = queue(held, ++this.sequence, undefined, undefined, { shares: this.shares })
      task.isHeld = true
      this.tasks.push(task)
      return this.start(task, undefined)
    })
  }

  drain(worker: ModelWorker): void {
    this.turn(() => void (worker.draining = true))
  }

  remove(worker: ModelWorker): void {
    this.turn(() => {
      for (const lease of this.live()) if (lease.worker === worker) requeue(lease, 'drained', this.now)
      worker.registered = false
    })
  }

  /** A slot whose lease has ended is free again. */
  free(lease: ModelLease): void {
    lease.slotBack = true
    if (lease.worker !== undefined) lease.worker.credit += 1
    this.turn(() => undefined)
  }

  /** `drops`: the keys of children whose branch the step decides against. */
  step(
    lease: ModelLease | undefined,
    { key, position }: ModelCall,
    value: string,
    drops: readonly string[] = [],
    { tokens = 0, cost = 0 }: ModelCharge = {},
  ): 'stale' | { memo?: string } {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { task } = lease
      const memo = task.memos.get(key)?.value
      if (memo !== undefined) return { memo }
      charge(task, tokens, this.now)
      task.account.used += cost
      task.memos.set(key, { value, position, seq: task.events.push('step.completed') })
      task.recorded += 1
      cancelAll(dropChildren(task, drops), this.now)
      spend(task, this.now)
      return {}
    })
  }

  /** The intent of a step, before it runs. */
  intend(lease: ModelLease | undefined, call: ModelCall): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { intents, events } = lease.task
      intents.push({ ...call, seq: events.push('step.started') })
      return 'ok'
    })
  }

  /** How a try of a step failed; it may have been a branch with children. */
  failStep(
    lease: ModelLease | undefined,
    call: ModelCall,
    failed: 'error' | 'timeout',
    drops: readonly string[] = [],
  ): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease?.state !== 'running') return 'stale'
      const { task } = lease
      task.intents.push({ ...call, seq: task.events.push('step.failed'), failed })
      cancelAll(dropChildren(task, drops), this.now)
      return 'ok'
    })
  }

  /** The charges of the pass; `blocks`: keys that a provider refused for as long as it is to wait, or a second. */
  settle(
    lease: ModelLease | undefined,
    it: ModelSettlement,
    { tokens = 0, cost = 0 }: ModelCharge = {},
    blocks: readonly string[] = [],
  ): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease === undefined) return 'stale'
      const { delayMs: _, waits: __, ...rest } = { delayMs: 0, waits: [], ...it }
      const settlement = JSON.stringify(rest)
      if (lease.state !== 'running') return lease.settlement === settlement ? 'ok' : 'stale'
      const goesBack = it.as === 'retry' || it.as === 'rate_limited'
      if (goesBack && lease.worker === undefined) return 'stale'
      lease.settlement = settlement
      charge(lease.task, tokens, this.now)
      lease.task.account.used += cost
      if (it.as === 'rate_limited') requeue(lease, 'rate_limited', this.now, this.now + it.delayMs)
      else if (it.as === 'retry')
        requeue(lease, 'retry', this.now, it.delayMs > 0 ? this.now + it.delayMs : undefined)
      else if (it.as === 'completed') complete(lease.task, it.value, this.now)
      else {
        lease.task.failedOf = it.waits ?? []
        fail(lease.task, it.value, it.kind, this.now)
        if (it.breach === 'hard') breach(this.circuits, lease.task, this.now)
      }
      blockAll(this.blocked, blocks, this.now + BLOCK_MS)
      return 'ok'
    })
  }

  suspend(
    lease: ModelLease | undefined,
    asked: readonly ModelRequest[],
    stay: boolean,
  ): 'stale' | { suspended: boolean; resolved: readonly string[] } {
    return this.turn(() => {
      if (lease?.state !== 'running' || lease.worker === undefined) return 'stale'
      const { task } = lease
      const isNew = ({ key }: { key: string }) => !task.waits.some((wait) => wait.key === key)
      const fresh = asked.filter(isNew).map((request) => begin(task, request, this.now))
      const over = whatIsOver(task, [...task.waits, ...fresh], this.now)
      const back = over.find(sendsBack)
      task.waits.push(...fresh)
      if (back !== undefined || (over.length === 0 && !stay)) {
        park(lease)
        task.said ??= 'success'
        if (back !== undefined) conclude(task, back, this.now)
        return { suspended: true, resolved: [] }
      }
      for (const wait of fresh)
        if (wait.kind !== 'approval' && !over.some((it) => it.wait === wait)) task.events.push('wait.started')
      for (const it of over) endWait(task, it, task.events.push('wait.resolved'), this.now)
      return { suspended: false, resolved: over.map(({ wait }) => wait.key) }
    })
  }

  signal(
    task: ModelTask | undefined,
    name: string,
    value: string,
  ): { delivered: boolean; state?: TaskState; awaited?: boolean } {
    return this.turn(() => {
      if (task === undefined) return { delivered: false }
      if (isFinal(task.state)) return { delivered: false, state: task.state }
      const awaited = task.waits.some((wait) => wait.name === name)
      task.events.push('signal.received')
      deliver(task, { name, value, at: this.now, outcome: 'received' })
      return { delivered: true, state: task.state, awaited }
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
      const wait = pendingApprovals(task).find(({ terms }) => terms?.request === request)
      const isLate = (wait?.dueAt ?? Number.POSITIVE_INFINITY) < this.now
      if (wait?.name === undefined || isLate) return { as: 'not_open', state: task.state }
      task.events.push('approval.resolved')
      deliver(task, { name: wait.name, value, at: this.now, outcome })
      return { as: 'resolved', state: task.state }
    })
  }

  diverge(lease: ModelLease | undefined): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease?.state !== 'running' || lease.worker === undefined) return 'stale'
      park(lease)
      lease.task.parked = 'divergence'
      return 'ok'
    })
  }

  unpark(task: ModelTask | undefined): { resumed: boolean; state?: TaskState } {
    return this.turn(() => {
      if (task === undefined) return { resumed: false }
      if (task.parked !== 'divergence') return { resumed: false, state: task.state }
      task.parked = false
      putBack(task, this.now)
      task.events.push('task.resumed')
      return { resumed: true, state: 'queued' }
    })
  }

  release(lease: ModelLease | undefined, reason: 'yielded' | 'drained'): 'ok' | 'stale' {
    return this.turn(() => {
      if (lease?.state !== 'running' || lease.worker === undefined) return 'stale'
      if (reason === 'yielded' && isAsked(lease.task)) {
        park(lease)
        lease.task.parked = 'budget'
      } else requeue(lease, reason, this.now)
      return 'ok'
    })
  }

  /** An answer to the nearest budget that asks; `steps`: what its limit is raised by. */
  answer(
    task: ModelTask | undefined,
    how: 'continue' | 'stop',
    steps: number,
  ): { as: string; asked?: boolean; resumed?: number } {
    return this.turn(() => (task === undefined ? { as: 'unknown_task' } : answer(task, how, steps, this)))
  }

  cancel(task: ModelTask | undefined): { canceled: boolean; state?: TaskState } {
    return this.turn(() => {
      if (task === undefined) return { canceled: false }
      if (isFinal(task.state)) return { canceled: false, state: task.state }
      cancel(task, this.now)
      return { canceled: true, state: 'canceled' }
    })
  }

  putSchedule(name: string, everyMs: number, overlap: Overlap, input: string): void {
    this.turn(() => putSchedule(this.schedules, { name, everyMs, overlap, input }, this.now))
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

  /** False when the schedule is not due at this time any more. */
  fireSchedule(name: string, dueAt: number, times: number): boolean {
    return this.turn(() => fireSchedule(this.schedules.get(name), dueAt, times, this.submitNew))
  }

  triggerSchedule(name: string): boolean {
    return this.turn(() => triggerSchedule(this.schedules.get(name), this.submitNew))
  }

  /** A new task with the submission of another, and what that one had before a call. */
  fork(task: ModelTask | undefined, it: ModelFork): ModelForked {
    return this.turn(() => fork(task, it, this.submitNew, this.now))
  }

  /** The facts that a client's share depends on; credits in whole ones. */
  putClient(name: string, terms: { readonly credits?: number; readonly tier?: ClientTier }): void {
    this.turn(() => {
      const client = this.shares?.client(name)
      if (client === undefined) return
      const { credits = client.credits / 1e6, tier = client.tier } = terms
      Object.assign(client, { credits: credits * 1e6, tier })
    })
  }

  removeClient(name: string): 'removed' | 'busy' | 'unknown' {
    return this.turn(() => {
      if (this.shares?.clients.has(name) !== true) return 'unknown'
      const isBusy = ({ state, account }: ModelTask) =>
        account.client === name && (state === 'queued' || state === 'running')
      if (this.tasks.some(isBusy) || this.shares.client(name).reserved > 0) return 'busy'
      this.shares.clients.delete(name)
      return 'removed'
    })
  }

  evaluate(agentId: string, composite: number, key: string | undefined): ReturnType<typeof evaluate> {
    const { maxEvaluationsKept: maxKept, maxEvaluatedAgents: maxAgents } = this.config
    return this.turn(() => evaluate(this.agents, { agentId, composite, key }, { maxKept, maxAgents }))
  }

  /** Time passes while the process sleeps; then it wakes. */
  advance(ms: number): void {
    this.now += ms
    this.turn(() => undefined)
  }

  /** The process ends its registration and a new one opens the store: workers are gone, leases run out. */
  restart(): void {
    this.workers = []
    this.process += 1
    this.renewAt = this.now
    this.turn(() => undefined)
  }

  /** Plays a turn: the work that is due, the operation of the turn, and the tasks that can start then. */
  private turn<T>(operation: () => T): T {
    const renewing = this.now >= this.renewAt
    if (renewing) this.renewAt = this.now + this.config.heartbeatIntervalMs
    this.sweep()
    this.promote()
    passTime(this.tasks, this.now)
    if (renewing) this.renew()
    answerProbes(this.circuits, this.now)
    const outcome = operation()
    answerProbes(this.circuits, this.now)
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
      if (lease.worker === undefined) {
        fail(lease.task, LEASE_LOST, 'lease_lost', this.now, 'expired')
        continue
      }
      const error = `{"code":"poisoned","message":"the task lost its lease to crashes ${crashes} times (maxCrashes ${maxCrashes})","name":"RuntimeError"}`
      if (crashes >= maxCrashes) fail(lease.task, error, 'poisoned', this.now, 'expired')
      else requeue(lease, 'expired', this.now)
    }
  }

  /** Delayed tasks count from now on, waiting ones go on: in the order of their times, since one may end another or wake it. */
  private promote(): void {
    const due = this.tasks
      .map((task) => ({ task, at: dueTimeOf(task) }))
      .filter(({ at }) => at <= this.now)
      .toSorted((a, b) => a.at - b.at || a.task.sequence - b.task.sequence)
    for (const { task } of due) {
      if (task.state === 'queued') {
        task.shares?.arrive(task, task.dueAt ?? this.now)
        task.dueAt = undefined
      }
      const over = task.state === 'waiting' ? whatIsDue(task, this.now) : undefined
      if (over !== undefined) conclude(task, over, this.now)
    }
  }

  private renew(): void {
    for (const lease of this.live())
      if (lease.worker === undefined ? lease.process === this.process : this.workers.includes(lease.worker))
        lease.expiresAt = this.now + this.config.leaseTtlMs
    for (const worker of this.workers) if (worker.registered) worker.lastSeenAt = this.now
  }

  private claim(): void {
    const isAwake = ({ registered, draining, lastSeenAt }: ModelWorker) =>
      registered && !draining && this.now - lastSeenAt < this.config.leaseTtlMs
    for (;;) {
      const { now, tasks, blocked } = this
      const quotas = {
        mayStart: (it: ModelTask) => mayStart(it, tasks, blocked, now) && !this.isQuarantined(it),
        streamOf: (it: ModelTask) => streamOf(it, blocked),
      }
      const first = (queued: readonly ModelTask[]) => this.shares?.first(queued, now) ?? firstInOrder(queued)
      const [task, worker] =
        nextClaim(this.queued(), this.workers.filter(isAwake), { ...quotas, first }) ?? []
      if (task === undefined || worker === undefined) return
      worker.given += 1
      this.start(task, worker)
    }
  }

  /** Whether it may be what ends its processes, and another such task was handed out to this one. Source: `docs/semantics.md 3.9`. */
  isQuarantined(task: ModelTask): boolean {
    if (!this.isSuspect(task)) return false
    return this.live().some((lease) => lease.process === this.process && this.isSuspect(lease.task))
  }

  private isSuspect({ crashes }: ModelTask): boolean {
    const { maxCrashes } = this.config
    return 2 * crashes >= maxCrashes
  }

  /** `worker`: undefined for a lease that its caller holds. */
  private start(task: ModelTask, worker: ModelWorker | undefined): ModelLease {
    task.fence += 1
    const lease: ModelLease = {
      dispatch: this.leases.length + 1,
      task,
      worker,
      process: this.process,
      attempt: task.attempt,
      fence: task.fence,
      expiresAt: this.now + this.config.leaseTtlMs,
      state: 'running',
      endReason: undefined,
      settlement: undefined,
      slotBack: worker === undefined,
    }
    task.lease = lease
    this.leases.push(lease)
    task.state = 'running'
    if (task.budget !== undefined) task.budget.startedAt ??= this.now
    this.shares?.start(task)
    task.events.push('task.started')
    started(task, this.now)
    return lease
  }

  private submitOne(it: ModelSubmission): ModelReceipt {
    const known = it.key === undefined ? undefined : this.keys.get(it.key)
    if (known !== undefined) {
      const { sequence } = known
      return known.type === it.type && known.input === it.input && known.submission.forkedAt === it.forkedAt
        ? { accepted: true, sequence, deduplicated: true }
        : { accepted: false, sequence, reason: 'idempotency_conflict' }
    }
    const taken = it.taskId === undefined ? undefined : this.taskIds.get(it.taskId)
    if (taken !== undefined) return { accepted: false, sequence: taken.sequence, reason: 'already_exists' }
    const task = this.admit(it)
    if (typeof task === 'string') return { accepted: false, sequence: this.sequence, reason: task }
    if (it.taskId !== undefined) this.taskIds.set(it.taskId, task)
    if (it.key !== undefined) this.keys.set(it.key, task)
    return { accepted: true, sequence: task.sequence, deduplicated: false }
  }

  private readonly submitNew: SubmitNew = (it) => {
    const receipt = this.submitOne(it)
    return [receipt, this.tasks.find(({ sequence }) => sequence === receipt.sequence)]
  }

  /** The task, or why it was refused; it takes a sequence in any case. */
  private admit(it: ModelSubmission, parent?: ModelTask): ModelTask | string {
    const { lane, delayMs = 0 } = it
    const dueAt = delayMs === 0 ? undefined : this.now + delayMs
    const quotas = quotasFor(it.names ?? {}, this.config.quotaConfig)
    const isTooMany = exceeds(quotas, it.tokens ?? 0, this.tasks, this.blocked, this.now)
    const reason =
      this.refusal(lane, dueAt !== undefined) ??
      (isOpen(this.circuits, it.type, dueAt !== undefined, {
        now: this.now,
        openMs: this.config.circuitOpenMs,
      })
        ? 'circuit_open'
        : undefined) ??
      (isExhausted(parent, this.now) ? 'budget_exceeded' : undefined) ??
      (isTooMany ? 'quota_exceeded' : undefined)
    const sequence = ++this.sequence
    if (reason !== undefined) {
      this.rejected += 1
      return reason
    }
    const task = queue(it, sequence, dueAt, parent, { quotas, shares: this.shares })
    if (it.budget !== undefined) giveBudget(task, it.budget)
    admitted(task, this.now)
    putBack(task, this.now)
    this.tasks.push(task)
    takeProbe(this.circuits, task, this.now)
    return task
  }

  private refusal(lane: Lane, delayed: boolean): string | undefined {
    if (delayed) return this.delayed >= this.config.maxDelayed ? 'queue_full' : undefined
    if (this.depth >= this.config.queueDepthLimit) return 'queue_full'
    return this.depth >= this.config.batchBackpressureThreshold && lane === 'batch'
      ? 'backpressure'
      : undefined
  }

  private queued(): ModelTask[] {
    return this.tasks.filter(({ state }) => state === 'queued')
  }

  private live(): ModelLease[] {
    return this.leases.filter(({ state }) => state === 'running')
  }
}

const LEASE_LOST =
  '{"code":"lease_lost","message":"whoever held its lease is gone, and nobody else can run it","name":"RuntimeError"}'
/** How long a key is blocked that a provider refused. */
export const BLOCK_MS = 700

/** When something happens to a task by itself. */
function dueTimeOf({ state, dueAt = Infinity, waits, parked }: ModelTask): number {
  if (state === 'queued') return dueAt
  if (state !== 'waiting' || parked) return Infinity
  return Math.min(...waits.map((wait) => wait.dueAt ?? Infinity))
}
