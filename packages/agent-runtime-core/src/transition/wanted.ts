import type { AccessTokenRow } from '../access/row.ts'
import type { VerdictsRow } from '../approval/row.ts'
import type { BudgetRow } from '../budget/row.ts'
import type { ChildRow } from '../child/row.ts'
import type { EvaluationRow, ReputationRow } from '../evaluation/row.ts'
import type { PipelineRow } from '../pipeline/row.ts'
import type { PrunableRow } from '../retention/row.ts'
import type { History, MemoRow } from '../history/row.ts'
import type { EntryRow, FoldablePart, LedgerPlace } from '../ledger/row.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { ScheduleRow } from '../schedule/row.ts'
import type { ClientRow } from '../share/row.ts'
import type { KeyRow } from '../submit/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { SignalRow, WaitRow } from '../wait/row.ts'
import type { WorkerRow } from '../worker/row.ts'

/**
 * The kinds of rows that a flush can want from its store: how one thing of the kind is named, and what the store
 * returns if it exists. A store answers each kind with one statement, however many names there are.
 */
export interface Kinds {
  tasks: { name: number; found: TaskRow }
  leases: { name: number; found: LeaseRow }
  /** The number of the task that has this id of its submitter's. */
  explicitIds: { name: string; found: readonly [id: string, task: number] }
  /** Idempotency keys. */
  keys: { name: string; found: KeyRow }
  /** By task. */
  waits: { name: number; found: OpenWaits }
  /** By task: where it stands with its reviewers. */
  verdicts: { name: number; found: readonly [task: number, row: VerdictsRow] }
  /** By task: the seq of each step's memo, 0 if it is void. */
  memos: { name: number; found: readonly [task: number, seqs: Map<string, number>] }
  /** By parent: every child that it has. */
  children: { name: number; found: ChildRow }
  /** A child by its parent and key. */
  child: { name: readonly [parent: number, key: string]; found: ChildRow }
  /** By task: the budget that was given to it. */
  budgets: { name: number; found: BudgetRow }
  /** By task with a budget: the tasks that are parked for it or for one below. */
  parked: { name: number; found: readonly [task: number, parked: readonly number[]] }
  /** By task: what a fork of it begins with. */
  histories: { name: TaskRow; found: readonly [task: number, history: History] }
  /** By task: its memos that count, in order, and the texts behind their blobs. */
  recorded: { name: number; found: Recorded }
  /** The data of an event, with its blob put back. */
  events: {
    name: readonly [task: number, seq: number]
    found: readonly [task: number, seq: number, data: string]
  }
  /** A signal whose value is wanted, with the text behind its blob. */
  signals: { name: SignalRow; found: readonly [signal: SignalRow, blob: string] }
  /** By task: output chunks so far. */
  outputs: { name: number; found: readonly [task: number, chunks: number] }
  /** By the task that is one. */
  pipelines: { name: number; found: PipelineRow }
  clients: { name: string; found: ClientRow }
  schedules: { name: string; found: ScheduleRow }
  accessTokens: { name: string; found: AccessTokenRow }
  /** The purchase of a client's key. */
  entries: { name: readonly [client: string, key: string]; found: EntryRow }
  evaluations: { name: readonly [agent: string, key: string]; found: EvaluationRow }
  /** Where an agent stands; undefined for one that was never evaluated. */
  reputations: { name: string; found: readonly [agent: string, row: ReputationRow | undefined] }
  /** By name: the registered workers of every process. */
  workersNamed: { name: string; found: readonly [workerId: string, rows: readonly WorkerRow[]] }
  /** By quota key: the tasks that name it and are not over. */
  naming: { name: string; found: readonly [key: string, tasks: readonly number[]] }
  /** How many there are; of clients, the number of the next. */
  counts: { name: Counted; found: readonly [what: Counted, count: number] }
  /** Queued tasks of a stream behind a sequence, the first so many. */
  heads: {
    name: HeadsWanted
    found: HeadsWanted & { readonly rows: readonly TaskRow[]; readonly texts: readonly (string | null)[] }
  }
  /** The text of a value that was moved out of its event. */
  blobs: { name: string; found: readonly [sha256: string, text: string] }
  /** By task: the data of its `task.queued`, with its blob put back. */
  submissions: { name: number; found: readonly [task: number, data: string] }
  /** By task that ended: all that has to be known to delete it. */
  prunable: { name: TaskRow; found: PrunableRow }
  /** The oldest entries of ledgers, from a place on. */
  foldable: { name: FoldableWanted; found: FoldablePart }
  /** By task: its newest checkpoint, if that is what its event says. */
  checkpoints: { name: number; found: readonly [task: number, data: string] }
}

export type Kind = keyof Kinds

/** The names of wanted rows, by kind. */
export type Wanted = { readonly [K in Kind]?: readonly Kinds[K]['name'][] }

/** The rows that were found. */
export type Loaded = { readonly [K in Kind]?: readonly Kinds[K]['found'][] }

/** The open waits of a task, its unread signals without their values, and its open children. */
interface OpenWaits {
  readonly task: number
  readonly waits: readonly WaitRow[]
  readonly signals: readonly SignalRow[]
  readonly children: readonly ChildRow[]
}

interface Recorded {
  readonly task: number
  readonly memos: readonly MemoRow[]
  readonly blobs: readonly (readonly [sha256: string, text: string])[]
}

export type Counted = 'schedules' | 'accessTokens' | 'agents' | 'nextClient'

interface HeadsWanted {
  readonly stream: number
  readonly after: number
  readonly limit: number
}

export interface FoldableWanted extends Partial<LedgerPlace> {
  /** The name of the place. */
  readonly place: string
  /** Only ledgers whose oldest entry is not younger, and no entries behind one that is. */
  readonly until: number
  /** So many entries, and so many clients, at the most. */
  readonly entries: number
  readonly clients: number
}

/** Work of a flush whose time has come, or whose process is gone. */
export interface Duties {
  /** Leases that have run out, the first to do so first. */
  readonly lapsed: readonly LeaseRow[]
  /** Live leases of processes that are gone. */
  readonly orphans: readonly LeaseRow[]
  /** Delayed and waiting tasks that are due. */
  readonly due: readonly TaskRow[]
  /** Budgets whose wall time has reached a line. */
  readonly budgets: readonly BudgetRow[]
}
