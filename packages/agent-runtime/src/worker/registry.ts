import type { Clock, ExecutionStore, TypeSettings, WorkerDrain } from '@ku0/agent-runtime-core'
import type { WorkerSpec } from '../api/worker.ts'

/**
 * The workers of this process, and their standing demand. A worker's credit is its capacity plus every slot
 * that became free again, and the store never gives it more claims than that. The store reports the status of
 * all workers. Source: Track AA, AA1; `docs/ARCHITECTURE.md`, The store.
 */
export class WorkerRegistry {
  readonly #store: ExecutionStore
  readonly #clock: Clock
  readonly #settings: ReadonlyMap<string, TypeSettings>
  readonly #credits = new Map<string, number>()
  /** The workers that take so many tasks and no more. */
  readonly #most = new Map<string, number>()
  /** When each worker was registered, on the monotonic clock. */
  readonly #since = new Map<string, number>()
  readonly #draining = new Set<string>()
  /** The workers that somebody outside drained. */
  readonly #drainAsked = new Set<string>()
  #isEnding = false

  constructor(store: ExecutionStore, clock: Clock, settings: ReadonlyMap<string, TypeSettings>) {
    this.#settings = settings
    this.#store = store
    this.#clock = clock
  }

  get workerIds(): readonly string[] {
    return [...this.#credits.keys()]
  }

  /** The workers that have not left, in the order of their registration. */
  get members(): readonly {
    readonly workerId: string
    readonly since: number
    readonly draining: boolean
    readonly drainAsked: boolean
  }[] {
    return this.workerIds.map((workerId) => ({
      workerId,
      since: this.#since.get(workerId) ?? 0,
      draining: this.#isEnding || this.#draining.has(workerId),
      drainAsked: this.#drainAsked.has(workerId),
    }))
  }

  /** Whether a worker belongs to this registry: the store may have passed from one runtime to the next. */
  has(workerId: string): boolean {
    return this.#credits.has(workerId)
  }

  /** Registers the workers in the store and asks for work. */
  async register(workers: readonly WorkerSpec[]): Promise<void> {
    if (workers.length === 0) return
    const rows = workers.map(({ workerId, capacity, types, lanes }) => ({
      workerId,
      capacity,
      types,
      ...(lanes === undefined ? {} : { lanes }),
      settings: Object.fromEntries([...this.#settings].filter(([type]) => types.includes(type))),
    }))
    const registered = this.#store.write({ kind: 'registerWorkers', workers: rows })
    for (const { workerId, capacity, maxTasks } of workers) {
      if (maxTasks !== undefined) this.#most.set(workerId, maxTasks)
      const credit = Math.min(capacity, maxTasks ?? capacity)
      this.#credits.set(workerId, credit)
      this.#since.set(workerId, this.#clock.monotonic())
      this.#store.demand(workerId, credit)
    }
    await registered
  }

  /**
   * A slot is free again: stated in the turn in which the handler settled. After the workers have ended
   * nothing is stated: tasks that the store gives them until it knows of the end go back, and would come
   * again at once. Source: `docs/semantics.md 4.5`.
   */
  slotFree(workerId: string): void {
    const credit = this.#credits.get(workerId)
    if (credit === undefined || this.#isEnding || this.#draining.has(workerId)) return
    if (credit === this.#most.get(workerId)) return
    this.#credits.set(workerId, credit + 1)
    this.#store.demand(workerId, credit + 1)
  }

  /** The store gives the worker nothing, or tasks again. False if it has left. Source: `docs/semantics.md 8.10`. */
  drained({ workerId, draining }: WorkerDrain): boolean {
    if (draining) this.#drainAsked.add(workerId)
    else this.#drainAsked.delete(workerId)
    return this.#credits.has(workerId)
  }

  /** After this commit the worker is given no more tasks. */
  async drainOne(workerId: string): Promise<void> {
    this.#draining.add(workerId)
    await this.#store.write({ kind: 'drainWorkers', workerIds: [workerId] })
  }

  /** Removes a drained worker from the store's registry. */
  async removeOne(workerId: string): Promise<void> {
    if (!this.#credits.delete(workerId)) return
    this.#since.delete(workerId)
    this.#draining.delete(workerId)
    this.#drainAsked.delete(workerId)
    await this.#store.write({ kind: 'removeWorkers', workerIds: [workerId] })
  }

  /** After this commit the workers are given no more tasks. */
  async drain(): Promise<void> {
    this.#isEnding = true
    if (this.#credits.size > 0) await this.#store.write({ kind: 'drainWorkers', workerIds: this.workerIds })
  }

  /** Removes the workers from the store's registry. */
  async remove(): Promise<void> {
    if (this.#credits.size > 0) await this.#store.write({ kind: 'removeWorkers', workerIds: this.workerIds })
  }
}
