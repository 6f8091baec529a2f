import type {
  ExecutionConfig,
  IdCodec,
  Read,
  ReadKind,
  Reads,
  StoredEvent,
  StoreInfo,
} from '@ku0/agent-runtime-core'
import type {
  CircuitRow,
  ClientRow,
  Duties,
  HeldByTask,
  Instant,
  LeaseRow,
  Loaded,
  QuotaRow,
  StreamRow,
  SwarmRow,
  TaskRow,
  TotalsRow,
  UsageRow,
  Wanted,
  WorkerRow,
  WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import type { Reply } from './steps.ts'

/**
 * The seam between the engine and a database. The engine says what it wants to know and what was decided, as data; a database hands
 * rows over and writes rows down, and decides nothing. Each method may answer at once or later; the engine asks for one thing at a time.
 * Source: `docs/decisions/0017-the-engine-and-its-database.md`.
 */
export interface Database {
  readonly info: StoreInfo
  readonly ids: IdCodec
  /** The row of this process. */
  readonly process: number
  /** The row of all processes on lines; undefined where the store was opened without lines. */
  readonly remote: number | undefined
  /** The row of the settings that this process states; undefined where it states none. */
  readonly configuration: number | undefined
  /** Every fencing token is above it. */
  readonly fenceFloor: number
  /** The journal's number of the last commit that this process has seen. */
  readonly lastCommit: number
  /** While other processes are registered, their writes are looked for this often, in ms. */
  readonly pollMs: number
  /** The same while this process holds no lease. */
  readonly restPollMs: number
  /** A transaction that could not begin is tried again after so many ms. */
  retryMs(wait: LockWait): number
  /** So many tasks of a stream are read at once at the most, as they are while this process is alone: they are kept until they are claimed. */
  readonly readAhead: number
  /** So many calls share a flush at the most. */
  readonly maxCalls: number
  /** After a commit the lock is left alone for so many ms, since others may want it. */
  readonly fairnessMs: number
  /** Processes that are registered beside this one, and those of them that are proven gone, as of the last look. */
  readonly others: number
  readonly gone: readonly number[]
  /** Whether others see that this process lives. One that was taken for dead comes back only then. */
  readonly isSeen: boolean
  /** The time that dates rows, and that by which leases are judged. */
  now(): Instant

  /**
   * On every tick, outside a transaction: what it has to see to for itself; true when another process has written since the last
   * transaction. `mono`: the time on the monotonic clock.
   */
  look(mono: number): Reply<boolean>

  /** The next look takes in what others wrote that did not concern this process when they did. Returns whether there may be something. */
  looksAtMissed(): boolean

  /** When the first of these is due: by the wall clock, a lease by its own. */
  nextAt(what: 'task' | 'lease' | 'schedule' | 'budget'): Reply<number | undefined>

  /**
   * Begins a transaction in which nobody else writes; false while another process holds it, or the database cannot be reached. Others that only work
   * off the queue let one go first that has haste.
   */
  begin(haste: Haste): Reply<boolean>
  /**
   * Begins a transaction that reads as of one moment and waits for nobody; {@link Database.rollback} ends it. False where a look needs the lock that
   * writers need.
   */
  beginReading(): Reply<boolean>
  /** In a transaction: whether another process has written since the last one. Throws where a later version has. */
  hasForeignChanges(): Reply<boolean>
  /** In a transaction: what the engine keeps between flushes; of streams and clients what changed after the commit `since`, all without it. */
  keep(wanted: KeptWanted): Reply<Kept>
  /** In a transaction: the row of the settings in force, without processes that are gone and have not been ended yet. */
  configurationWithout(gone: readonly number[]): Reply<number | undefined>
  /** In a transaction: the text of that row. */
  settings(row: number): Reply<string>
  /** Questions are answered by this configuration from now on. */
  configured(config: ExecutionConfig): void
  /** How often clients were removed. */
  clientsRemoved(): Reply<string>
  duties(wanted: DutiesWanted): Reply<Duties>
  load(wanted: Wanted): Reply<Loaded>
  /** This process shows that it lives, and is registered again if it was taken for dead; processes that are gone, and their workers, are registered no more. */
  show(lives: boolean, gone: readonly number[], at: number): Reply<void>
  /**
   * Shows, outside of a transaction, that this process and these workers of it live, which hold no lease. False where it has to
   * be done by {@link show} and a commit. Absent where such a commit holds nobody up.
   */
  renewIdle?(workers: readonly number[], now: Instant): Reply<boolean>
  /** Writes each changed row once, and a journal row when there are events or somebody will be told of the commit. */
  apply(changes: WorkingSet, isTold: boolean): Reply<void>
  /** In a transaction: what is kept of a line, as it was last written; undefined if nothing is. */
  lineRecord(line: string): Reply<string | undefined>
  /** Keeps it, with what {@link Database.apply} writes. */
  keepLine(line: string, record: string): Reply<void>
  /** Forgets the lines that were last written before a moment. */
  dropLines(before: number): Reply<void>
  /**
   * `isLast`: nothing of this process is likely to follow soon, so that another one may write at once. Answers with the commit where its answer was lost:
   * then {@link outcomes} tells whether it stands.
   */
  commit(isLast: boolean): Reply<Sent | void>
  /**
   * Sends the commit and does not wait for its answer: what follows may be decided as if it stood, and comes to nothing where it does not. Undefined
   * where the database does not do that: then {@link commit} is to be called.
   */
  send(isLast: boolean): Sent | undefined
  /** What has become of commits whose answers were lost. Absent where every commit is answered. */
  readonly outcomes?: Outcomes
  /** Whether a transaction may begin while commits that were sent are not answered. */
  readonly takesMore: boolean
  /** The first of the commits that were sent was answered and stands. */
  stands(): void
  /** One of them did not come about, so none of those after it: the store is again as the last one that stands left it. */
  fell(): Reply<void>
  /** Ends the transaction without a trace, if there is one. */
  rollback(): Reply<void>
  /** After a commit, before anybody is told of it. */
  afterCommit(committed: { readonly wrote: boolean; readonly mono: number }): Reply<void>

  /** Events of the commits after one, up to another, in order. */
  eventsAfter(commit: number, until: number): Reply<readonly StoredEvent[]>
  /** Answers a question from what is committed. `counts`: what only this process knows. */
  read(query: Read, counts: LocalCounts): Reply<Reads[ReadKind]['answer']>

  /** What calls are told that have waited for so long for a transaction. */
  refusal(waitedMs: number): Error
  /** Whether a transaction that failed of it has left no trace, and may be tried again as it is. */
  isPassing(error: unknown): boolean
  /** The error as the store's: what was wrong, and what to do. */
  errorOf(cause: unknown): Error
  /** Whether nothing that the connection says can be trusted after it. */
  isFatal(error: unknown): boolean
  /** Waits, where nothing else can go on. */
  pause(ms: number): Reply<void>
  /** Lets go of the database; `failed`: without a last write to it. */
  close(failed: boolean): Reply<void>
}

/** How much a transaction hurries. */
export interface Haste {
  /** It answers a call from outside of a handler. */
  readonly isAwaited: boolean
  /** It works off a queue. One with little to write holds up nobody for long. */
  readonly hasMuch: boolean
  /** Nobody waits for it. */
  readonly hasTime: boolean
}

/** How a process waits for the lock. */
export interface LockWait {
  /** For how long it has tried. */
  readonly waitedMs: number
  /** Whether the renewal of its leases is late. */
  readonly isUrgent: boolean
  /** Drawn from 0 to 1. */
  readonly draw: number
}

/** A commit that was sent. */
export interface Sent {
  /** Resolves once it stands; rejects when it did not come about. */
  readonly answered: Promise<void>
  /** Resolves then, too, and as soon as the answer is lost. */
  readonly heard: Promise<void>
}

/** The commits that were sent, and whose answers were lost. */
export interface Outcomes {
  /** Whether there are any of which it is not known yet whether they stand. Until then nothing else can be done. */
  readonly isUnknown: boolean
  /** Asks once, and answers them so. False where the database cannot be asked. */
  ask(): Reply<boolean>
  /** What a caller of one of them is told who has waited for so long. */
  refusal(waitedMs: number): Error
}

/** What a store's statistics say of one process. */
export interface LocalCounts {
  readonly staleWrites: number
  readonly commits: number
  readonly repeatedFlushes: number
}

export interface KeptWanted {
  readonly since: number | undefined
  /** Also clients and how many tasks of each stream run. */
  readonly shares: boolean
  /** Also what these tasks hold. */
  readonly dominant?: boolean
  /** The leases that are kept as of that commit, by their ids. */
  readonly held: ReadonlyMap<number, LeaseRow>
}

/** What the engine keeps between flushes, of all processes where it is not said otherwise. */
export interface Kept {
  readonly streams: readonly StreamRow[]
  readonly clients: readonly ClientRow[]
  readonly runningByStream: readonly (readonly [stream: number, running: number])[]
  /** Where dominant shares order clients: each running task, with what its amounts result from. */
  readonly heldByStream: readonly HeldByTask[]
  readonly quotas: readonly QuotaRow[]
  readonly circuits: readonly CircuitRow[]
  readonly usages: readonly UsageRow[]
  readonly swarms: readonly SwarmRow[]
  /** Of this process and of those on its lines. */
  readonly workers: readonly WorkerRow[]
  /**
   * The tasks of which a row may have changed after the commit `since`, besides those that processes on lines run; undefined where that is not
   * known, so that it may be any.
   */
  readonly touched: ReadonlySet<number> | undefined
  /** Of the same processes, the live leases with their tasks: all of them, or those that may have changed. */
  readonly leases: readonly LeaseRow[]
  readonly tasks: readonly TaskRow[]
  readonly totals: TotalsRow
  /** The row of the settings in force; undefined where no living process states any. */
  readonly configuration: number | undefined
  readonly scheduleAt: number | undefined
  readonly budgetAt: number | undefined
  /** The numbers that new rows get. */
  readonly next: {
    readonly task: number
    readonly lease: number
    readonly stream: number
    readonly worker: number
    readonly client: number
  }
}

export interface DutiesWanted extends Instant {
  readonly gone: readonly number[]
  /** Of each, at the most. */
  readonly limit: number
  /** Whether a budget may be due. */
  readonly budgets: boolean
}
