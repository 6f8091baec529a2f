import {
  assertOptions,
  describeError,
  type Environment,
  type ExecutionConfig,
  type ExecutionStore,
  type ReadKind,
  type Reads,
  RESERVED,
  RuntimeError,
  StoreError,
  type StoreInfo,
  type WorkTelemetry,
} from '@ku0/agent-runtime-core'
import {
  assertObserver,
  assertSubscription,
  cancelRules,
  filterOf,
  followRules,
  stopRules,
  taskIdOf,
  waitRules,
} from './arguments.ts'
import { type Approvals, approvalsOf } from './approvals.ts'
import { type Budgets, budgetsOf } from './budgets.ts'
import { type Clients, clientsOf } from './clients.ts'
import { Warden } from './durable/index.ts'
import {
  Deadlines,
  type HandlerStop,
  type LeakedHandler,
  type LogLine,
  type Parts,
  Scheduler,
  type SubmitItem,
  SubmissionQueue,
  type SubmitOptions,
  WorkerRegistry,
  type WorkerSpec,
} from './execution/index.ts'
import { EvaluationBook } from './evaluation/book.ts'
import type { EvaluationSettings } from './evaluations.ts'
import { Feed } from './feed.ts'
import { forkTask, retryTask } from './fork-task.ts'
import { graphSubmission } from './graph/submit-graph.ts'
import { followEvents, followOutput } from './follow.ts'
import { listTasks } from './list-tasks.ts'
import { openReceipt, openReceipts, type Receipt } from './receipts.ts'
import { replayTask, type ReplayOptions } from './replay/replay-task.ts'
import type { ReplayReport } from './replay/report.ts'
import { resumeTask } from './resume-task.ts'
import { awaitResult } from './result.ts'
import { ScheduleKeeper } from './scheduling/keeper.ts'
import { ScheduleBook } from './scheduling/schedule-book.ts'
import type {
  CancelOptions,
  FollowOptions,
  ForkOptions,
  ListFilter,
  OutputItem,
  RetryOptions,
  Runtime,
  RuntimeStats,
  SignalReceipt,
  StopOptions,
  StopReport,
  WaitOptions,
} from './runtime.ts'
import type { RuntimeEvent } from './runtime-event.ts'
import { sendSignal } from './send-signal.ts'
import { closeStore, patienceOf, shutDownLeases, shutDownWorkers } from './shutdown.ts'
import type { TaskDefinition } from './task-definition.ts'
import { TaskRejected } from './task-errors.ts'
import { LeaseDesk } from './workload/lease-desk.ts'
import { type LeaseObserver, LeaseObservers } from './workload/lease-observer.ts'
import type { ProfileSetting } from './workload/profile-setting.ts'
import { type RouteOptions, Routes, type RouteStatus, type RouteVerdict } from './workload/routes.ts'
import type { Swarm, SwarmOptions } from './workload/swarm.ts'
import { createSwarm } from './workload/swarms.ts'
import type { StartTaskOptions, TaskLease } from './workload/task-lease.ts'
import { type TaskStatus, toStatus } from './task-status.ts'

/** What the front door is put together from. */
export interface FrontDoorDeps {
  readonly store: ExecutionStore
  /** Whether the store is closed with the runtime. */
  readonly ownsStore: boolean
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly definitions: ReadonlyMap<string, TaskDefinition>
  readonly workers: readonly WorkerSpec[]
  readonly evaluation: EvaluationSettings
  readonly log: LogLine
  readonly trace: () => Readonly<Record<string, string>> | undefined
  /** The store has stopped for good. */
  readonly onFailure: (error: Error) => void
}

/** The front door: each call goes one room further, to the queue, the store or the feed. */
export class FrontDoor implements Runtime {
  readonly info: StoreInfo
  readonly approvals: Approvals
  readonly budgets: Budgets
  readonly schedules: ScheduleBook
  readonly clients: Clients
  readonly evaluations: EvaluationBook
  readonly #deps: FrontDoorDeps
  readonly #store: ExecutionStore
  readonly #deadlines: Deadlines
  readonly #warden = new Warden()
  readonly #feed: Feed
  readonly #queue: SubmissionQueue
  readonly #registry: WorkerRegistry
  readonly #scheduler: Scheduler
  readonly #keeper: ScheduleKeeper
  readonly #observers: LeaseObservers
  readonly #routes: Routes
  readonly #desk: LeaseDesk
  readonly #listening: Disposable
  readonly #handlerStops = new Set<(stop: HandlerStop) => void>()
  readonly #hurry = Promise.withResolvers<void>()
  readonly #stopped = Promise.withResolvers<StopReport>()
  #started: Promise<void> | undefined
  #stopping = false
  /** The store has failed. */
  #failed = false
  /** Why no call is taken any more. */
  #closed: Error | undefined

  constructor(deps: FrontDoorDeps) {
    const { store, config, environment, definitions, log, trace } = deps
    const { clock, timers } = environment
    this.#deps = deps
    this.#store = store
    this.info = store.info
    this.approvals = approvalsOf({ store, config, assertOpen: () => this.#assertOpen() })
    this.clients = clientsOf({ store, config, assertOpen: () => this.#assertOpen() })
    this.budgets = budgetsOf(store, () => this.#assertOpen())
    this.#deadlines = new Deadlines(clock, timers)
    this.#feed = new Feed(store, (error, { type }) =>
      log('error', 'a listener failed', { event: type, error: describeError(error) }),
    )
    this.#queue = new SubmissionQueue({
      store,
      definitions,
      maxPayloadBytes: config.maxPayloadBytes,
      trace,
      assertOpen: () => this.#assertTaking(),
    })
    this.#keeper = new ScheduleKeeper({ store, config, clock, log })
    this.schedules = new ScheduleBook({
      store,
      config,
      clock,
      definitions,
      queue: this.#queue,
      assertOpen: () => this.#assertOpen(),
      assertTaking: () => this.#assertTaking(),
    })
    this.#registry = new WorkerRegistry(store)
    const announce: Parts['announce'] = (type, taskId, seq, data) =>
      this.#feed.announce(type, taskId, seq, () => clock.now(), data)
    this.evaluations = new EvaluationBook({
      store,
      config,
      settings: deps.evaluation,
      assertOpen: () => this.#assertOpen(),
      announce,
    })
    this.#observers = new LeaseObservers(log)
    this.#routes = new Routes(store)
    const parts = {
      observers: this.#observers,
      store,
      config,
      environment,
      deadlines: this.#deadlines,
      warden: this.#warden,
      prepareChild: (item: SubmitItem, call: string, parentType: string) =>
        this.#queue.prepareChild(item, call, parentType),
      log,
      announce,
    }
    this.#scheduler = new Scheduler(parts, definitions, this.#registry, (stop) => this.#tellStop(stop))
    const assertTaking = () => this.#assertTaking()
    this.#desk = new LeaseDesk({ ...parts, trace, assertTaking })
    this.#listening = store.listen({
      claimed: (claims) => this.#scheduler.claimed(claims),
      noticed: (notices) => {
        this.#scheduler.noticed(notices)
        this.#desk.noticed(notices)
      },
      published: (events) => this.#feed.published(events),
      emitted: (chunks) => this.#feed.emitted(chunks),
      schedulesDue: () => this.#keeper.due(),
      failed: (error) => this.#fail(error),
    })
  }

  async submit(
    task: TaskDefinition | string,
    input: unknown,
    options?: SubmitOptions,
  ): Promise<Receipt<never>> {
    return openReceipt(await this.#queue.submit({ task, input, options })) as Receipt<never>
  }

  async submitMany(items: readonly unknown[]): Promise<never> {
    return openReceipts(await this.#queue.submitMany(items)) as never
  }

  async submitGraph(graph: unknown, options?: SubmitOptions): Promise<Receipt<never>> {
    this.#assertTaking()
    const item = await graphSubmission(this.#deps.definitions, graph, options)
    return openReceipt(await this.#queue.submit(item)) as Receipt<never>
  }

  async status(task: Receipt | string): Promise<TaskStatus | undefined> {
    const record = await this.#read('task', { taskId: taskIdOf('status', task) })
    return record === undefined ? undefined : toStatus(record)
  }

  async result(task: Receipt | string, options: WaitOptions = {}): Promise<never> {
    this.#assertOpen()
    const taskId = taskIdOf('result', task)
    assertOptions('result', options, waitRules)
    if (typeof task !== 'string' && !task.accepted)
      throw new TaskRejected(taskId, task.reason, task.message, task.forGood)
    return (await awaitResult(
      { store: this.#store, feed: this.#feed, deadlines: this.#deadlines },
      taskId,
      options,
    )) as never
  }

  async cancel(task: Receipt | string, options: CancelOptions = {}): Promise<boolean> {
    this.#assertOpen()
    const taskId = taskIdOf('cancel', task)
    assertOptions('cancel', options, cancelRules)
    const { reason } = options
    const { canceled } = await this.#store.write({
      kind: 'cancel',
      taskId,
      ...(reason === undefined ? {} : { reason }),
    })
    return canceled
  }

  async signal(task: Receipt | string, name: string, value?: unknown): Promise<SignalReceipt> {
    this.#assertOpen()
    return sendSignal(this.#store, this.#deps.config, taskIdOf('signal', task), name, value)
  }

  async retry(task: Receipt | string, options?: RetryOptions): Promise<Receipt<never>> {
    this.#assertTaking()
    return openReceipt(await retryTask(this.#deps, taskIdOf('retry', task), options)) as Receipt<never>
  }

  async fork(task: Receipt | string, options?: ForkOptions): Promise<Receipt<never>> {
    this.#assertTaking()
    return openReceipt(await forkTask(this.#deps, taskIdOf('fork', task), options)) as Receipt<never>
  }

  async resume(task: Receipt | string): Promise<void> {
    this.#assertOpen()
    return resumeTask(this.#store, taskIdOf('resume', task))
  }

  async replay(task: Receipt | string, options: ReplayOptions): Promise<ReplayReport> {
    this.#assertOpen()
    return replayTask(this.#deps, taskIdOf('replay', task), options)
  }

  async list(
    filter: ListFilter = {},
  ): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }> {
    this.#assertOpen()
    return listTasks((given) => this.#read('tasks', { filter: given }), filterOf(filter))
  }

  events(task: Receipt | string, options: FollowOptions = {}): AsyncIterable<RuntimeEvent> {
    this.#assertOpen()
    const taskId = taskIdOf('events', task)
    assertOptions('events', options, followRules)
    return followEvents({ store: this.#store, feed: this.#feed }, taskId, options)
  }

  output(task: Receipt | string, options: FollowOptions = {}): AsyncIterable<OutputItem> {
    this.#assertOpen()
    const taskId = taskIdOf('output', task)
    assertOptions('output', options, followRules)
    return followOutput({ store: this.#store, feed: this.#feed }, taskId, options)
  }

  async stats(): Promise<RuntimeStats> {
    const stats = await this.#read('stats', {})
    return { ...stats, inFlight: this.#scheduler.inFlight, leaked: this.leaked().length }
  }

  async explain(task: Receipt | string): Promise<Reads['explain']['answer']> {
    return this.#read('explain', { taskId: taskIdOf('explain', task) })
  }

  async explainQueue(): Promise<Reads['waits']['answer']> {
    return this.#read('waits', {})
  }

  async workers(): Promise<Reads['workers']['answer']> {
    const workers = await this.#read('workers', {})
    const isOwn = (type: string) => type.startsWith(RESERVED)
    return workers.map((worker) => ({ ...worker, types: worker.types.filter((type) => !isOwn(type)) }))
  }

  async leases(task: Receipt | string): Promise<Reads['leases']['answer']> {
    return this.#read('leases', { taskId: taskIdOf('leases', task) })
  }

  setRouteProfile(route: string, profile: ProfileSetting): void {
    this.#assertOpen()
    this.#routes.setProfile(route, profile)
  }

  async route(route: string, telemetry?: WorkTelemetry, options?: RouteOptions): Promise<RouteVerdict> {
    this.#assertOpen()
    return this.#routes.observe(route, telemetry, options)
  }

  async routes(): Promise<readonly RouteStatus[]> {
    this.#assertOpen()
    return this.#routes.status()
  }

  async startTask(route: string, options?: StartTaskOptions): Promise<TaskLease> {
    return this.#desk.startTask(route, options, this.#routes.profileOf(route, 'STANDARD'))
  }

  async createSwarm(route: string, options: SwarmOptions = {}): Promise<Swarm> {
    const parts = {
      store: this.#store,
      queue: this.#queue,
      desk: this.#desk,
      assertTaking: () => this.#assertTaking(),
    }
    return createSwarm(parts, route, options, this.#routes.profileOf(route, 'STANDARD'))
  }

  async swarms(): Promise<Reads['swarms']['answer']> {
    return this.#read('swarms', {})
  }

  observe(observer: LeaseObserver): Disposable {
    this.#assertOpen()
    assertObserver(observer)
    return this.#observers.add(observer)
  }

  leaked(): readonly LeakedHandler[] {
    return [...this.#scheduler.leakedHandlers, ...this.#desk.leaked]
  }

  on(pattern: string, listener: (event: never) => void): Disposable {
    this.#assertOpen()
    assertSubscription(pattern, listener)
    return this.#feed.on(pattern, listener as (event: RuntimeEvent) => void)
  }

  /** For telemetry: handlers that stopped, or did not, after their lease had ended. */
  onHandlerStopped(listener: (stop: HandlerStop) => void): Disposable {
    this.#handlerStops.add(listener)
    return { [Symbol.dispose]: () => this.#handlerStops.delete(listener) }
  }

  /** For telemetry: the trace context of a task that runs here. */
  traceOf(taskId: string): Readonly<Record<string, string>> | undefined {
    return this.#scheduler.traceOf(taskId)
  }

  async start(): Promise<void> {
    this.#assertOpen()
    this.#started ??= this.#registry.register(this.#deps.workers)
    await this.#started
    if (this.#deps.workers.length > 0 && !this.#stopping) this.#keeper.start()
  }

  async stop(options: StopOptions = {}): Promise<StopReport> {
    assertOptions('stop', options, stopRules)
    if (this.#stopping) this.#hurry.resolve()
    else void this.#stop(options)
    return this.#stopped.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#stopping ? this.#stopped.promise : this.stop())
  }

  async #stop(options: StopOptions): Promise<void> {
    this.#stopping = true
    this.#keeper.close()
    const { config, environment, log, ownsStore } = this.#deps
    using patience = patienceOf(this.#hurry.promise, environment.timers)
    const deps = {
      config,
      deadlines: this.#deadlines,
      scheduler: this.#scheduler,
      registry: this.#registry,
      log,
    }
    const [report, released] = await Promise.all([
      shutDownWorkers(deps, options, patience),
      shutDownLeases(this.#desk, deps, options, patience),
    ])
    this.#close(new StoreError('store_closed', 'the runtime was stopped'))
    this.#warden.close()
    this.#deadlines.close()
    this.#listening[Symbol.dispose]()
    if (ownsStore) await closeStore(this.#store, patience, log)
    this.#stopped.resolve({ ...report, drained: report.drained && released && !this.#failed })
  }

  /** Source: `docs/reliability.md` T7, T8. */
  #fail(error: Error): void {
    if (this.#closed !== undefined) return
    this.#failed = true
    this.#deps.log('error', 'the store has failed, the runtime stops', { error: describeError(error) })
    this.#close(error)
    this.#keeper.close()
    this.#scheduler.failed(error)
    this.#desk.failed(error)
    this.#deps.onFailure(error)
  }

  #close(error: Error): void {
    this.#closed ??= error
    this.#feed.close(this.#closed)
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed
  }

  /** What was handed to the store before the stop is answered; what comes after it belongs to another process. */
  #assertTaking(): void {
    if (this.#stopping && !this.#failed)
      throw new RuntimeError('shutdown', 'the runtime was told to stop: it takes no more submissions')
    this.#assertOpen()
  }

  async #read<K extends ReadKind>(kind: K, fields: Reads[K]['fields']): Promise<Reads[K]['answer']> {
    this.#assertOpen()
    return this.#store.read<K>({ kind, ...fields } as never)
  }

  #tellStop(stop: HandlerStop): void {
    for (const listener of this.#handlerStops) listener(stop)
  }
}
