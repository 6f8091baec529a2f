import assert from 'node:assert/strict'
import {
  type ExecutionConfig,
  type ExecutionStore,
  type Lane,
  parseExecutionConfig,
  type Settlement,
} from '@ku0/agent-runtime-core'
import {
  createVirtualEnvironment,
  doubtsOf,
  inOrder,
  type ModelLease,
  type ModelRequest,
  type ModelSettlement,
  type ModelTask,
  type ModelWorker,
  type ReferenceModel,
  rejectionsSinceApproval,
  Scene,
  type StoreSnapshot,
  takeSnapshot,
  violationsIn,
} from '@ku0/agent-runtime-core/testing'
import type fc from 'fast-check'
import { nodeDigest } from './scratch-folder.ts'

// What the model and a store are told alike: each command does the same to both and compares what they say.

export const { config } = parseExecutionConfig({
  leaseTtlMs: 1_000,
  heartbeatIntervalMs: 300,
  queueDepthLimit: 4,
  batchBackpressureThreshold: 2,
  maxDelayed: 3,
  maxCrashes: 3,
})

/** What happened in all runs together: a property that nothing interesting happened in proves nothing. */
export const seen = new Map<string, number>()
export const count = (what: string, by = 1) => seen.set(what, (seen.get(what) ?? 0) + by)

const supervised = 'supervised' as const
const spotCheck = 'spot_check' as const

/** The store under test, as far as it corresponds to the model by sequence and dispatch number. */
export class Real {
  scene!: Scene
  readonly taskIds = new Map<number, string>()
  readonly leaseIds = new Map<number, string>()
  private readonly reopen: () => Promise<ExecutionStore>
  readonly environment
  private claimed = 0
  before: StoreSnapshot | undefined
  commands = 0

  constructor(open: (config: ExecutionConfig, environment: Real['environment']) => Promise<ExecutionStore>) {
    this.environment = { ...createVirtualEnvironment('model'), digest: nodeDigest }
    this.reopen = () => open(config, this.environment)
  }

  async open(): Promise<void> {
    this.scene = new Scene(await this.reopen(), config, this.environment.clock, { digest: nodeDigest })
    this.claimed = 0
    await this.scene.idle()
  }

  /** The claims since the last look. */
  takeClaims(): Scene['claims'] {
    const fresh = this.scene.claims.slice(this.claimed)
    this.claimed = this.scene.claims.length
    for (const { dispatch, leaseId } of fresh) this.leaseIds.set(dispatch, leaseId)
    return fresh
  }

  /** A lease id by dispatch number; one that nobody was ever given is made up. */
  leaseId(lease: ModelLease | undefined): string {
    return (
      (lease === undefined ? undefined : this.leaseIds.get(lease.dispatch)) ??
      this.taskIds.get(1) ??
      'no lease'
    )
  }
}

/** One command: what it does to both, and whether they say the same. */
export abstract class Command implements fc.AsyncCommand<ReferenceModel, Real> {
  check(model: Readonly<ReferenceModel>): boolean {
    return model.now > 0
  }
  abstract act(model: ReferenceModel, real: Real): Promise<void>

  async run(model: ReferenceModel, real: Real): Promise<void> {
    const leases = model.leases.length
    await this.act(model, real)
    await real.scene.idle()
    assert.deepEqual(
      real
        .takeClaims()
        .map(({ dispatch, sequence, workerId, attempt, fencingToken, expiresAt, crashes, steps }) => ({
          dispatch,
          sequence,
          workerId,
          attempt,
          fencingToken,
          expiresAt,
          crashes,
          steps,
        })),
      model.leases.slice(leases).map(({ dispatch, task, worker, attempt, fence, expiresAt }) => ({
        dispatch,
        sequence: task.sequence,
        workerId: worker.workerId,
        attempt,
        fencingToken: fence,
        expiresAt,
        crashes: task.crashes,
        steps: task.recorded,
      })),
    )
    await compare(model, real)
  }

  toString(): string {
    const fields = Object.entries(this).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    return `${this.constructor.name}(${fields.join(', ')})`
  }
}

/** The projected state of both is the same, and the store breaks no invariant. */
async function compare(model: ReferenceModel, real: Real): Promise<void> {
  const snapshot = await takeSnapshot(real.scene.store)
  const { stats, tasks } = snapshot
  assert.deepEqual(
    {
      depth: stats.depth.interactive + stats.depth.normal + stats.depth.batch,
      delayed: stats.delayed,
      running: stats.running,
      waiting: stats.waiting,
      rejected: stats.totals.rejected,
    },
    {
      depth: model.depth,
      delayed: model.delayed,
      running: model.leases.filter(({ state }) => state === 'running').length,
      waiting: model.tasks.filter(({ state }) => state === 'waiting').length,
      rejected: model.rejected,
    },
  )
  const accepted = tasks.filter(({ record }) => record.state !== 'rejected')
  assert.deepEqual(
    accepted.map(({ record, events, leases }) => ({
      sequence: record.sequence,
      lane: record.lane,
      state: record.state,
      attempt: record.attempt,
      crashes: record.crashes,
      dueAt: record.state === 'queued' ? record.dueAt : undefined,
      lease: record.state === 'running' ? [record.lease.dispatch, record.lease.expiresAt] : undefined,
      ends: leases.map(({ dispatch, status, endReason }) => [dispatch, status, endReason]),
      open: record.state === 'waiting' ? record.waits.map(({ key, dueAt }) => [key, dueAt]) : undefined,
      events: events.map(({ type }) => type),
    })),
    model.tasks.map((task) => ({
      sequence: task.sequence,
      lane: task.lane,
      state: task.state,
      attempt: task.attempt,
      crashes: task.crashes,
      dueAt: task.dueAt,
      lease: task.lease === undefined ? undefined : [task.lease.dispatch, task.lease.expiresAt],
      ends: model.leases
        .filter((lease) => lease.task === task)
        .map(({ dispatch, state, endReason }) => [dispatch, state, endReason]),
      open: task.state === 'waiting' ? inOrder(task.waits).map(({ key, dueAt }) => [key, dueAt]) : undefined,
      events: task.events,
    })),
  )
  for (const task of model.tasks) await compareMemos(model, real, task)
  assert.deepEqual(real.scene.failures, [])
  if (real.commands++ % 10 > 0) return
  const it = { config, digest: nodeDigest, ...(real.before === undefined ? {} : { before: real.before }) }
  assert.deepEqual(violationsIn(snapshot, it), [])
  real.before = snapshot
}

/** What a pass would find, and what a human would. */
async function compareMemos(model: ReferenceModel, { scene, taskIds }: Real, task: ModelTask): Promise<void> {
  const taskId = taskIds.get(task.sequence) ?? ''
  const memos = await scene.store.read({ kind: 'memos', taskId })
  assert.deepEqual(
    {
      steps: memos.steps.map(({ key, result, seq }) => [key, result, seq]),
      waits: memos.waits.map(({ key, outcome, value, seq }) => [key, outcome, value, seq]),
      open: memos.open.map(({ key, dueAt }) => [key, dueAt]),
      inDoubt: memos.inDoubt
        .map(({ key, starts }) => `${starts} ${key}`)
        .toSorted((a, b) => (a < b ? -1 : 1)),
      rejections: memos.rejections.map(({ key, since, seq, value }) => ({ key, since, seq, value })),
    },
    {
      steps: [...task.memos].map(([key, { value, seq }]) => [key, value, seq]),
      waits: task.ended.map(({ key, outcome, value, seq }) => [key, outcome, value, seq]),
      open: inOrder(task.waits).map(({ key, dueAt }) => [key, dueAt]),
      inDoubt: doubtsOf(task)
        .map(({ key, starts }) => `${starts} ${key}`)
        .toSorted((a, b) => (a < b ? -1 : 1)),
      rejections: task.rejections,
    },
  )
  const { approvals } = await scene.store.read({ kind: 'approvals', taskId, limit: 100 })
  assert.deepEqual(
    approvals.map(({ key, request, dueAt, rejections }) => [key, request, dueAt, rejections]),
    model
      .pending(task)
      .map(({ key, terms, dueAt }) => [key, terms?.request, dueAt, rejectionsSinceApproval(task)]),
  )
}

/** One of a list, by a number that says which: mostly a live one, at times any, now and then none, which stands for a stranger. */
export function pick<T>(all: readonly T[], which: number, isLive: (it: T) => boolean): T | undefined {
  if (which > 20) return undefined
  const live = all.filter(isLive)
  const list = which < 13 && live.length > 0 ? live : all
  return list[which % list.length]
}
export const leaseOf = (model: ReferenceModel, which: number) =>
  pick(model.leases, which, ({ state }) => state === 'running')

export class Submit extends Command {
  readonly lane: Lane
  readonly type: string
  readonly input: string
  readonly key: string | undefined
  readonly delayMs: number
  constructor(lane: Lane, type: string, input: string, key: string | undefined, delayMs: number) {
    super()
    this.lane = lane
    this.type = type
    this.input = input
    this.key = key
    this.delayMs = delayMs
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { lane, type, input, key, delayMs } = this
    const named = key === undefined ? {} : { key }
    const expected = model.submit({ lane, type, input, delayMs, ...named })
    const receipt = await real.scene.submit({
      lane,
      type,
      input,
      ...(delayMs === 0 ? {} : { delayMs }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
    })
    const { accepted, sequence } = receipt
    const detail = accepted ? { deduplicated: receipt.deduplicated } : { reason: receipt.reason }
    assert.deepEqual({ accepted, sequence, ...detail }, expected)
    if (receipt.accepted) real.taskIds.set(receipt.sequence, receipt.taskId)
    count(receipt.accepted ? (receipt.deduplicated ? 'deduplicated' : 'accepted') : receipt.reason)
  }
}

export class Register extends Command {
  readonly capacity: number
  readonly types: readonly string[]
  constructor(capacity: number, types: readonly string[]) {
    super()
    this.capacity = capacity
    this.types = types
  }
  override check(model: Readonly<ReferenceModel>): boolean {
    return model.workers.length < 4
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const workerId = `w${9 - model.workers.length}`
    model.register(workerId, this.capacity, this.types)
    await real.scene.worker(workerId, this.capacity, this.types)
  }
}

export class Leave extends Command {
  readonly which: number
  readonly how: 'drain' | 'remove'
  constructor(which: number, how: 'drain' | 'remove') {
    super()
    this.which = which
    this.how = how
  }
  override check(model: Readonly<ReferenceModel>): boolean {
    return model.workers.length > 1
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const worker = model.workers[this.which % model.workers.length] as ModelWorker
    if (!worker.registered) return
    model[this.how](worker)
    const workerIds = [worker.workerId]
    await real.scene.write(
      this.how === 'drain' ? { kind: 'drainWorkers', workerIds } : { kind: 'removeWorkers', workerIds },
    )
    count(this.how)
  }
}

export class Free extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const ended = model.leases.filter(
      ({ state, slotBack, worker }) => state !== 'running' && !slotBack && model.workers.includes(worker),
    )
    const lease = ended[this.which % Math.max(1, ended.length)]
    if (lease === undefined) return
    model.free(lease)
    real.scene.free(lease.worker.workerId)
  }
}

export class Step extends Command {
  readonly which: number
  readonly key: string
  readonly value: string
  constructor(which: number, key: string, value: string) {
    super()
    this.which = which
    this.key = key
    this.value = value
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const expected = model.step(lease, this.key, this.value)
    const outcome = await real.scene.write({
      kind: 'recordStep',
      leaseId: real.leaseId(lease),
      key: this.key,
      position: 0,
      durationMs: 1,
      result: this.value,
    })
    assert.deepEqual(outcome, expected === 'stale' ? { fenced: 'stale' } : { fenced: 'ok', ...expected })
    count(expected === 'stale' ? 'stale step' : expected.memo === undefined ? 'step' : 'memo')
  }
}

export class Suspend extends Command {
  readonly which: number
  readonly asked: readonly ModelRequest[]
  readonly stay: boolean
  constructor(which: number, asked: readonly ModelRequest[], stay: boolean) {
    super()
    this.which = which
    this.asked = asked
    this.stay = stay
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    // A key is used once: what has ended is not asked for again, unless a rejection made it void.
    const over = new Set(lease?.task.ended.map(({ key }) => key))
    const asked = this.asked.filter(({ key }) => !over.has(key))
    if (asked.length === 0) return
    const before = lease?.task.rejections.length ?? 0
    const expected = model.suspend(lease, asked, this.stay)
    if ((lease?.task.rejections.length ?? 0) > before) count('sent back by what had come')
    const waits = asked.map(({ delayMs, approval, ...wait }) => ({
      ...wait,
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(approval === undefined
        ? {}
        : { approval: { ...approval, artifact: '1', mode: approval.asked ? supervised : spotCheck } }),
    }))
    const outcome = await real.scene.write({
      kind: 'suspend',
      leaseId: real.leaseId(lease),
      waits,
      stay: this.stay,
    })
    if (expected === 'stale') assert.deepEqual(outcome, { fenced: 'stale' })
    else {
      const { suspended, resolved } = outcome as Extract<typeof outcome, { fenced: 'ok' }>
      assert.deepEqual({ suspended, resolved: resolved.map(({ key }) => key) }, expected)
    }
    count(
      expected === 'stale'
        ? 'stale wait'
        : expected.suspended
          ? 'wait'
          : expected.resolved.length > 0
            ? 'over at once'
            : 'stay',
    )
  }
}

export class Signal extends Command {
  readonly which: number
  readonly name: string
  readonly value: string
  constructor(which: number, name: string, value: string) {
    super()
    this.which = which
    this.name = name
    this.value = value
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const task = pick<ModelTask>(
      model.tasks,
      this.which,
      ({ state }) => state === 'waiting' || state === 'running',
    )
    const wasWaiting = task?.state === 'waiting'
    const expected = model.signal(task, this.name, this.value)
    const taskId = task === undefined ? 'nobody' : (real.taskIds.get(task.sequence) ?? '')
    assert.deepEqual(
      await real.scene.write({ kind: 'signal', taskId, name: this.name, value: this.value }),
      expected,
    )
    count(
      !expected.delivered
        ? 'signal in vain'
        : wasWaiting && expected.state === 'queued'
          ? 'woken'
          : 'signal kept',
    )
  }
}

export class Settle extends Command {
  readonly which: number
  readonly settlement: ModelSettlement
  constructor(which: number, settlement: ModelSettlement) {
    super()
    this.which = which
    this.settlement = settlement
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const wasLive = lease?.state === 'running'
    const expected = model.settle(lease, this.settlement)
    const { leaseId } = { leaseId: real.leaseId(lease) }
    assert.equal(
      await real.scene.write({ kind: 'settle', leaseId, settlement: settlementOf(this.settlement) }),
      expected,
    )
    count(expected === 'stale' ? 'stale settle' : wasLive ? this.settlement.as : 'settled again')
  }
}

function settlementOf(it: ModelSettlement): Settlement {
  switch (it.as) {
    case 'completed':
      return { as: 'completed', output: it.value }
    case 'failed':
      return { as: 'failed', kind: it.kind, error: it.value }
    case 'retry':
      return { as: 'retry', error: it.value, delayMs: it.delayMs }
  }
}

export class Release extends Command {
  readonly which: number
  readonly reason: 'yielded' | 'drained'
  constructor(which: number, reason: 'yielded' | 'drained') {
    super()
    this.which = which
    this.reason = reason
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const expected = model.release(lease, this.reason)
    assert.equal(
      await real.scene.write({ kind: 'release', leaseId: real.leaseId(lease), reason: this.reason }),
      expected,
    )
    count(expected === 'ok' ? 'release' : 'stale release')
  }
}

export class Cancel extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const task = pick<ModelTask>(
      model.tasks,
      this.which,
      ({ state }) => state === 'queued' || state === 'running' || state === 'waiting',
    )
    const expected = model.cancel(task)
    const taskId = task === undefined ? 'nobody' : (real.taskIds.get(task.sequence) ?? '')
    assert.deepEqual(await real.scene.cancel(taskId), expected)
    count(expected.canceled ? 'cancel' : 'cancel in vain')
  }
}

/** Time passes while the process sleeps: a stretch, or to the very edge of the next expiry, heartbeat or due time. */
export class Advance extends Command {
  readonly ms: number
  readonly edge: number | undefined
  constructor(ms: number, edge: number | undefined) {
    super()
    this.ms = ms
    this.edge = edge
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const edges = [
      ...model.leases.flatMap(({ state, expiresAt }) => (state === 'running' ? [expiresAt] : [])),
      ...model.tasks
        .flatMap(({ dueAt, waits }) => [dueAt, ...waits.map((wait) => wait.dueAt)])
        .flatMap((at) => at ?? []),
    ].filter((at) => at + (this.edge ?? 0) >= model.now)
    const ms =
      this.edge === undefined || edges.length === 0 ? this.ms : Math.min(...edges) + this.edge - model.now
    const expired = model.leases.filter(({ endReason }) => endReason === 'expired').length
    model.advance(ms)
    count('expired', model.leases.filter(({ endReason }) => endReason === 'expired').length - expired)
    if (this.edge !== undefined && edges.length > 0) count('edge')
    real.environment.clock.advanceBy(ms)
    await real.scene.cancel('nobody')
  }
}

export class Restart extends Command {
  override check(model: Readonly<ReferenceModel>): boolean {
    return model.tasks.length > 0
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    await real.scene.store.close()
    model.restart()
    await real.open()
    count('restart')
  }
}
