import {
  describeError,
  type Environment,
  type ExecutionConfig,
  type ExecutionStore,
  type RouteRecord,
  type StoreInfo,
  type WorkerStatus,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { RateLimitRule } from './api/rate-limit-rule.ts'
import type { RuntimeEvent } from './api/events.ts'
import type { Pool } from './api/pool.ts'
import type { LeaseObserver } from './api/leases.ts'
import type { TaskDefinition } from './api/task-definition.ts'
import type { LeakedHandler, RuntimeStats, Worker, WorkerSpec } from './api/worker.ts'
import type { StopOptions, StopReport } from './api/stop.ts'
import { type Announce, Feed } from './client/feed.ts'
import { AgreementBook } from './client/agreements.ts'
import { KnownTypes } from './client/known-types.ts'
import type { Lifetime } from './client/lifetime.ts'
import type { PassCheck } from './execution/pass-check.ts'
import { listWorkers } from './client/list-workers.ts'
import { ReachWatch } from './client/reach-watch.ts'
import { Submissions } from './client/submissions.ts'
import { Deadlines } from './lease/deadlines.ts'
import type { LogLine } from './api/logger.ts'
import { assertObserver, assertSubscription } from './terms/arguments.ts'
import { SettingsWatch } from './terms/settings-watch.ts'
import type { HandlerStop } from './worker/scheduler.ts'
import { closeWithin, patienceOf } from './worker/shutdown.ts'
import { Stopping } from './worker/stopping.ts'
import { Workers, type WorkersDeps } from './worker/workers.ts'
import { LeaseObservers } from './lease/observers.ts'

/** What a worker process is put together from. */
export interface StoreWorkerDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly environment: Environment
  readonly definitions: ReadonlyMap<string, TaskDefinition>
  readonly workers: readonly WorkerSpec[]
  readonly pool: WorkersDeps['pool']
  readonly isolation: WorkersDeps['isolation']
  readonly rateLimited: RateLimitRule | undefined
  readonly strict: PassCheck | undefined
  readonly lifetime: Lifetime
  readonly log: LogLine
  readonly trace: () => Readonly<Record<string, string>> | undefined
  /** The store has stopped for good. */
  readonly whenFailed: (error: Error) => void
  /** Lets the store go, and closes it if it is the worker's own. */
  readonly release: () => Promise<void>
}

/** The workers of a process that has no client. */
export class StoreWorker implements Worker {
  readonly info: StoreInfo
  readonly #deps: StoreWorkerDeps
  readonly #feed: Feed
  readonly #deadlines: Deadlines
  readonly #observers: LeaseObservers
  readonly #workers: Workers
  readonly #listening: Disposable
  readonly #stopping = new Stopping()

  constructor(deps: StoreWorkerDeps) {
    const { store, config, values, environment, definitions, workers, lifetime, log, trace } = deps
    const { clock, timers } = environment
    this.info = store.info
    this.#deps = deps
    this.#deadlines = new Deadlines(clock, timers)
    this.#observers = new LeaseObservers(log)
    this.#feed = new Feed(store, values, (error, { type }) =>
      log('error', 'a listener failed', { event: type, error: describeError(error) }),
    )
    const announce: Announce = (type, taskId, seq, data) =>
      this.#feed.announce(type, taskId, seq, () => clock.now(), data)
    const children = new Submissions({
      store,
      types: new KnownTypes(definitions, 'refused'),
      agreements: new AgreementBook([], { store, assertOpen: () => lifetime.assertOpen() }),
      config,
      values,
      log,
      trace,
      assertOpen: () => lifetime.assertOpen(),
    })
    this.#workers = new Workers({
      store,
      config,
      values,
      environment,
      definitions,
      workers,
      pool: deps.pool,
      isolation: deps.isolation,
      rateLimited: deps.rateLimited,
      strict: deps.strict,
      deadlines: this.#deadlines,
      observers: this.#observers,
      log,
      announce,
      prepareChild: (item, call, parentType) => children.prepareChild(item, call, parentType),
    })
    const inForce = new SettingsWatch({ store, config, log })
    inForce.look()
    const reachWatch = new ReachWatch({ store, clock, log, announce })
    this.#listening = store.listen({
      reached: (reach) => reachWatch.reached(reach),
      published: (events) => this.#feed.published(events),
      configured: () => inForce.look(),
      failed: (error) => this.#fail(error),
    })
  }

  async stats(): Promise<RuntimeStats> {
    this.#deps.lifetime.assertOpen()
    const stats = await this.#deps.store.read({ kind: 'stats' })
    return { ...stats, inFlight: this.#workers.inFlight, leaked: this.#workers.leaked.length }
  }

  get pool(): Pool {
    return this.#workers.pool.face
  }

  observe(observer: LeaseObserver): Disposable {
    this.#deps.lifetime.assertOpen()
    assertObserver(observer)
    return this.#observers.add(observer)
  }

  leaked(): readonly LeakedHandler[] {
    return this.#workers.leaked
  }

  on(pattern: string, listener: (event: never) => void): Disposable {
    this.#deps.lifetime.assertOpen()
    assertSubscription(pattern, listener)
    return this.#feed.on(pattern, listener as (event: RuntimeEvent) => void)
  }

  async start(): Promise<void> {
    this.#deps.lifetime.assertOpen()
    await this.#workers.start()
  }

  async stop(options: StopOptions = {}): Promise<StopReport> {
    return this.#stopping.ask(options, (given, hurry) => this.#stop(given, hurry))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#stopping.isBegun ? this.#stopping.report : this.stop())
  }

  /** For telemetry: the registered workers of every process on the store. */
  async workers(): Promise<readonly WorkerStatus[]> {
    return listWorkers(this.#deps.store)
  }

  /** For telemetry: how routes stand in the store. */
  async routes(): Promise<readonly RouteRecord[]> {
    return this.#deps.store.read({ kind: 'routes' })
  }

  /** For a pool: calls the listener when a task began or ended here. */
  onWork(listener: () => void): Disposable {
    return this.#workers.onWork(listener)
  }

  /** For telemetry: handlers that stopped, or did not, after their lease had ended. */
  onHandlerStopped(listener: (stop: HandlerStop) => void): Disposable {
    return this.#workers.onHandlerStopped(listener)
  }

  /** For telemetry: the trace context of a task that runs here. */
  traceOf(taskId: string): Readonly<Record<string, string>> | undefined {
    return this.#workers.traceOf(taskId)
  }

  /** Source: `docs/reliability.md` T7, T8. */
  #fail(error: Error): void {
    const { lifetime, log, whenFailed } = this.#deps
    if (!lifetime.fail(error)) return
    log('error', 'the store has failed, the worker stops', { error: describeError(error) })
    this.#feed.close(error)
    this.#workers.failed(error)
    whenFailed(error)
  }

  async #stop(options: StopOptions, hurry: Promise<void>): Promise<StopReport> {
    const { lifetime, log, release } = this.#deps
    lifetime.end()
    using patience = patienceOf(hurry, this.#deps, options)
    const report = await this.#workers.stop(options, patience)
    this.#feed.close(lifetime.close())
    this.#workers.close()
    this.#deadlines.close()
    this.#listening[Symbol.dispose]()
    await closeWithin(patience, release, { log, released: report.released })
    return { ...report, drained: report.drained && !lifetime.failed }
  }
}
