import type { ChildPolicy } from '../child.ts'
import type { EventType, WaitReason } from '../event.ts'
import type { LeaseEndReason } from '../lease.ts'
import type { ScheduleDefinition } from '../schedule.ts'
import type { LeaseState, TaskState } from '../states.ts'
import type { ApprovalTerms } from '../approval.ts'
import type { UsageSum } from '../usage.ts'
import type { WaitKind, WaitOutcome } from '../wait.ts'

/**
 * The rows a store keeps, as the transitions see them: integers inside, frozen by type; a change is a new row. Times are epoch
 * ms; those of a lease are by the lease clock (`docs/semantics.md 4.7`).
 */
export interface TaskRow {
  /** Also its sequence of submission. */
  readonly id: number
  /** Undefined for a rejected task, which never queued. */
  readonly stream: number | null
  readonly state: TaskState
  readonly attempt: number
  /** Claims so far; the next lease's fencing token is one more. */
  readonly fence: number
  /** The live lease, when running. */
  readonly lease: number | null
  readonly crashes: number
  /** Memos recorded. */
  readonly steps: number
  /** Open waits, signals not taken yet, and children that have not ended: 0 for most. */
  readonly waits: number
  /** The last event's seq, and the integrity chain up to it. */
  readonly seq: number
  readonly tail: Uint8Array
  readonly submittedAt: number
  /** Queued: not to be claimed before; null once promoted. Waiting: when the first of its waits is due. */
  readonly dueAt: number | null
  /** Since when it could be claimed. */
  readonly queuedAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly waitReason: WaitReason | null
  readonly tokens: number
  /** An id of the submitter's own. */
  readonly explicitId: string | null
  /** The task that spawned it. */
  readonly parent: number | null
  /** What is known of its cost; null for a task of which nothing was said. */
  readonly account: AccountRow | null
}

/** What a task costs, in millionths. Source: `docs/semantics.md 11.5`. */
export interface AccountRow {
  /** What it was estimated at. */
  readonly cost: number
  /** What it has used so far, as its handler reported it; null while it has reported nothing. */
  readonly used: UsageSum | null
  /** When it started first, once it has started again: its tokens are reserved in that window. */
  readonly reservedAt?: number
}

/** A lease, live or ended. Its id is the store-wide dispatch number. */
export interface LeaseRow {
  readonly id: number
  readonly task: number
  readonly worker: number
  readonly process: number
  readonly attempt: number
  readonly fence: number
  readonly state: LeaseState
  readonly acquiredAt: number
  readonly expiresAt: number
  readonly lastHeartbeatAt: number
  readonly endedAt: number | null
  readonly endReason: LeaseEndReason | null
  /** The seq of the event that ended it. */
  readonly endSeq: number | null
  readonly yieldAskedAt: number | null
  readonly abortAcknowledgedAt: number | null
  readonly abortGraceExpiredAt: number | null
  readonly progress: string | null
}

/** Queued tasks that are first in, first out among themselves. */
export interface StreamRow {
  readonly id: number
  readonly key: string
  readonly laneRank: number
  readonly type: string
  /** The quota keys its tasks hold. */
  readonly quotaKeys: readonly string[]
  /** Promoted queued tasks. */
  readonly depth: number
  /** Queued tasks that are not due yet. */
  readonly delayed: number
}

export interface WorkerRow {
  readonly id: number
  readonly workerId: string
  readonly process: number
  readonly capacity: number
  readonly draining: boolean
  readonly types: readonly string[]
  readonly lastSeenAt: number
  /** False once it has left the registry. */
  readonly registered: boolean
}

export interface QuotaRow {
  readonly key: string
  readonly queued: number
  readonly running: number
  readonly windowStart: number
  readonly windowCount: number
  readonly windowTokens: number
  /** No holder starts before: a provider has said so. 0: none ever did. */
  readonly blockedUntil: number
}

export interface KeyRow {
  readonly key: string
  readonly task: number
  /** sha256 of type and input; of a fork, also of where it begins. */
  readonly payloadHash: string
}

/** Sums of a store, one row. `running` and `waiting` are states, the rest only rise. */
export interface TotalsRow {
  readonly submitted: number
  readonly rejected: number
  readonly rejectedPruned: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly requeued: number
  readonly expired: number
  readonly preempted: number
  readonly running: number
  readonly waiting: number
}

export interface EventRow {
  readonly task: number
  readonly seq: number
  readonly type: EventType
  readonly at: number
  readonly data: string
  /** The sha256 (hex) of the one value that stands in the blob table, when there is one. */
  readonly blob: string | null
  readonly hash: Uint8Array
  readonly also: readonly EventType[]
}

/** An open wait of a task. */
export interface WaitRow {
  readonly task: number
  readonly key: string
  readonly position: number
  readonly kind: WaitKind
  /** What it waits for arrives under this name. */
  readonly name: string | null
  readonly dueAt: number | null
  /** Of an approval: its terms. */
  readonly terms: ApprovalTerms | null
}

/** A signal that its task has not taken yet; what came with it stands in the event `seq`. */
export interface SignalRow {
  readonly task: number
  readonly seq: number
  readonly name: string
  readonly at: number
  /** As in the event: the value's text, or the reference to a blob; null where nobody asks for it. */
  readonly value: string | null
  readonly blob: string | null
  /** How it ends the wait that it is for. */
  readonly outcome: Extract<WaitOutcome, 'received' | 'approved' | 'rejected'>
}

/** Where a task stands with its reviewers. */
export interface VerdictsRow {
  /** The seq of the last approval; 0 when there was none. */
  readonly approvedSeq: number
  /** Rejections since. */
  readonly rejections: number
}

/** A child, under the key that its parent gave it. */
export interface ChildRow {
  readonly parent: number
  readonly key: string
  readonly task: number
  readonly position: number
  readonly policy: ChildPolicy
  /** The event that is the memo. */
  readonly seq: number
  /** `open`: its end is to be told; `dropped`: its branch was given up, and the key is free again. */
  readonly state: 'open' | 'closed' | 'dropped'
}

/** An event that is a memo, as it stands. */
export interface MemoRow {
  readonly seq: number
  readonly type: EventType
  readonly data: string
  readonly blob: string | null
}

/** What a task was submitted with (blobs put back), and the memos that it has, in order. */
export interface History {
  readonly submission: string
  readonly memos: readonly MemoRow[]
}

export interface CheckpointRow {
  readonly task: number
  readonly seq: number
  readonly data: string
  readonly at: number
}

export interface OutputRow {
  readonly task: number
  readonly seq: number
  readonly attempt: number
  readonly at: number
  readonly data: string
}

/** A schedule and what became of it. Source: `docs/schedules.md`. */
export interface ScheduleRow {
  readonly name: string
  readonly definition: ScheduleDefinition
  readonly paused: boolean
  readonly createdAt: number
  readonly changedAt: number
  /** Null when there is no further time. */
  readonly nextAt: number | null
  readonly lastAt: number | null
  readonly lastDueAt: number | null
  readonly lastTask: number | null
  readonly runs: number
  readonly rejected: number
  readonly missed: number
  readonly skipped: number
}

export const noTotals: TotalsRow = {
  submitted: 0,
  rejected: 0,
  rejectedPruned: 0,
  completed: 0,
  failed: 0,
  canceled: 0,
  requeued: 0,
  expired: 0,
  preempted: 0,
  running: 0,
  waiting: 0,
}
