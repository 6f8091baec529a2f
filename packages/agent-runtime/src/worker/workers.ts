import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { Warden } from '../durable/exec/warden.ts'
import type { Parts } from '../execution/parts.ts'
import type { Isolation } from '../isolation/isolation.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { LeakedHandler, WorkerSpec } from '../api/worker.ts'
import type { StopOptions, StopReport } from '../api/stop.ts'
import type { PoolLimits } from '../api/pool.ts'
import { depthOf } from '../pool/depth.ts'
import { ScalingPool } from '../pool/scaling-pool.ts'
import { InlineCrew } from './inline-crew.ts'
import { WorkerRegistry } from './registry.ts'
import { RetentionKeeper } from '../retention/keeper.ts'
import { ScheduleKeeper } from './schedule-keeper.ts'
import { type HandlerStop, Scheduler } from './scheduler.ts'
import { typeSettingsOf } from '../terms/type-settings.ts'
import { TypeWatch } from '../terms/type-watch.ts'
import { type Patience, shutDownWorkers } from './shutdown.ts'

/** The parts of the workers. */
export interface WorkersDeps extends Omit<Parts, 'warden' | 'guard'> {
  readonly store: ExecutionStore
  readonly definitions: ReadonlyMap<string, TaskDefinition>
  readonly workers: readonly WorkerSpec[]
  /** Undefined where all tasks run inline. */
  readonly isolation: IsolationMaker | undefined
  /** How many workers there may be, and what the next one is. */
  readonly pool: {
    readonly limits: PoolLimits
    readonly specOf: (number: number) => WorkerSpec
  }
}

/** What runs isolated tasks is loaded only by a process that has such tasks. */
export type IsolationMaker = (parts: Pick<Parts, 'warden' | 'deadlines'>) => Isolation

/** The workers of this process, from registration to the end, and the schedules that they fire. */
export class Workers {
  readonly #deps: WorkersDeps
  readonly #warden = new Warden()
  readonly #isolation: Isolation | undefined
  readonly #registry: WorkerRegistry
  readonly #types: TypeWatch
  readonly #scheduler: Scheduler
  readonly #keeper: ScheduleKeeper
  readonly #retention: RetentionKeeper
  readonly pool: ScalingPool
  readonly #listening: Disposable
  readonly #handlerStops = new Set<(stop: HandlerStop) => void>()
  #started: Promise<void> | undefined
  #isEnding = false

  constructor(deps: WorkersDeps) {
    const { store, config, environment, definitions, log } = deps
    this.#deps = deps
    const settings = typeSettingsOf(definitions.values(), environment.digest, { submits: false })
    this.#registry = new WorkerRegistry(store, environment.clock, settings)
    const { clock: sinceStart } = environment
    this.#types = new TypeWatch({
      store,
      clock: sinceStart,
      log,
      settings: () => settings,
      leftOut: new Set(),
    })
    this.#keeper = new ScheduleKeeper({ store, config, clock: environment.clock, log })
    this.#retention = new RetentionKeeper({ store, config, ...environment, log })
    const parts: Parts = { ...deps, warden: this.#warden }
    this.#isolation = deps.isolation?.(parts)
    this.#scheduler = new Scheduler(
      parts,
      definitions,
      this.#registry,
      (stop) => this.#tellStop(stop),
      this.#isolation,
    )
    const { limits, specOf } = deps.pool
    const { types, lanes } = specOf(1)
    const [registry, scheduler, { clock, timers }] = [this.#registry, this.#scheduler, environment]
    this.pool = new ScalingPool({
      crew: new InlineCrew({ registry, scheduler, clock, specOf, first: deps.workers.length }),
      limits,
      depth: (enough) => depthOf(store, clock, enough, { types, lanes }),
      clock,
      timers,
      log,
    })
    this.#listening = store.listen({
      claimed: (claims) => this.#scheduler.claimed(claims),
      noticed: (notices) => this.#scheduler.noticed(notices),
      schedulesDue: () => this.#keeper.due(),
      configured: (inForce) => {
        this.#keeper.configured(inForce)
        this.#retention.configured(inForce)
      },
      drained: (drains) => {
        for (const drain of drains) if (this.#registry.drained(drain)) this.pool.drained(drain)
      },
    })
  }

  /** Number of attempts that still run something. */
  get inFlight(): number {
    return this.#scheduler.inFlight
  }

  get leaked(): readonly LeakedHandler[] {
    return this.#scheduler.leakedHandlers
  }

  /** The trace context of a task that runs here. */
  traceOf(taskId: string): Readonly<Record<string, string>> | undefined {
    return this.#scheduler.traceOf(taskId)
  }

  /** Calls the listener when a task began or ended here. */
  onWork(listener: () => void): Disposable {
    return this.#scheduler.onWork(listener)
  }

  /** Calls the listener for handlers that stopped, or did not stop, after their lease had ended. */
  onHandlerStopped(listener: (stop: HandlerStop) => void): Disposable {
    this.#handlerStops.add(listener)
    return { [Symbol.dispose]: () => this.#handlerStops.delete(listener) }
  }

  /** Registers the workers, once, however often it is called. A process with workers also fires schedules and deletes what retention no longer keeps. */
  async start(): Promise<void> {
    const { workers } = this.#deps
    this.#started ??= this.#registry.register(workers)
    await this.#started
    if (this.#isEnding) return
    if (workers.length > 0) {
      this.#types.look()
      this.#keeper.start()
    }
    this.#retention.start()
    this.pool.open()
  }

  /** Fires no more schedules; running handlers have their grace. Source: `docs/semantics.md 5.6`. */
  async stop(options: StopOptions, patience: Patience): Promise<StopReport> {
    this.#isEnding = true
    this.#keeper.close()
    this.#retention.close()
    await Promise.race([this.pool.close(), patience.graceOver, patience.hurry])
    const { config, deadlines, log } = this.#deps
    const deps = { config, deadlines, scheduler: this.#scheduler, registry: this.#registry, log }
    const report = await shutDownWorkers(deps, options, patience)
    if (this.#isolation !== undefined)
      await patience.last('the end of threads and processes of handlers', this.#isolation.close())
    return report
  }

  /** The store has failed for good: every handler has to stop. */
  failed(error: Error): void {
    this.#keeper.close()
    this.#retention.close()
    void this.pool.close()
    this.#scheduler.failed(error)
  }

  /** Stops listening to the store. */
  close(): void {
    this.#warden.close()
    this.#listening[Symbol.dispose]()
  }

  #tellStop(stop: HandlerStop): void {
    for (const listener of this.#handlerStops) listener(stop)
  }
}
