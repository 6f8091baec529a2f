import type { StoreStats, WorkTelemetry } from '@ku0/agent-runtime-core'
import type { Pool } from './api/pool.ts'
import type { LeaseObserver, LeaseOutcome, StartTaskOptions, TaskLease } from './api/leases.ts'
import type { ProfileSetting } from './api/profiles.ts'
import type { RateLimitRule } from './api/rate-limit-rule.ts'
import type { Receipt } from './api/receipts.ts'
import type { ReplayOptions, ReplayReport } from './api/replay.ts'
import type { RouteOptions, RouteStatus, RouteVerdict } from './api/routes.ts'
import type { Runtime } from './api/runtime.ts'
import type { Swarm, SwarmOptions } from './api/swarms.ts'
import type { TaskDefinition } from './api/task-definition.ts'
import type { LeakedHandler, RuntimeStats, WorkerSpec } from './api/worker.ts'
import type { StopOptions, StopReport } from './api/stop.ts'
import { type ClientDeps, StoreClient } from './client/client.ts'
import { ByHand } from './profile/by-hand.ts'
import { LeaseDesk } from './profile/lease-desk.ts'
import { Routes } from './profile/routes.ts'
import { createSwarm } from './profile/swarms.ts'
import type { PassCheck } from './execution/pass-check.ts'
import { replayTask } from './replay/replay-task.ts'
import { assertObserver, taskIdOf } from './terms/arguments.ts'
import type { HandlerStop } from './worker/scheduler.ts'
import { closeWithin, patienceOf, shutDownLeases } from './worker/shutdown.ts'
import { Stopping } from './worker/stopping.ts'
import { Workers, type WorkersDeps } from './worker/workers.ts'
import { LeaseObservers } from './lease/observers.ts'
import type { StuckTask, WatchdogSettings } from './api/watchdog.ts'
import { Watchdog } from './watchdog/watchdog.ts'

/** What a runtime is put together from. */
export interface RuntimeDeps extends ClientDeps {
  readonly definitions: ReadonlyMap<string, TaskDefinition>
  readonly workers: readonly WorkerSpec[]
  readonly pool: WorkersDeps['pool']
  readonly isolation: WorkersDeps['isolation']
  readonly rateLimited: RateLimitRule | undefined
  readonly strict: PassCheck | undefined
  readonly watchdog: WatchdogSettings | undefined
}

/** A client and the workers of this process on one store, with the leases that callers hold. */
export class StoreRuntime extends StoreClient implements Runtime {
  readonly #deps: RuntimeDeps
  readonly #workers: Workers
  readonly #desk: LeaseDesk
  readonly #byHand: ByHand
  readonly #routes: Routes
  readonly #observers: LeaseObservers
  readonly #listening: Disposable
  readonly #stopping = new Stopping()
  readonly #watchdog: Watchdog | undefined

  constructor(deps: RuntimeDeps) {
    super(deps)
    const { store, config, values, environment, log, trace, definitions, workers, lifetime } = deps
    const { deadlines, announce, submissions } = this
    this.#deps = deps
    this.#observers = new LeaseObservers(log)
    this.#routes = new Routes(store)
    const shared = {
      store,
      config,
      values,
      environment,
      deadlines,
      log,
      announce,
      observers: this.#observers,
    }
    this.#workers = new Workers({
      ...shared,
      definitions,
      workers,
      pool: deps.pool,
      isolation: deps.isolation,
      rateLimited: deps.rateLimited,
      strict: deps.strict,
      prepareChild: (item, call, parentType) => submissions.prepareChild(item, call, parentType),
    })
    this.#desk = new LeaseDesk({ ...shared, trace, assertTaking: () => lifetime.assertTaking() })
    this.#byHand = new ByHand({ store, config, values })
    const { watchdog: settings } = deps
    const { clock, timers } = environment
    this.#watchdog =
      settings &&
      new Watchdog({
        view: this,
        settings,
        clock,
        timers,
        announce,
        isHeard: () => this.feed.wants('task.stuck'),
        log,
      })
    this.#listening = store.listen({
      noticed: (notices) => {
        this.#desk.noticed(notices)
        this.#byHand.noticed(notices)
      },
    })
  }

  override async stats(): Promise<RuntimeStats> {
    const stats: StoreStats = await super.stats()
    return { ...stats, inFlight: this.#workers.inFlight, leaked: this.leaked().length }
  }

  async replay(task: Receipt | string, options: ReplayOptions): Promise<ReplayReport> {
    this.lifetime.assertOpen()
    return replayTask(this.#deps, taskIdOf('replay', task), options)
  }

  setRouteProfile(route: string, profile: ProfileSetting): void {
    this.lifetime.assertOpen()
    this.#routes.setProfile(route, profile)
  }

  async route(route: string, telemetry?: WorkTelemetry, options?: RouteOptions): Promise<RouteVerdict> {
    this.lifetime.assertOpen()
    return this.#routes.observe(route, telemetry, options)
  }

  override async routes(): Promise<readonly RouteStatus[]> {
    this.lifetime.assertOpen()
    return this.#routes.status()
  }

  async startTask(route: string, options?: StartTaskOptions): Promise<TaskLease> {
    return this.#desk.startTask(route, options, this.#routes.profileOf(route, 'STANDARD'))
  }

  async acquireLease(task: Receipt | string): Promise<boolean> {
    const taskId = taskIdOf('acquireLease', task)
    this.lifetime.assertTaking()
    return this.#byHand.acquire(taskId)
  }

  async heartbeatLease(task: Receipt | string, progress?: unknown): Promise<boolean> {
    return this.#byHand.heartbeat(taskIdOf('heartbeatLease', task), progress)
  }

  async releaseLease(task: Receipt | string, outcome?: LeaseOutcome): Promise<boolean> {
    return this.#byHand.release(taskIdOf('releaseLease', task), outcome)
  }

  async createSwarm(route: string, options: SwarmOptions = {}): Promise<Swarm> {
    const { submissions, lifetime } = this
    const { store } = this.#deps
    const parts = { store, submissions, desk: this.#desk, assertTaking: () => lifetime.assertTaking() }
    return createSwarm(parts, route, options, this.#routes.profileOf(route, 'STANDARD'))
  }

  get pool(): Pool {
    return this.#workers.pool.face
  }

  observe(observer: LeaseObserver): Disposable {
    this.lifetime.assertOpen()
    assertObserver(observer)
    return this.#observers.add(observer)
  }

  leaked(): readonly LeakedHandler[] {
    return [...this.#workers.leaked, ...this.#desk.leaked]
  }

  /** For telemetry: handlers that stopped, or did not, after their lease had ended. */
  onHandlerStopped(listener: (stop: HandlerStop) => void): Disposable {
    return this.#workers.onHandlerStopped(listener)
  }

  /** For telemetry: the trace context of a task that runs here. */
  traceOf(taskId: string): Readonly<Record<string, string>> | undefined {
    return this.#workers.traceOf(taskId)
  }

  /** For telemetry: the tasks that the watchdog found stuck at its last look. */
  stuck(): readonly StuckTask[] {
    return this.#watchdog?.found ?? []
  }

  async start(): Promise<void> {
    this.lifetime.assertOpen()
    await this.#workers.start()
    this.#watchdog?.start()
  }

  async stop(options: StopOptions = {}): Promise<StopReport> {
    return this.#stopping.ask(options, (given, hurry) => this.#stop(given, hurry))
  }

  override async close(): Promise<void> {
    await (this.#stopping.isBegun ? this.#stopping.report : this.stop())
  }

  /** The store has failed. Source: `docs/reliability.md` T7, T8. */
  protected override onFailed(error: Error): void {
    this.#watchdog?.close()
    this.#workers.failed(error)
    this.#desk.failed(error)
  }

  async #stop(options: StopOptions, hurry: Promise<void>): Promise<StopReport> {
    const { config, log } = this.#deps
    this.lifetime.end()
    this.#watchdog?.close()
    using patience = patienceOf(hurry, this.#deps, options)
    const [report, released, isIdle] = await Promise.all([
      this.#workers.stop(options, patience),
      shutDownLeases(this.#desk, { config, deadlines: this.deadlines }, options, patience),
      shutDownLeases(this.#byHand, { config, deadlines: this.deadlines }, options, patience),
    ])
    await patience.last('the removal of the worker for tasks by hand', this.#byHand.leave())
    this.shut(this.lifetime.close())
    this.#workers.close()
    this.#listening[Symbol.dispose]()
    const givenBack = report.released + this.#byHand.givenBack
    await closeWithin(patience, () => this.#deps.release(), { log, released: givenBack })
    return {
      released: givenBack,
      drained: report.drained && released && isIdle && !this.lifetime.failed,
    }
  }
}
