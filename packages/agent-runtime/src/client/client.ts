import {
  assertOptions,
  describeError,
  type Environment,
  type ExecutionConfig,
  type ExecutionStore,
  invalid,
  isRecord,
  type ReadKind,
  type Reads,
  type StoreInfo,
  type SeriesFilter,
  show,
  type StoreSettings,
  type StoreStats,
  type TypeSettings,
  type ValueCodec,
  RuntimeError,
} from '@ku0/agent-runtime-core'
import type { Agreement, Agreements } from '../api/agreements.ts'
import type { Approvals } from '../api/approvals.ts'
import type { Budgets } from '../api/budgets.ts'
import type {
  CanceledMany,
  CancelFilter,
  CancelManyOptions,
  CancelOptions,
  Client,
  FollowOptions,
  ForkOptions,
  ItemsOf,
  ListFilter,
  OutputItem,
  OutputOptions,
  OutputPage,
  ReceiptsOf,
  Pruned,
  PruneOptions,
  RetriedMany,
  RetryFilter,
  RetryManyOptions,
  RetryOptions,
  SignalReceipt,
  StoredPage,
  StoredCheckpoint,
  StoredStep,
  WaitOptions,
  QueueSelection,
} from '../api/client.ts'
import type { AccessTokens } from '../api/access-tokens.ts'
import type { Clients } from '../api/clients.ts'
import type { Credits } from '../api/credits.ts'
import { TaskRejected } from '../api/errors.ts'
import type { EvaluationSettings, Evaluations } from '../api/evaluations.ts'
import type { RuntimeEvent } from '../api/events.ts'
import type { Exchange } from '../api/exchange.ts'
import type { Graph, GraphNodes, GraphOutput } from '../api/graphs.ts'
import type { LogLine } from '../api/logger.ts'
import type { Receipt, TaskId } from '../api/receipts.ts'
import type { Schedules } from '../api/schedules.ts'
import type { Pipeline, PipelinePage } from '../api/pipelines.ts'
import type { Supervisors } from '../api/supervisors.ts'
import type { TaskStatus } from '../api/status.ts'
import type { SubmitOptions } from '../api/submissions.ts'
import type { TaskType } from '../api/task-type.ts'
import { Deadlines } from '../lease/deadlines.ts'
import { assertOutsideHandlers } from '../lease/inside-handler.ts'
import { openReceipt, openReceipts, unlessRejected } from '../terms/receipts.ts'
import {
  assertSubscription,
  assertWorkerId,
  cancelRules,
  filterOf,
  followRules,
  leasesRules,
  outputRules,
  queueSelectionOf,
  taskIdOf,
  waitRules,
} from '../terms/arguments.ts'
import { AgreementBook } from './agreements.ts'
import { approvalsOf } from './approvals.ts'
import { budgetsOf } from './budgets.ts'
import { cancelMany } from './cancel-many.ts'
import { accessTokensOf } from './access-tokens.ts'
import { clientsOf } from './clients.ts'
import { creditsOf } from './credits.ts'
import { EvaluationBook } from './evaluations.ts'
import { type Announce, Feed } from './feed.ts'
import { followEvents, followOutput } from './follow.ts'
import { forkTask, retryTask } from './fork-task.ts'
import type { KnownTypes } from './known-types.ts'
import type { Lifetime } from './lifetime.ts'
import { countTasks, listTasks } from './list-tasks.ts'
import { listWorkers } from './list-workers.ts'
import { pruneStore } from './prune.ts'
import { ReachWatch } from './reach-watch.ts'
import { awaitResult } from './result.ts'
import { resumeTask } from './resume-task.ts'
import { retryMany } from './retry-many.ts'
import { RetentionKeeper } from '../retention/keeper.ts'
import { SeriesKeeper } from '../retention/series-keeper.ts'
import { SaidOnce } from '../terms/said-once.ts'
import { ScheduleBook } from './schedules.ts'
import { sendSignal } from './signal-task.ts'
import { pageOfHistory, pageOfOutput, pageOfSteps, storedCheckpoint } from './stored-pages.ts'
import { pageOfPipelines, pipelineOf } from './pipelines.ts'
import { supervisorsOf } from './supervisors.ts'
import { Submissions } from './submissions.ts'
import { graphSubmission } from './submit-graph.ts'
import { toStatus } from './task-status.ts'
import { SettingsWatch } from '../terms/settings-watch.ts'
import { TypeWatch } from '../terms/type-watch.ts'
import { typeSettingsOf, workersAlone } from '../terms/type-settings.ts'

/** The parts of a client. */
export interface ClientDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly environment: Environment
  readonly types: KnownTypes
  readonly agreements: readonly Agreement[]
  readonly evaluation: EvaluationSettings
  readonly lifetime: Lifetime
  readonly log: LogLine
  readonly trace: () => Readonly<Record<string, string>> | undefined
  /** No worker of this process compares its task types with those of others: the client does. */
  readonly comparesTypes: boolean
  /** The store has stopped for good. */
  readonly whenFailed: (error: Error) => void
  /** Releases the store, and closes it if the client opened it. */
  readonly release: () => Promise<void>
}

/**
 * The entry point to a store: each call goes to the submissions, the store or the feed. It builds no
 * scheduler and knows no handler.
 */
export class StoreClient implements Client {
  readonly info: StoreInfo
  readonly agreements: Agreements
  protected readonly submissions: Submissions
  protected readonly feed: Feed
  protected readonly deadlines: Deadlines
  protected readonly lifetime: Lifetime
  readonly #deps: ClientDeps
  readonly #keepers = new Set<Disposable>()
  readonly #store: ExecutionStore
  readonly #listening: Disposable
  /** Those of the store that are in force, where they are not those of this process. */
  #inForce: StoreSettings | undefined
  readonly #said = new SaidOnce()
  /** By receipt, when the submission was made whose key found the task. */
  readonly #found = new WeakMap<object, number>()
  #approvals: Approvals | undefined
  #budgets: Budgets | undefined
  #supervisors: Supervisors | undefined
  #schedules: Schedules | undefined
  #accessTokens: AccessTokens | undefined
  #clients: Clients | undefined
  #credits: Credits | undefined
  #evaluations: Evaluations | undefined
  #closing: Promise<void> | undefined

  constructor(deps: ClientDeps) {
    const { store, config, values, environment, types, lifetime, log, trace } = deps
    this.#deps = deps
    this.#store = store
    this.info = store.info
    this.lifetime = lifetime
    this.deadlines = new Deadlines(environment.clock, environment.timers)
    this.feed = new Feed(store, values, (error, { type }) =>
      log('error', 'a listener failed', { event: type, error: describeError(error) }),
    )
    const agreements = new AgreementBook(deps.agreements, { store, assertOpen: () => lifetime.assertOpen() })
    this.agreements = { list: () => agreements.list(), get: (name) => agreements.get(name) }
    let settings: ReadonlyMap<string, TypeSettings> | undefined
    const watch = new TypeWatch({
      store,
      clock: environment.clock,
      log,
      settings: () => (settings ??= typeSettingsOf(types.given, environment.digest, { submits: true })),
      leftOut: workersAlone,
    })
    this.submissions = new Submissions({
      watch,
      store,
      types,
      agreements,
      config,
      values,
      log,
      trace,
      assertOpen: () => lifetime.assertTaking(),
    })
    if (deps.comparesTypes) watch.look()
    const settingsWatch = new SettingsWatch({ store, config, log })
    settingsWatch.look()
    const reachWatch = new ReachWatch({ store, clock: environment.clock, log, announce: this.announce })
    this.#listening = store.listen({
      reached: (reach) => reachWatch.reached(reach),
      published: (events) => this.feed.published(events),
      emitted: (chunks) => this.feed.emitted(chunks),
      configured: (inForce) => {
        this.#inForce = inForce
        settingsWatch.look()
      },
      failed: (error) => this.#fail(error),
    })
  }

  /**
   * Publishes something that is not a row of the store to this process's listeners. Builds nothing if nobody
   * listens.
   */
  protected readonly announce: Announce = (type, taskId, seq, data) =>
    this.feed.announce(type, taskId, seq, () => this.#deps.environment.clock.now(), data)

  /** What each part of the client needs. */
  get #parts() {
    const { store, config, values, types, lifetime } = this.#deps
    const assertOpen = () => lifetime.assertOpen()
    const assertTaking = () => lifetime.assertTaking()
    return { store, config, values, types, assertOpen, assertTaking }
  }

  get approvals(): Approvals {
    this.#approvals ??= approvalsOf(this.#parts)
    return this.#approvals
  }

  get budgets(): Budgets {
    this.#budgets ??= budgetsOf(this.#parts)
    return this.#budgets
  }

  get supervisors(): Supervisors {
    const { submissions } = this
    const prepare: Submissions['prepare'] = (item, place) => submissions.prepare(item, place)
    this.#supervisors ??= supervisorsOf({ ...this.#parts, prepare })
    return this.#supervisors
  }

  get credits(): Credits {
    this.#credits ??= creditsOf(this.#parts)
    return this.#credits
  }
  get accessTokens(): AccessTokens {
    this.#accessTokens ??= accessTokensOf({ ...this.#parts, clock: this.#deps.environment.clock })
    return this.#accessTokens
  }
  get clients(): Clients {
    this.#clients ??= clientsOf(this.#parts)
    return this.#clients
  }

  get schedules(): Schedules {
    const { environment } = this.#deps
    const { submissions } = this
    this.#schedules ??= new ScheduleBook({ ...this.#parts, clock: environment.clock, submissions })
    return this.#schedules
  }

  get evaluations(): Evaluations {
    const { evaluation: settings } = this.#deps
    this.#evaluations ??= new EvaluationBook({ ...this.#parts, settings, announce: this.announce })
    return this.#evaluations
  }

  submit<Input, Output, X extends Exchange>(
    task: TaskType<string, Input, Output, X>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<Receipt<Output, X>>
  submit(task: string, input: unknown, options?: SubmitOptions): Promise<Receipt>
  async submit(task: TaskType | string, input: unknown, options?: SubmitOptions): Promise<Receipt> {
    const askedAt = this.#deps.environment.clock.now()
    const receipt = openReceipt(await this.submissions.submit({ task, input, options }))
    return unlessRejected(this.#noted(receipt, askedAt), options)
  }

  async submitMany<Tasks extends readonly (TaskType | string)[] | []>(
    items: ItemsOf<Tasks>,
  ): Promise<ReceiptsOf<Tasks>> {
    // One receipt for each item, in their order.
    const askedAt = this.#deps.environment.clock.now()
    const receipts = openReceipts(await this.submissions.submitMany(items), items)
    return receipts.map((receipt) => this.#noted(receipt, askedAt)) as unknown as ReceiptsOf<Tasks>
  }

  submitGraph<const Nodes extends GraphNodes>(
    graph: Graph<Nodes>,
    options?: SubmitOptions,
  ): Promise<Receipt<GraphOutput<Nodes>>>
  async submitGraph(graph: unknown, options?: SubmitOptions): Promise<Receipt> {
    this.lifetime.assertTaking()
    const item = await graphSubmission(this.#deps.types, graph, options)
    const askedAt = this.#deps.environment.clock.now()
    return unlessRejected(this.#noted(openReceipt(await this.submissions.submit(item)), askedAt), options)
  }

  /** A task that a key has found may have ended before, or go on: {@link result} tells the one from the other. */
  #noted(receipt: Receipt, askedAt: number): Receipt {
    if (receipt.accepted && receipt.deduplicated) this.#found.set(receipt, askedAt)
    return receipt
  }

  async status(task: Receipt | string): Promise<TaskStatus | undefined> {
    const record = await this.read('task', { taskId: taskIdOf('status', task) })
    return record === undefined ? undefined : toStatus(record, this.#deps.values)
  }

  result<Output>(task: Receipt<Output> | TaskId<Output>, options?: WaitOptions): Promise<Output>
  result(taskId: string, options?: WaitOptions): Promise<unknown>
  async result(task: Receipt | string, options: WaitOptions = {}): Promise<unknown> {
    this.lifetime.assertOpen()
    const taskId = taskIdOf('result', task)
    assertOptions('result', options, waitRules)
    assertOutsideHandlers(this.#store, taskId, 'result')
    if (typeof task !== 'string' && !task.accepted)
      throw new TaskRejected(taskId, task.reason, task.message, task.forGood)
    const { log, values } = this.#deps
    const deps = { store: this.#store, feed: this.feed, deadlines: this.deadlines, log, values }
    return awaitResult(deps, taskId, options, typeof task === 'string' ? undefined : this.#found.get(task))
  }

  async cancel(task: Receipt | string, options: CancelOptions = {}): Promise<boolean> {
    this.lifetime.assertOpen()
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

  async cancelMany(filter: CancelFilter, options: CancelManyOptions = {}): Promise<CanceledMany> {
    this.lifetime.assertOpen()
    return cancelMany(this.#store, filter, options)
  }

  async prune(options?: PruneOptions): Promise<Pruned> {
    this.lifetime.assertOpen()
    const { config, environment } = this.#deps
    const { retention } = this.#inForce ?? config
    return pruneStore({ store: this.#store, retention, clock: environment.clock }, options)
  }

  async signal(task: Receipt | string, name: string, value?: unknown): Promise<SignalReceipt> {
    this.lifetime.assertOpen()
    const { config, values, types, log } = this.#deps
    const deps = { store: this.#store, config, values, types, log, said: this.#said }
    return sendSignal(deps, taskIdOf('signal', task), name, value)
  }

  retry<Output, X extends Exchange>(
    task: Receipt<Output, X> | TaskId<Output, X>,
    options?: RetryOptions,
  ): Promise<Receipt<Output, X>>
  retry(taskId: string, options?: RetryOptions): Promise<Receipt>
  async retry(task: Receipt | string, options?: RetryOptions): Promise<Receipt> {
    this.lifetime.assertTaking()
    const askedAt = this.#deps.environment.clock.now()
    return this.#noted(openReceipt(await retryTask(this.#deps, taskIdOf('retry', task), options)), askedAt)
  }

  async retryMany(
    tasks: RetryFilter | readonly (Receipt | string)[],
    options: RetryManyOptions = {},
  ): Promise<RetriedMany> {
    this.lifetime.assertTaking()
    return retryMany(this.#store, tasks, options)
  }

  fork<Output, X extends Exchange>(
    task: Receipt<Output, X> | TaskId<Output, X>,
    options?: ForkOptions,
  ): Promise<Receipt<Output, X>>
  fork(taskId: string, options?: ForkOptions): Promise<Receipt>
  async fork(task: Receipt | string, options?: ForkOptions): Promise<Receipt> {
    this.lifetime.assertTaking()
    return openReceipt(await forkTask(this.#deps, taskIdOf('fork', task), options))
  }

  async resume(task: Receipt | string): Promise<void> {
    this.lifetime.assertOpen()
    return resumeTask(this.#store, taskIdOf('resume', task))
  }

  async list(
    filter: ListFilter = {},
  ): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }> {
    this.lifetime.assertOpen()
    return listTasks((given) => this.read('tasks', { filter: given }), filterOf(filter), this.#deps.values)
  }

  async count(filter: Omit<ListFilter, 'values' | 'limit' | 'cursor'> = {}): Promise<number> {
    this.lifetime.assertOpen()
    const { count } = await countTasks((given) => this.read('taskCount', { filter: given }), filterOf(filter))
    return count
  }

  async history(
    task: Receipt | string,
    page: StoredPage = {},
  ): Promise<{ readonly events: readonly RuntimeEvent[]; readonly cursor?: number }> {
    this.lifetime.assertOpen()
    return pageOfHistory(this.#deps, taskIdOf('history', task), page)
  }

  async emitted(
    task: Receipt | string,
    page: OutputPage = {},
  ): Promise<{ readonly items: readonly OutputItem<never>[]; readonly cursor?: number }> {
    this.lifetime.assertOpen()
    return pageOfOutput(this.#deps, taskIdOf('emitted', task), page)
  }

  async steps(
    task: Receipt | string,
    page: StoredPage = {},
  ): Promise<{ readonly steps: readonly StoredStep[]; readonly cursor?: number }> {
    this.lifetime.assertOpen()
    return pageOfSteps(this.#deps, taskIdOf('steps', task), page)
  }

  async checkpoint(task: Receipt | string): Promise<StoredCheckpoint | undefined> {
    this.lifetime.assertOpen()
    return storedCheckpoint(this.#deps, taskIdOf('checkpoint', task))
  }

  events(task: Receipt | string, options: FollowOptions = {}): AsyncIterable<RuntimeEvent> {
    this.lifetime.assertOpen()
    const taskId = taskIdOf('events', task)
    assertOptions('events', options, followRules)
    return followEvents({ store: this.#store, feed: this.feed, values: this.#deps.values }, taskId, options)
  }

  output(task: Receipt | string, options: OutputOptions = {}): AsyncIterable<OutputItem<never>> {
    this.lifetime.assertOpen()
    const taskId = taskIdOf('output', task)
    assertOptions('output', options, outputRules)
    const { values, types } = this.#deps
    return followOutput({ store: this.#store, feed: this.feed, values, types }, taskId, options)
  }

  pipeline(task: Receipt | string): Pipeline {
    this.lifetime.assertOpen()
    const taskId = taskIdOf('pipeline', task)
    const deps = { store: this.#store, feed: this.feed, values: this.#deps.values }
    return pipelineOf(deps, taskId, () => this.lifetime.assertOpen())
  }

  async pipelines(page: PipelinePage = {}): Promise<Reads['pipelines']['answer']> {
    this.lifetime.assertOpen()
    return pageOfPipelines(this.#store, page)
  }

  async stats(): Promise<StoreStats> {
    return this.read('stats', {})
  }

  async explain(task: Receipt | string): Promise<Reads['explain']['answer']> {
    return this.read('explain', { taskId: taskIdOf('explain', task) })
  }

  async explainQueue(): Promise<Reads['waits']['answer']> {
    return this.read('waits', {})
  }

  async series(filter: SeriesFilter = {}): Promise<Reads['series']['answer']> {
    if (!isRecord(filter))
      throw invalid(`series: an object with windowMs, stepMs, type, lane; given ${show(filter)}`)
    if (filter.type !== undefined && typeof filter.type !== 'string')
      throw new RuntimeError('invalid_argument', 'series type: the name of a task type')
    return this.read('series', { filter })
  }

  keepSeries(): Disposable {
    this.lifetime.assertOpen()
    const { environment, log } = this.#deps
    const { clock, timers } = environment
    const keeper = new SeriesKeeper({ store: this.#store, clock, timers, log })
    this.#keepers.add(keeper)
    return keeper
  }

  keepRetention(): Disposable {
    this.lifetime.assertOpen()
    const { config, environment, log } = this.#deps
    const { clock, timers } = environment
    const keeper = new RetentionKeeper({ store: this.#store, config, clock, timers, log })
    const listening = this.#store.listen({ configured: (inForce) => keeper.configured(inForce) })
    keeper.start()
    const ending = {
      [Symbol.dispose]: () => {
        listening[Symbol.dispose]()
        keeper.close()
      },
    }
    this.#keepers.add(ending)
    return ending
  }

  async workers(): Promise<Reads['workers']['answer']> {
    this.lifetime.assertOpen()
    return listWorkers(this.#store)
  }

  async drainWorker(workerId: string): Promise<number> {
    return this.#askDrain('drainWorker', workerId, true)
  }

  async undrainWorker(workerId: string): Promise<number> {
    return this.#askDrain('undrainWorker', workerId, false)
  }

  async #askDrain(call: string, workerId: string, draining: boolean): Promise<number> {
    this.lifetime.assertOpen()
    assertWorkerId(call, workerId)
    return this.#store.write({ kind: 'askDrain', workerId, draining })
  }

  async pauseQueue(what: QueueSelection): Promise<number> {
    return this.#pauseQueue('pauseQueue', what, true)
  }

  async resumeQueue(what: QueueSelection): Promise<number> {
    return this.#pauseQueue('resumeQueue', what, false)
  }

  async #pauseQueue(call: string, what: QueueSelection, paused: boolean): Promise<number> {
    this.lifetime.assertOpen()
    return this.#store.write({ kind: 'pauseQueue', ...queueSelectionOf(call, what), paused })
  }

  async leases(
    task: Receipt | string,
    options: { readonly limit?: number | undefined } = {},
  ): Promise<Reads['leases']['answer']> {
    const taskId = taskIdOf('leases', task)
    assertOptions('leases', options, leasesRules)
    const { limit } = options
    return this.read('leases', { taskId, ...(limit === undefined ? {} : { limit }) })
  }

  async routes(): Promise<Reads['routes']['answer']> {
    return this.read('routes', {})
  }

  async swarms(): Promise<Reads['swarms']['answer']> {
    return this.read('swarms', {})
  }

  on(pattern: string, listener: (event: never) => void): Disposable {
    this.lifetime.assertOpen()
    assertSubscription(pattern, listener)
    return this.feed.on(pattern, listener as (event: RuntimeEvent) => void)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Rejects everybody who waits, with the reason. */
  protected shut(why: Error): void {
    for (const keeper of this.#keepers) keeper[Symbol.dispose]()
    this.feed.close(why)
    this.deadlines.close()
    this.#listening[Symbol.dispose]()
  }

  /** Further work to do when the store has failed. */
  protected onFailed(_error: Error): void {}

  /** Source: `docs/reliability.md` T7, T8. */
  #fail(error: Error): void {
    const { lifetime, log, whenFailed } = this.#deps
    if (!lifetime.fail(error)) return
    log('error', `the store has failed, the ${lifetime.whose} stops`, { error: describeError(error) })
    this.feed.close(error)
    this.onFailed(error)
    whenFailed(error)
  }

  async #close(): Promise<void> {
    this.lifetime.end()
    this.shut(this.lifetime.close())
    await this.#deps.release()
  }

  protected async read<K extends ReadKind>(kind: K, fields: Reads[K]['fields']): Promise<Reads[K]['answer']> {
    this.lifetime.assertOpen()
    return this.#store.read<K>({ kind, ...fields } as never)
  }
}
