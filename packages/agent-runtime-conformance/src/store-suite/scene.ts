import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import {
  type ExecutionConfig,
  type ExecutionConfigInput,
  type Digest,
  countedGroups,
  dueGroups,
  newestOf,
  type PerState,
  prunableStates,
  StoreError,
  type EventType,
  type OutputChunk,
  type StoredEvent,
  type ExecutionStore,
  type Read,
  type ReadKind,
  type Reads,
  type Write,
  type WriteKind,
  type Writes,
  type Claim,
  type Fenced,
  type LeaseNotice,
  type Receipt,
  type Submission,
  type Settlement,
  type StepRecord,
  type TaskRecord,
  type WorkerDrain,
} from '@ku0/agent-runtime-core'
import { testDigest, type VirtualClock, createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { takeSnapshot, violationsIn } from '../invariants.ts'
import { stepsOf } from '../steps-of.ts'
import type { OpenStore } from './tools.ts'

/**
 * Resolves once a store has nothing under way that is not a timer's; true if it had. A store that is answered by a server says so, and no time
 * passes meanwhile.
 */
export type Quiet = (store: ExecutionStore) => Promise<boolean>

/** Whether a scene holds the strings of time. */
export type Time = 'virtual' | 'real'

/** How a scene is set. */
export interface SceneSetting {
  /** See {@link storeSuite}. */
  readonly quiet?: Quiet | undefined
  readonly time?: Time
  readonly digest?: Digest
}

/** Turns of the microtask queue that any answer of a store in the same thread is worth. */
const turns = 40
/** Timers that a wait runs through before it gives up. */
const patience = 20_000

/** One store on a stage of its own: everything it hands out is kept, and time moves only when the test moves it. */
export class Scene {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly clock: VirtualClock
  readonly claims: Claim[] = []
  readonly notices: LeaseNotice[] = []
  readonly drains: WorkerDrain[] = []
  readonly events: StoredEvent[] = []
  readonly chunks: OutputChunk[] = []
  readonly failures: Error[] = []
  readonly time: Time
  readonly digest: Digest
  /** Set by a test that hands over an operation which cannot be stored. */
  hasBadOperation = false
  readonly #quiet: Quiet | undefined
  readonly #credits = new Map<string, number>()
  #taken = 0
  #wake: (() => void)[] = []

  constructor(
    store: ExecutionStore,
    config: ExecutionConfig,
    clock: VirtualClock,
    setting: SceneSetting = {},
  ) {
    this.store = store
    this.config = config
    this.clock = clock
    this.time = setting.time ?? 'virtual'
    this.digest = setting.digest ?? testDigest
    this.#quiet = setting.quiet
    store.listen({
      claimed: (claims) => this.#hear(this.claims, claims),
      noticed: (notices) => this.#hear(this.notices, notices),
      drained: (drains) => this.#hear(this.drains, drains),
      published: (events) => this.#hear(this.events, events),
      emitted: (chunks) => this.#hear(this.chunks, chunks),
      failed: (error) => this.#hear(this.failures, [error]),
    })
  }

  /** Opens a store, lets the body play on it and closes it, however the body ends. */
  static async play(
    open: OpenStore,
    options: SceneSetting & { readonly config?: ExecutionConfigInput; readonly seed?: string },
    body: (scene: Scene) => Promise<void>,
  ): Promise<void> {
    const { digest = testDigest } = options
    const environment = createVirtualEnvironment(options.seed ?? 'scene', { digest })
    const { config } = parseExecutionConfig(options.config ?? {})
    const scene = new Scene(await open({ config, environment }), config, environment.clock, options)
    try {
      await body(scene)
    } finally {
      await scene.store.close()
    }
  }

  /** Epoch ms, as the store sees it on virtual time. */
  get now(): number {
    return this.clock.now()
  }

  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']> {
    return this.settled(this.store.write(operation))
  }

  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']> {
    return this.settled(this.store.read(query))
  }

  /** Submits one task, `{ type: 'work', lane: 'normal', input: 'null' }` unless said otherwise. */
  async submit(task: Partial<Submission> = {}): Promise<Receipt> {
    const [receipt] = await this.write({ kind: 'submit', tasks: [submission(task)] })
    return receipt as Receipt
  }

  /** Submits one task that must be accepted, and says its id. */
  async accepted(task: Partial<Submission> = {}): Promise<string> {
    const receipt = await this.submit(task)
    if (!receipt.accepted) throw new Error(`not accepted: ${receipt.reason}: ${receipt.message}`)
    return receipt.taskId
  }

  /** Submits `count` tasks of one kind in one operation. */
  submitMany(count: number, task: Partial<Submission> = {}): Promise<readonly Receipt[]> {
    return this.write({ kind: 'submit', tasks: Array.from({ length: count }, () => submission(task)) })
  }

  /** A worker enters the registry; `slots` (its capacity unless said otherwise) are stated as free. */
  async worker(
    workerId: string,
    capacity: number,
    types: readonly string[] = ['*'],
    slots = capacity,
  ): Promise<void> {
    await this.write({ kind: 'registerWorkers', workers: [{ workerId, capacity, types }] })
    if (slots > 0) this.free(workerId, slots)
    await this.idle()
  }

  /** A worker has that many slots back. */
  free(workerId: string, slots = 1): void {
    const credit = (this.#credits.get(workerId) ?? 0) + slots
    this.#credits.set(workerId, credit)
    this.store.demand(workerId, credit)
  }

  /** The next claim that nobody has asked for yet. */
  async claim(): Promise<Claim> {
    const index = this.#taken++
    await this.until(() => this.claims.length > index, 'a claim')
    return this.claims[index] as Claim
  }

  /** Whether a claim has come that nobody asked for. */
  async hasClaim(): Promise<boolean> {
    await this.idle()
    return this.claims.length > this.#taken
  }

  /** A task that is running, with its claim, on a worker of its own that has no other slot. */
  async running(task: Partial<Submission> = {}): Promise<Claim> {
    const workerId = `w${this.#credits.size}`
    await this.worker(workerId, 1, [task.type ?? 'work'])
    await this.accepted(task)
    return this.claim()
  }

  settle(
    claim: Claim | undefined,
    settlement: Settlement = { as: 'completed', output: 'null' },
  ): Promise<Fenced> {
    return this.write({ kind: 'settle', leaseId: leaseOf(claim), settlement })
  }

  release(claim: Claim | undefined, reason: 'yielded' | 'drained' = 'yielded'): Promise<Fenced> {
    return this.write({ kind: 'release', leaseId: leaseOf(claim), reason })
  }

  step(claim: Claim, key: string, result: string, position = 0): Promise<Writes['recordStep']['outcome']> {
    const { leaseId } = claim
    return this.write({ kind: 'recordStep', leaseId, key, position, durationMs: 1, result })
  }

  cancel(taskId: string, reason?: string): Promise<Writes['cancel']['outcome']> {
    return this.write({ kind: 'cancel', taskId, ...(reason === undefined ? {} : { reason }) })
  }

  async task(taskId: string): Promise<TaskRecord> {
    const task = await this.read({ kind: 'task', taskId })
    if (task === undefined) throw new Error(`there is no task ${taskId}`)
    return task
  }

  async state(taskId: string): Promise<TaskRecord['state']> {
    return (await this.task(taskId)).state
  }

  /** All stored events of a task. */
  async history(taskId: string): Promise<readonly StoredEvent[]> {
    const events = await this.read({ kind: 'events', taskId, after: 0, limit: 10_000 })
    if (events === undefined) throw new Error(`there is no task ${taskId}`)
    return events
  }

  /** The steps of a task that count. `limit`: the most that one page may hold. */
  steps(taskId: string, limit?: number): Promise<readonly StepRecord[]> {
    return stepsOf(this, taskId, limit)
  }

  async eventTypes(taskId: string): Promise<readonly EventType[]> {
    return (await this.history(taskId)).map(({ type }) => type)
  }

  /** The write of a pass of retention as it would be now: the tasks that its rules may no longer keep, and what it knows of the newest. */
  async due(): Promise<Omit<Write<'prune'>, 'kind'>> {
    const { retention } = this.config
    if (retention === undefined) return { tasks: [] }
    let counting = countedGroups(retention)
    for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined;) {
      const answer: Reads['newestKept']['answer'] = await this.read({
        kind: 'newestKept',
        groups: counting,
        before,
      })
      counting = answer.groups
      before = answer.next
    }
    const newest = newestOf(counting)
    const tasks: number[] = []
    const groups = dueGroups(retention, this.now, newest)
    const keysUntil = this.now - retention.keysMs
    for (let after: number | undefined = 0; after !== undefined;) {
      const answer: Reads['prunable']['answer'] = await this.read({
        kind: 'prunable',
        groups,
        keysUntil,
        after,
      })
      tasks.push(...answer.tasks)
      after = answer.next
    }
    return { tasks, newest }
  }

  /** One pass of retention, as a runtime makes it: how many tasks it deleted. */
  async prune(dryRun = false): Promise<PerState> {
    const sum = { completed: 0, failed: 0, canceled: 0 }
    const { newest = [], tasks } = await this.due()
    for (let rest = tasks; rest.length > 0;) {
      const some = rest.slice(0, 1_000)
      const { pruned, looked } = await this.write({ kind: 'prune', tasks: some, newest, dryRun })
      for (const state of prunableStates) sum[state] += pruned[state]
      rest = rest.slice(looked)
    }
    return sum
  }

  stats(): Promise<Reads['stats']['answer']> {
    return this.read({ kind: 'stats' })
  }

  /** The invariants that are broken; none when the store was closed. */
  violations(): Promise<readonly string[]> {
    return this.#unlessClosed([], async () =>
      violationsIn(await takeSnapshot(this.store), { config: this.config, digest: this.digest }),
    )
  }

  /** How often the store had to repeat a flush: never, unless an operation cannot be stored. */
  repeatedFlushes(): Promise<number> {
    return this.#unlessClosed(0, async () => (await this.store.read({ kind: 'stats' })).repeatedFlushes)
  }

  async #unlessClosed<T>(otherwise: T, look: () => Promise<T>): Promise<T> {
    try {
      return await look()
    } catch (error) {
      if (error instanceof StoreError && error.code === 'store_closed') return otherwise
      throw error
    }
  }

  /** Promoted queued tasks of all lanes. */
  async depth(): Promise<number> {
    const { depth } = await this.stats()
    return depth.interactive + depth.normal + depth.batch
  }

  /** The store does what it has to do now; on virtual time none passes. */
  async idle(): Promise<void> {
    if (this.time === 'real') await this.store.read({ kind: 'stats' })
    else
      do for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      while (await this.#quiet?.(this.store))
  }

  /** Time passes, and the store wakes whenever it wants to. */
  async pass(ms: number): Promise<void> {
    const target = this.clock.now() - this.clock.skew + ms
    await this.idle()
    for (let next = this.clock.nextAt; next !== undefined && next <= target; next = this.clock.nextAt) {
      this.clock.advanceTo(next)
      await this.idle()
    }
    this.clock.advanceTo(target)
    await this.idle()
  }

  /** Time passes while the whole process sleeps; then the store wakes. */
  async jump(ms: number): Promise<void> {
    this.clock.advanceBy(ms)
    await this.idle()
  }

  /** The promise's outcome; time passes only as far as the store needs it to answer. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    if (this.time === 'real') return promise
    const call = { isOpen: true }
    const end = () => void (call.isOpen = false)
    promise.then(end, end)
    for (let step = 0; call.isOpen; step++) {
      await this.idle()
      if (call.isOpen) this.#step(step, 'an answer')
    }
    return promise
  }

  /** Waits for something the store will say by itself. */
  async until(condition: () => boolean, what: string): Promise<void> {
    for (let step = 0; !condition(); step++) {
      if (this.time === 'real') await new Promise<void>((wake) => this.#wake.push(wake))
      else {
        await this.idle()
        if (!condition()) this.#step(step, what)
      }
    }
  }

  /** The next timer runs; when there is none, another wait may have just run it, and its store is about to arm it again. */
  #step(step: number, what: string): void {
    const next = this.clock.nextAt
    if (step > (next === undefined ? 1_000 : patience)) throw new Error(`waited in vain for ${what}`)
    if (next !== undefined) this.clock.advanceTo(next)
  }

  #hear<T>(kept: T[], said: readonly T[]): void {
    kept.push(...said)
    const waking = this.#wake
    this.#wake = []
    for (const wake of waking) wake()
  }
}

/** A submission of type `work` in lane `normal`, with what is given in its place. */
export function submission(task: Partial<Submission> = {}): Submission {
  return { type: 'work', lane: 'normal', input: 'null', ...task }
}

/** A test that counts on a claim fails here if none has come. */
function leaseOf(claim: Claim | undefined): string {
  if (claim === undefined) throw new Error('no such claim has come')
  return claim.leaseId
}
