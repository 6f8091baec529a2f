import type { AccessReads, AccessWrites } from '../access/port.ts'
import type { ApprovalReads, ApprovalWrites } from '../approval/port.ts'
import type { BudgetReads, BudgetWrites } from '../budget/port.ts'
import type { ChildWrites } from '../child/port.ts'
import type { StoreSettings } from '../config/in-force.ts'
import type { EvaluationReads, EvaluationWrites } from '../evaluation/port.ts'
import type { EventType, OutputChunk, StoredEvent } from '../event/event.ts'
import type { HistoryReads, HistoryWrites } from '../history/port.ts'
import type { Claim, LeaseNotice } from '../lease/lease.ts'
import type { LeaseReads, LeaseWrites } from '../lease/port.ts'
import type { ProfileWrites } from '../profile/port.ts'
import type { QueueWrites } from '../queue/port.ts'
import type { RetentionReads, RetentionWrites } from '../retention/port.ts'
import type { RouteReads, RouteWrites } from '../route/port.ts'
import type { ScheduleReads, ScheduleWrites } from '../schedule/port.ts'
import type { LedgerReads, LedgerWrites } from '../ledger/port.ts'
import type { ShareReads, ShareWrites } from '../share/port.ts'
import type { StepReads, StepWrites } from '../step/port.ts'
import type { DataLoss } from './data-loss.ts'
import type { Explanation, WaitHistogram } from './explanation.ts'
import type { SeriesReads, SeriesWrites } from '../series/port.ts'
import type { StoreStats } from './stats.ts'
import type { SubmitWrites } from '../submit/port.ts'
import type { PipelineReads, PipelineWrites } from '../pipeline/port.ts'
import type { SupervisionReads, SupervisionWrites } from '../supervision/port.ts'
import type { SwarmReads, SwarmWrites } from '../swarm/port.ts'
import type { TaskReads, TaskWrites } from '../task/port.ts'
import type { WaitWrites } from '../wait/port.ts'
import type { WorkerReads, WorkerWrites } from '../worker/port.ts'

/**
 * The store port. A write is plain data that names one transition; its promise resolves after the commit that made it
 * durable, with the outcome as plain data. Writes of one process are applied in the order in which they were handed over;
 * those that arrive together share one commit. Each write of a holder names its lease, and the lease is the fence.
 * Values (`input`, `output`, `result`, `error`, `data`) are texts in the codec's form. A value that is handed over may cross to another thread as
 * JSON, and so may what is answered: objects, lists, texts, flags, `null` and finite numbers; a field that is `undefined` is one that is
 * not there.
 */
export interface ExecutionStore {
  readonly info: StoreInfo
  /** Applies one transition. Rejects with a RuntimeError (`store_*`) when the store cannot take it; nothing is half-written. */
  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']>
  /** Answers from committed state. */
  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']>
  /**
   * Standing demand: how many tasks one worker of this process may be given, as a running total (its capacity
   * plus every slot that became free again). The store gives claims, through {@link StoreListener.claimed},
   * while fewer than that were given. A later statement replaces the earlier one; because it is a total, a
   * lost or repeated one does no harm. Source: `docs/ARCHITECTURE.md`.
   */
  demand(workerId: string, credit: number): void
  /** Which published events this process wants; replaces the former interest. */
  interest(interest: Interest): void
  /** Gets the events that the store publishes after each commit. */
  listen(listener: StoreListener): Disposable
  /**
   * Whether this process has just slept, or was otherwise blocked, for so long that its leases may have
   * expired, or their tasks may have been canceled, without its knowledge. A holder then asks by a write
   * under its lease before it acts. A store whose process cannot sleep returns false. Source:
   * `docs/reliability.md` C03.
   */
  mayHaveSlept(): boolean
  /** How often it did so: an answer to what was asked before the last time says nothing of a lease any more. */
  timesSlept(): number
  /** Ends the process's registration after the writes sent so far; later calls reject with `store_closed`. */
  close(): Promise<void>
}

/** Facts about a store. */
export interface StoreInfo {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  /** Where it is, without credentials. */
  readonly location: string
  readonly storeId: string
  readonly processId: string
  /** The meaning of an acknowledgement, as read back from the database. */
  readonly durability: 'full' | 'normal' | 'memory'
  readonly schemaVersion: number
  readonly versions: Readonly<Record<string, string>>
  /** The commits that were missing when it was opened, and whose loss was accepted. */
  readonly acceptedLoss?: DataLoss
}

/** The events that a store publishes, each after the commit that made it true. */
export interface StoreListener {
  /** Tasks given to this process's workers. */
  claimed?(claims: readonly Claim[]): void
  /** Changes of this process's leases that it did not make itself by settling. */
  noticed?(notices: readonly LeaseNotice[]): void
  /** Events this process is interested in, of every process, in the order of their commits. */
  published?(events: readonly StoredEvent[]): void
  emitted?(chunks: readonly OutputChunk[]): void
  /** A schedule is due: said when it is, and at every tick as long as it is. Source: `docs/schedules.md`. */
  schedulesDue?(): void
  /** Workers of this process were drained from outside, or that was taken back. Source: `docs/semantics.md 8.10`. */
  drained?(drains: readonly WorkerDrain[]): void
  /** Other settings of the store are in force than those of this process, or than before. Source: `docs/semantics.md 8.12`. */
  configured?(settings: StoreSettings): void
  /**
   * The database server cannot be reached, or is reached again. A call waits meanwhile, and is refused after a while; the store goes on by itself.
   * Source: `docs/reliability.md` D14.
   */
  reached?(reach: StoreReach): void
  /** The store stopped and does not go on (fail-stop). Calls without an answer were rejected, and later calls are rejected too. */
  failed?(error: Error): void
}

/** Whether the database server can be reached. `reason`: why it cannot. */
export type StoreReach =
  | { readonly isReached: true; readonly reason?: never }
  | { readonly isReached: false; readonly reason: string }

/** A worker is given nothing from now on, or is given tasks again. */
export interface WorkerDrain {
  readonly workerId: string
  readonly draining: boolean
}

/** Which events a process wants: by name (or all), or by task. */
export interface Interest {
  readonly types: 'all' | readonly EventType[]
  readonly tasks: readonly string[]
}

/** The transitions a process can ask for, each with its outcome. Sweeping, promotion, renewal and claims are the store's own. */
export interface Writes
  extends
    SubmitWrites,
    StepWrites,
    ChildWrites,
    TaskWrites,
    WaitWrites,
    HistoryWrites,
    BudgetWrites,
    AccessWrites,
    ApprovalWrites,
    LeaseWrites,
    ScheduleWrites,
    LedgerWrites,
    ShareWrites,
    EvaluationWrites,
    PipelineWrites,
    ProfileWrites,
    QueueWrites,
    RetentionWrites,
    RouteWrites,
    SeriesWrites,
    SupervisionWrites,
    SwarmWrites,
    WorkerWrites {}

export type WriteKind = keyof Writes

export type Write<K extends WriteKind = WriteKind> = {
  [P in K]: { readonly kind: P } & Writes[P]['fields']
}[K]

export type OutcomeOf<K extends WriteKind> = Writes[K]['outcome']

/** The questions a store answers. */
export interface Reads
  extends
    TaskReads,
    HistoryReads,
    StepReads,
    AccessReads,
    ApprovalReads,
    BudgetReads,
    ScheduleReads,
    LedgerReads,
    ShareReads,
    EvaluationReads,
    LeaseReads,
    WorkerReads,
    PipelineReads,
    RetentionReads,
    RouteReads,
    SeriesReads,
    SupervisionReads,
    SwarmReads {
  stats: { fields: Record<never, never>; answer: StoreStats }
  explain: { fields: { readonly taskId: string }; answer: Explanation | undefined }
  /** Why tasks wait; in time by streams for those that are queued. */
  waits: { fields: Record<never, never>; answer: WaitHistogram }
}

export type ReadKind = keyof Reads

export type Read<K extends ReadKind = ReadKind> = { [P in K]: { readonly kind: P } & Reads[P]['fields'] }[K]
