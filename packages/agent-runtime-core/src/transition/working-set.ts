import { exceeds } from '../codec/text-size.ts'
import { outlivesRejection } from '../approval/approval.ts'
import type { ExecutionConfig } from '../config/schema.ts'
import type { EventType } from '../event/event.ts'
import { chainText } from '../history/hash.ts'
import type { IdCodec } from '../store/ids.ts'
import { missedText } from '../submit/promise.ts'
import { assertMove, canMoveLease, isFinal } from '../task/states.ts'
import type { LeaseNotice } from '../lease/lease.ts'
import { newClient } from '../share/new-client.ts'
import type { ShareOrder, Shares } from '../share/shares.ts'
import type { AccessTokenRow } from '../access/row.ts'
import type { BudgetRow } from '../budget/row.ts'
import type { CheckpointRow, OutputRow } from '../step/row.ts'
import type { ChildRow } from '../child/row.ts'
import type { CircuitRow } from '../route/row.ts'
import type { ClientRow } from '../share/row.ts'
import type { EvaluationRow, ReputationRow } from '../evaluation/row.ts'
import type { EntryRow, FoldablePart, FoldedRow } from '../ledger/row.ts'
import type { EventRow } from '../event/row.ts'
import type { History } from '../history/row.ts'
import type { KeyRow } from '../submit/row.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { QuotaRow } from '../quota/row.ts'
import type { PipelineRow } from '../pipeline/row.ts'
import type { PrunableRow } from '../retention/row.ts'
import type { ScheduleRow } from '../schedule/row.ts'
import type { SignalRow, WaitRow } from '../wait/row.ts'
import type { StreamRow } from '../queue/row.ts'
import type { SwarmRow } from '../swarm/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { Sample } from '../series/sample.ts'
import type { TotalsRow } from '../store/totals.ts'
import type { UsageRow } from '../profile/row.ts'
import type { VerdictsRow } from '../approval/row.ts'
import type { WorkerRow } from '../worker/row.ts'
import { Rows } from './rows.ts'

/** The instant of a flush: `at` dates events and due times, `leaseAt` judges leases. Source: `docs/semantics.md 4.7`. */
export interface Instant {
  readonly at: number
  readonly leaseAt: number
}

/** The queued tasks of one stream that are known, in order: all up to `upTo`, or all there are when `complete`. */
export interface Heads {
  readonly rows: readonly TaskRow[]
  readonly upTo: number
  readonly complete: boolean
}

/** Committed rows, as far as they were loaded. A row that a transition asks for must have been looked up before. */
export interface Base {
  readonly process: number
  /** The row under which the workers of lines are registered; undefined where there are no lines. */
  readonly remote: number | undefined
  readonly tasks: ReadonlyMap<number, TaskRow>
  readonly leases: ReadonlyMap<number, LeaseRow>
  readonly streams: ReadonlyMap<number, StreamRow>
  readonly streamsByKey: ReadonlyMap<string, StreamRow>
  /** Where there are shares: every client that is known, its streams, and their order. */
  readonly clients: ReadonlyMap<string, ClientRow>
  readonly streamsByClient: ReadonlyMap<string, readonly number[]>
  readonly shares: ShareOrder
  readonly workers: ReadonlyMap<number, WorkerRow>
  /** By name that an operation asks about: the registered workers of every process. */
  readonly workersNamed: ReadonlyMap<string, readonly WorkerRow[]>
  readonly quotas: ReadonlyMap<string, QuotaRow>
  readonly keys: ReadonlyMap<string, KeyRow>
  readonly explicitIds: ReadonlyMap<string, number>
  readonly heads: ReadonlyMap<number, Heads>
  /** By task: step key -> seq of its memo, 0 if it is void. Absent: the task has none. */
  readonly memos: ReadonlyMap<number, ReadonlyMap<string, number>>
  /** By task: output chunks so far. */
  readonly outputs: ReadonlyMap<number, number>
  /** By task: its open waits and unread signals, in order. Absent: the task has none. */
  readonly waits: ReadonlyMap<number, readonly WaitRow[]>
  readonly signals: ReadonlyMap<number, readonly SignalRow[]>
  /** By task that has approvals: where it stands. */
  readonly verdicts: ReadonlyMap<number, VerdictsRow>
  /** By parent: its open children, by task. Absent: it has none. */
  readonly children: ReadonlyMap<number, ReadonlyMap<number, ChildRow>>
  /** The children that an operation asks about, by {@link childKey}. */
  readonly childKeys: ReadonlyMap<string, ChildRow>
  /** By task: what a fork of it begins with. */
  readonly histories: ReadonlyMap<number, History>
  /** By quota key that is blocked for the first time: the tasks that name it and are not over. */
  readonly naming: ReadonlyMap<string, readonly number[]>
  /** The text behind a blob that an operation asks about, by sha256. */
  readonly blobs: ReadonlyMap<string, string>
  /** Data of single events that an operation asks about, by `task:seq`. */
  readonly events: ReadonlyMap<string, string>
  /** Tasks that ended, and may be deleted. */
  readonly prunable: ReadonlyMap<number, PrunableRow>
  /** By the name of the place that it begins at: a part of the ledgers. */
  readonly foldable: ReadonlyMap<string, FoldablePart>
  /** The schedules that an operation names, and how many there are if one may be added. */
  readonly schedules: ReadonlyMap<string, ScheduleRow>
  /** The access tokens that an operation names, and how many there are if one may be added. */
  readonly accessTokens: ReadonlyMap<string, AccessTokenRow>
  readonly accessTokenCount: number
  /** By task: its own budget, of the tasks that an operation touches and those above them. */
  readonly budgets: ReadonlyMap<number, BudgetRow>
  /** By task with a budget: the tasks that are parked for it or for one below. */
  readonly parked: ReadonlyMap<number, readonly number[]>
  readonly scheduleCount: number
  /** Where an agent stands; read when it is first asked for, so that it costs nothing where reputation has no say. */
  readonly reputationOf: (agent: string) => ReputationRow | undefined
  /**
   * The evaluations whose keys an operation names, by {@link evaluationKey}, and how many agents there are if
   * one may be new.
   */
  readonly evaluations: ReadonlyMap<string, EvaluationRow>
  readonly agentCount: number
  /** The purchases whose keys an operation names, by {@link entryKey}. */
  readonly entries: ReadonlyMap<string, EntryRow>
  /** All there are, each of the three. */
  readonly circuits: ReadonlyMap<string, CircuitRow>
  readonly usages: ReadonlyMap<number, UsageRow>
  readonly swarms: ReadonlyMap<string, SwarmRow>
  /** By their tasks: the pipelines that an operation touches. */
  readonly pipelines: ReadonlyMap<number, PipelineRow>
  readonly totals: TotalsRow
  /** Promoted queued tasks in all lanes, and those not due yet. */
  readonly depth: number
  readonly delayed: number
  readonly next: {
    readonly task: number
    readonly lease: number
    readonly stream: number
    readonly worker: number
    readonly client: number
  }
}

/** Inputs from outside: pure functions and settings. */
export interface Surroundings {
  readonly config: ExecutionConfig
  readonly ids: IdCodec
  /** sha256 of the previous digest followed by the text's UTF-8 bytes. */
  readonly chain: (previous: Uint8Array, text: string) => Uint8Array
  /** sha256 of the text's UTF-8 bytes, in hex. */
  readonly sha256Hex: (text: string) => string
  /** Every fencing token is above it: those up to it may have been given in an earlier incarnation. 0 in the first one. */
  readonly fenceFloor: number
}

const noNames: readonly EventType[] = []
const none: readonly never[] = []
const noChildren: ReadonlyMap<number, ChildRow> = new Map()

/**
 * One flush's view: committed rows below, changes on top. Transitions read and put rows here; when the flush commits, the
 * changes become the committed rows, and when it does not, they are dropped. Nothing here does I/O.
 */
export class WorkingSet {
  readonly base: Base
  readonly now: Instant
  readonly config: ExecutionConfig
  readonly ids: IdCodec
  readonly around: Surroundings

  readonly tasks: Rows<number, TaskRow>
  readonly leases: Rows<number, LeaseRow>
  readonly streams: Rows<number, StreamRow>
  readonly streamsByKey: Rows<string, StreamRow>
  readonly clients: Rows<string, ClientRow, undefined>
  /** How many more clients there are than before. */
  private newClients = 0
  private readonly newStreams = new Map<string, number[]>()
  /** Undefined where there are no shares. */
  readonly shares: Shares | undefined
  readonly workers: Rows<number, WorkerRow>
  readonly quotas: Rows<string, QuotaRow>
  readonly keys: Rows<string, KeyRow>
  readonly explicitIds: Rows<string, number>
  readonly memos = new Map<number, Map<string, number>>()
  readonly outputCounts: Rows<number, number>
  readonly waits: Rows<number, readonly WaitRow[]>
  readonly signals: Rows<number, readonly SignalRow[]>
  readonly verdicts: Rows<number, VerdictsRow>
  readonly children = new Map<number, Map<number, ChildRow>>()
  /** The rows of children that changed, by {@link childKey}. */
  readonly childRows: Rows<string, ChildRow>
  readonly checkpoints = new Map<number, CheckpointRow>()
  readonly budgets: Rows<number, BudgetRow>
  readonly schedules: Rows<string, ScheduleRow, undefined>
  readonly accessTokens: Rows<string, AccessTokenRow>
  readonly reputations = new Map<string, ReputationRow>()
  /** The new evaluations, in order. */
  readonly evaluations: EvaluationRow[] = []
  readonly evaluationKeys: Rows<string, EvaluationRow>
  /** The new entries of ledgers, in order, and the clients whose earlier entries go. */
  ledger: EntryRow[] = []
  readonly closedLedgers = new Set<string>()
  /** By client: the opening entry that takes the place of all entries up to it. */
  readonly folds = new Map<string, { readonly opening: EntryRow; readonly folded: FoldedRow }>()
  readonly circuits: Rows<string, CircuitRow, undefined>
  readonly usages: Rows<number, UsageRow, undefined>
  readonly swarms: Rows<string, SwarmRow, undefined>
  readonly pipelines: Rows<number, PipelineRow>
  readonly events: EventRow[] = []
  readonly outputs: OutputRow[] = []
  /** Samples of the past to keep. */
  readonly samples: Sample[] = []
  readonly blobs: Rows<string, string>
  /** Tasks that are deleted, in order. */
  readonly pruned: PrunableRow[] = []
  readonly notices: LeaseNotice[] = []
  /** Tasks that became claimable in this flush, by stream. */
  readonly queued = new Map<number, TaskRow[]>()
  /** How many of a stream's heads were taken. */
  readonly taken = new Map<number, number>()
  /** The sums so far; a draft of this flush once something was counted. */
  totals: TotalsRow
  /** Promoted queued tasks in all lanes, and those not due yet. */
  depth: number
  delayed: number
  scheduleCount: number
  accessTokenCount: number
  agentCount: number
  nextTask: number
  nextLease: number
  nextStream: number
  nextWorker: number
  nextClient: number
  staleWrites = 0
  /** Supervisors to look at before the flush goes on, each with the error that it fails of, if it does. */
  private readonly supervisors = new Map<number, string | undefined>()
  /** Pipelines that changed since the last look at the stages that wait. */
  private readonly stirred = new Set<number>()

  /** `sharesOf`: the order of the clients over these rows, where there are shares. `openWorkingSet` has it. */
  constructor(
    base: Base,
    now: Instant,
    around: Surroundings,
    sharesOf: (ws: WorkingSet) => Shares | undefined,
  ) {
    this.base = base
    this.now = now
    this.config = around.config
    this.ids = around.ids
    this.around = around
    this.tasks = new Rows(base.tasks)
    this.leases = new Rows(base.leases)
    this.streams = new Rows(base.streams)
    this.streamsByKey = new Rows(base.streamsByKey)
    this.clients = new Rows(base.clients)
    this.workers = new Rows(base.workers)
    this.quotas = new Rows(base.quotas)
    this.keys = new Rows(base.keys)
    this.explicitIds = new Rows(base.explicitIds)
    this.waits = new Rows(base.waits)
    this.signals = new Rows(base.signals)
    this.verdicts = new Rows(base.verdicts)
    this.budgets = new Rows(base.budgets)
    this.schedules = new Rows(base.schedules)
    this.accessTokens = new Rows(base.accessTokens)
    this.circuits = new Rows(base.circuits)
    this.usages = new Rows(base.usages)
    this.swarms = new Rows(base.swarms)
    this.pipelines = new Rows(base.pipelines)
    this.blobs = new Rows(base.blobs)
    this.outputCounts = new Rows(base.outputs)
    this.childRows = new Rows(base.childKeys)
    this.evaluationKeys = new Rows(base.evaluations)
    this.totals = base.totals
    this.depth = base.depth
    this.delayed = base.delayed
    this.scheduleCount = base.scheduleCount
    this.accessTokenCount = base.accessTokenCount
    this.agentCount = base.agentCount
    this.nextTask = base.next.task
    this.nextLease = base.next.lease
    this.nextStream = base.next.stream
    this.nextWorker = base.next.worker
    this.nextClient = base.next.client
    this.shares = sharesOf(this)
  }

  task(id: number): TaskRow | undefined {
    return this.tasks.get(id)
  }
  lease(id: number): LeaseRow | undefined {
    return this.leases.get(id)
  }
  stream(id: number): StreamRow {
    const row = this.streams.get(id)
    if (row === undefined) throw new Error(`stream ${id} was not loaded`)
    return row
  }
  worker(id: number): WorkerRow | undefined {
    return this.workers.get(id)
  }
  quota(key: string): QuotaRow {
    return (
      this.quotaRow(key) ?? {
        key,
        queued: 0,
        running: 0,
        windowStart: 0,
        windowCount: 0,
        windowTokens: 0,
        blockedUntil: 0,
      }
    )
  }
  /** Undefined when nothing was ever counted for the key. */
  quotaRow(key: string): QuotaRow | undefined {
    return this.quotas.get(key)
  }

  /** The client of a name, made when new. */
  client(name: string): ClientRow {
    const known = this.clients.get(name)
    if (known !== undefined) return known
    const row = newClient(this.nextClient++, name, this.config.shares?.startCredits)
    this.newClients += 1
    this.clients.put(name, row)
    return row
  }
  get clientCount(): number {
    return this.base.clients.size + this.newClients
  }
  /** The client is forgotten. */
  dropClient(name: string): void {
    this.clients.drop(name)
    this.newClients -= 1
    this.ledger = this.ledger.filter(({ client }) => client !== name)
    this.closedLedgers.add(name)
  }
  /** The facts about a client have changed. */
  putClient(after: ClientRow, before: ClientRow): void {
    if (this.shares === undefined) this.clients.put(after.name, after)
    else this.shares.putClient(after, before)
  }

  addEntry(row: EntryRow): void {
    this.ledger.push(row)
  }
  /** An opening entry takes the place of all entries of its client up to its number. */
  foldLedger(opening: EntryRow, folded: FoldedRow): void {
    this.folds.set(opening.client, { opening, folded })
  }
  /** The entry that was added last. */
  get lastEntry(): EntryRow {
    const row = this.ledger.at(-1)
    if (row === undefined) throw new Error('no entry was added')
    return row
  }
  /** The purchase of a client's key. */
  entry(client: string, key: string): EntryRow | undefined {
    const own = this.ledger.find((row) => row.client === client && row.key === key)
    if (own !== undefined || this.closedLedgers.has(client)) return own
    return this.base.entries.get(entryKey(client, key))
  }

  /** The streams of a client, open or not. */
  *streamsOf(client: string): Iterable<number> {
    yield* this.base.streamsByClient.get(client) ?? none
    yield* this.newStreams.get(client) ?? none
  }

  budget(task: number): BudgetRow {
    const row = this.budgets.get(task)
    if (row === undefined) throw new Error(`the budget of task ${task} was not loaded`)
    return row
  }

  schedule(name: string): ScheduleRow | undefined {
    return this.schedules.get(name)
  }
  putSchedule(row: ScheduleRow): void {
    if (this.schedule(row.name) === undefined) this.scheduleCount += 1
    this.schedules.put(row.name, row)
  }
  dropSchedule(name: string): void {
    this.scheduleCount -= 1
    this.schedules.drop(name)
  }

  putAccessToken(row: AccessTokenRow): void {
    if (this.accessTokens.get(row.name) === undefined) this.accessTokenCount += 1
    this.accessTokens.put(row.name, row)
  }

  /**
   * An agent's reputation, 0 to 1, with the evaluations of this flush; undefined when it was never evaluated. Source:
   * `docs/semantics.md 11.6, 15.3`.
   */
  reputation(agent: string): number | undefined {
    return this.reputationRow(agent)?.reputation
  }
  reputationRow(agent: string): ReputationRow | undefined {
    return this.reputations.get(agent) ?? this.base.reputationOf(agent)
  }
  /** The evaluation of an agent's key. */
  evaluation(agent: string, key: string): EvaluationRow | undefined {
    const name = evaluationKey(agent, key)
    return this.evaluationKeys.get(name)
  }
  addEvaluation(row: EvaluationRow, standing: ReputationRow): void {
    if (row.seq === 1) this.agentCount += 1
    this.evaluations.push(row)
    if (row.key !== null) this.evaluationKeys.put(evaluationKey(row.agent, row.key), row)
    this.reputations.set(row.agent, standing)
  }

  circuit(route: string): CircuitRow | undefined {
    return this.circuits.get(route)
  }
  putCircuit(row: CircuitRow): void {
    this.circuits.put(row.route, row)
  }
  dropCircuit(route: string): void {
    if (this.circuit(route) !== undefined) this.circuits.drop(route)
  }

  usage(task: number): UsageRow | undefined {
    return this.usages.get(task)
  }
  putUsage(row: UsageRow): void {
    this.usages.put(row.task, row)
  }
  dropUsage(task: number): void {
    this.usages.drop(task)
  }
  /** The agents of a swarm, in the order in which they were spawned. */
  agentsOf(swarm: string): readonly UsageRow[] {
    return [...this.usages.all()].filter((row) => row.swarm === swarm).toSorted((a, b) => a.order - b.order)
  }

  swarm(name: string): SwarmRow | undefined {
    return this.swarms.get(name)
  }
  putSwarm(row: SwarmRow): void {
    this.swarms.put(row.name, row)
  }
  dropSwarm(name: string): void {
    this.swarms.drop(name)
  }

  /**
   * Moves a task: writes the event with the next `seq`, extends its chain and puts the row with the changes. A move that the
   * table of states does not have is refused here, whatever asked for it. An end that is later than was promised has an event before it.
   */
  move(
    task: TaskRow,
    changes: Partial<TaskRow>,
    type: EventType,
    data: string,
    also = noNames,
    blob: string | null = null,
  ): TaskRow {
    const { state } = changes
    if (state !== undefined && state !== task.state) assertMove(task.state, state)
    const missed = state !== undefined && isFinal(state) ? missedText(task, this.now.at) : undefined
    const before = missed === undefined ? task : this.append(task, {}, 'agreement.missed', missed)
    return this.append(before, changes, type, data, also, blob)
  }

  private append(
    task: TaskRow,
    changes: Partial<TaskRow>,
    type: EventType,
    data: string,
    also = noNames,
    blob: string | null = null,
  ): TaskRow {
    const seq = task.seq + 1
    const { at } = this.now
    const hash = this.around.chain(task.tail, chainText(task.id, seq, type, at, data))
    const row: TaskRow = { ...task, ...changes, seq, tail: hash }
    this.tasks.put(row.id, row)
    this.events.push({ task: row.id, seq, type, at, data, blob, hash, also })
    return row
  }

  /** The number behind a task's id, the store's own or the submitter's; there may be no such task. */
  taskNumber(taskId: string): number | undefined {
    return this.explicitIds.get(taskId) ?? this.ids.taskNumber(taskId)
  }

  /** The task of an id; undefined where there is none, or it was not loaded. No row has the number 0. */
  taskNamed(taskId: string): TaskRow | undefined {
    return this.task(this.taskNumber(taskId) ?? 0)
  }
  leaseNamed(leaseId: string): LeaseRow | undefined {
    return this.lease(this.ids.leaseNumber(leaseId) ?? 0)
  }

  /** The id of a task: its submitter's, or the store's own. */
  taskId(task: number): string {
    return this.task(task)?.explicitId ?? this.ids.task(task)
  }

  /** The lease under which a task runs. */
  leaseOf({ lease }: Pick<TaskRow, 'lease'>): LeaseRow | undefined {
    return lease === null ? undefined : this.lease(lease)
  }
  /** The swarm of an agent. */
  swarmOf({ swarm }: Pick<UsageRow, 'swarm'>): SwarmRow | undefined {
    return swarm === null ? undefined : this.swarm(swarm)
  }

  /** The task's step of this key has its memo in the event `seq`. */
  remember(task: number, key: string, seq: number): void {
    const memos = this.memos.get(task)
    if (memos === undefined) this.memos.set(task, new Map([[key, seq]]))
    else memos.set(key, seq)
  }

  /** A task's row as this flush has left it so far. */
  taskNow({ id }: { readonly id: number }): TaskRow {
    const row = this.task(id)
    if (row === undefined) throw new Error(`task ${id} was not loaded`)
    return row
  }

  waitsOf({ id }: { readonly id: number }): readonly WaitRow[] {
    return this.waits.get(id) ?? none
  }
  signalsOf({ id }: { readonly id: number }): readonly SignalRow[] {
    return this.signals.get(id) ?? none
  }
  /** The open waits of a task from now on. */
  putWaits(task: { readonly id: number }, waits: readonly WaitRow[]): void {
    this.waits.put(task.id, waits)
    this.recount(task)
  }
  keepSignal(task: { readonly id: number }, signal: SignalRow): void {
    this.signals.put(task.id, [...this.signalsOf(task), signal])
    this.recount(task)
  }
  takeSignal(task: { readonly id: number }, { seq }: SignalRow): void {
    this.signals.put(
      task.id,
      this.signalsOf(task).filter((signal) => signal.seq !== seq),
    )
    this.recount(task)
  }

  /** A child of a supervisor has ended; `lost`: the supervisor fails of it, with this error. */
  superviseLater(task: number, lost?: string): void {
    this.supervisors.set(task, this.supervisors.get(task) ?? lost)
  }
  /** The next one to look at, which is looked at now. */
  nextSupervisor(): readonly [task: number, lost: string | undefined] | undefined {
    const [next] = this.supervisors
    if (next !== undefined) this.supervisors.delete(next[0])
    return next
  }
  /** Whether it is about to fail. */
  isGivenUp(task: number): boolean {
    return this.supervisors.get(task) !== undefined
  }

  /** A pipeline changes: its stages that wait are looked at before the flush goes on. */
  putPipeline(row: PipelineRow): void {
    this.pipelines.put(row.task, row)
    this.stirred.add(row.task)
  }
  /** The next one that changed, which is looked at now. */
  nextPipeline(): PipelineRow | undefined {
    const [next] = this.stirred
    if (next === undefined) return undefined
    this.stirred.delete(next)
    return this.pipelines.get(next)
  }

  verdictsOf({ id }: { readonly id: number }): VerdictsRow {
    return this.verdicts.get(id) ?? { approvedSeq: 0, rejections: 0 }
  }

  /** Whether a task has a memo of a key. */
  hasMemo(task: number, key: string): boolean {
    return (this.memos.get(task)?.get(key) ?? this.base.memos.get(task)?.get(key) ?? 0) > 0
  }

  /** The memos that a task made after the event `since` count no more, marks of patches aside. */
  forget(task: number, since: number): void {
    for (const memos of [this.base.memos.get(task), this.memos.get(task)])
      for (const [key, seq] of memos ?? none)
        if (seq > since && !outlivesRejection({ key, kind: 'step', seq })) this.remember(task, key, 0)
  }

  /** The open children of a task, by their numbers, in the order in which they were spawned. */
  childrenOf({ id }: { readonly id: number }): ReadonlyMap<number, ChildRow> {
    return this.children.get(id) ?? this.base.children.get(id) ?? noChildren
  }
  /** The children of a task that were not dropped, as far as they were loaded. */
  allChildren({ id }: { readonly id: number }): readonly ChildRow[] {
    return [...this.childRows.all()].filter(({ parent, state }) => parent === id && state !== 'dropped')
  }
  /** The child of a task's key. */
  child(parent: number, key: string): ChildRow | undefined {
    const name = childKey(parent, key)
    const row = this.childRows.get(name)
    return row?.state === 'dropped' ? undefined : row
  }
  putChild(row: ChildRow): void {
    let open = this.children.get(row.parent)
    if (open === undefined) {
      open = new Map(this.base.children.get(row.parent))
      this.children.set(row.parent, open)
    }
    if (row.state === 'open') open.set(row.task, row)
    else open.delete(row.task)
    this.childRows.put(childKey(row.parent, row.key), row)
    this.recount({ id: row.parent })
  }

  private recount(task: { readonly id: number }): void {
    const row = this.taskNow(task)
    const waits = this.waitsOf(row).length + this.signalsOf(row).length + this.childrenOf(row).size
    this.tasks.put(row.id, { ...row, waits })
  }

  /** The whole value of a signal, or of a child's end, whose output or error may be the blob. */
  textOf(signal: SignalRow): string {
    const { blob } = signal
    const value = storedText(signal)
    if (blob === null) return value
    const text = this.blobs.get(blob)
    if (text === undefined) throw new Error(`blob ${blob} was not loaded`)
    return value.replace(blobReference(blob, text.length), () => text)
  }

  /** Whether a lease still holds its task. */
  isHeld({ id }: { readonly id: number }): boolean {
    return this.lease(id)?.state === 'running'
  }
  putLease(row: LeaseRow): void {
    const before = this.lease(row.id)
    if (before !== undefined && before.state !== row.state && !canMoveLease(before.state, row.state))
      throw new Error(`lease ${row.id} cannot move from ${before.state} to ${row.state}`)
    this.leases.put(row.id, row)
  }
  /** A stream that is new. */
  addStream(row: StreamRow): void {
    this.streams.put(row.id, row)
    this.streamsByKey.put(row.key, row)
    if (this.shares === undefined) return
    const others = this.newStreams.get(row.client)
    if (others === undefined) this.newStreams.set(row.client, [row.id])
    else others.push(row.id)
  }
  putQuota(row: QuotaRow): void {
    this.quotas.put(row.key, row)
  }
  /** Adds to the sums. */
  count(name: keyof TotalsRow, by = 1): void {
    if (this.totals === this.base.totals) this.totals = { ...this.base.totals }
    ;(this.totals as Record<keyof TotalsRow, number>)[name] += by
  }

  /** Changes how many tasks a stream has. */
  shift(id: number, of: 'depth' | 'delayed', by: number): void {
    const row = this.draftStream(id)
    ;(row as { depth: number; delayed: number })[of] += by
    this[of] += by
    if (of === 'depth') this.shares?.count(row, by)
  }

  /** The head of a stream is this task, or comes after it. */
  moveHead(id: number, { id: head, account }: Pick<TaskRow, 'id' | 'account'>): void {
    const row = this.draftStream(id) as { head: number; place: number }
    row.head = head
    row.place = account?.place ?? row.place
  }

  /** A stream's row as a draft of this flush. */
  draftStream(id: number): StreamRow {
    let row = this.streams.changed.get(id)
    if (row === undefined) {
      row = { ...this.stream(id) }
      this.streams.put(id, row)
      this.streamsByKey.put(row.key, row)
    }
    return row
  }

  /** Deletes a task that ended, with everything that is kept of it. */
  prune(row: PrunableRow): void {
    this.pruned.push(row)
  }

  /**
   * Whether there is anything to write. The rows of other tables change with these. The places of streams are an exception: they are looked up again
   * when they are lost.
   */
  get hasChanges(): boolean {
    return (
      this.events.length + this.outputs.length + this.evaluations.length + this.pruned.length > 0 ||
      this.samples.length > 0 ||
      this.folds.size > 0 ||
      this.written.some(isChanged)
    )
  }
  private get written(): readonly { readonly changed: ReadonlyMap<unknown, unknown> }[] {
    const { tasks, leases, workers, schedules, clients, circuits, usages, swarms, budgets, quotas } = this
    const { accessTokens } = this
    return [
      tasks,
      leases,
      workers,
      schedules,
      clients,
      circuits,
      usages,
      swarms,
      budgets,
      quotas,
      accessTokens,
    ]
  }

  /** A value for an event: itself, or a reference to a blob if it is larger than `maxInlineBytes`. */
  inline(text: string): { readonly text: string; readonly blob: string | null } {
    if (!exceeds(text, this.config.maxInlineBytes)) return { text, blob: null }
    const sha = this.around.sha256Hex(text)
    this.blobs.put(sha, text)
    return { text: blobReference(sha, text.length), blob: sha }
  }
}

function isChanged({ changed }: { readonly changed: ReadonlyMap<unknown, unknown> }): boolean {
  return changed.size > 0
}

/** The value of a signal as its event stores it. */
export function storedText({ task, seq, value }: SignalRow): string {
  if (value === null) throw new Error(`the value of signal ${task}:${seq} was not loaded`)
  return value
}

/** The name of a child's row. */
export function childKey(parent: number, key: string): string {
  return `${parent}:${key}`
}

/** The name of a purchase that has a key. */
export function entryKey(client: string, key: string): string {
  return JSON.stringify([client, key])
}

/** The name of an evaluation that has a key. */
export function evaluationKey(agent: string, key: string): string {
  return JSON.stringify([agent, key])
}

/**
 * The reference that an event holds instead of a value that was moved to the blob table; `size` is its length in UTF-16
 * units.
 */
export function blobReference(sha256: string, size: number): string {
  return `{"$blob":"${sha256}","size":${size}}`
}
