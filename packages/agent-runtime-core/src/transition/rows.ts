import type { BudgetField, BudgetSum, BudgetUse } from '../budget.ts'
import type { ChildPolicy } from '../child.ts'
import type { Circuit } from '../decide/circuit.ts'
import type { Dimension, Scores } from '../evaluation.ts'
import type { EventType, WaitReason } from '../event.ts'
import type { StartedStep } from '../doubt.ts'
import type { HistoryFault } from '../history-fault.ts'
import type { LeaseEndReason } from '../lease.ts'
import type { ProfileTerms, SwarmTerms } from '../profile.ts'
import type { ScheduleDefinition } from '../schedule.ts'
import type { ClientTier } from '../shares.ts'
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
  /** The last lease's fencing token, 0 before the first: the next is one more, unless a new incarnation begins higher. */
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
  /** The task, itself or one above it, whose budget it draws on first; null for most. */
  readonly budget: number | null
}

/** The budget of a task and all below it. Source: `docs/semantics.md 11.5`. */
export interface BudgetRow {
  /** The task that it was given to. */
  readonly task: number
  /** The task with the next budget above it. */
  readonly above: number | null
  readonly limits: BudgetSum
  /** Where it asks next. */
  readonly soft: BudgetSum
  readonly used: BudgetUse
  /** The part of it that the task itself used. */
  readonly own: BudgetUse
  readonly startedAt: number | null
  /** When the wall time reaches its next line. */
  readonly dueAt: number | null
  /** The line that was passed and that nobody has answered. */
  readonly asked: { readonly field: BudgetField; readonly at: number; readonly by: number } | null
  /** How often it has asked. */
  readonly asks: number
}

/** What a task costs, in millionths. Source: `docs/semantics.md 11.5`. */
export interface AccountRow {
  /** What it was estimated at. */
  readonly cost: number
  /** What it has used so far, as its handler reported it; null while it has reported nothing. */
  readonly used: UsageSum | null
  /** When it started first, once it has started again: its tokens are reserved in that window. */
  readonly reservedAt?: number
  /** What its start has added to its client's virtual time; null before, and where there are no shares. */
  readonly charge: number | null
  /** Its client's virtual time when it was queued, where that gives it its place. */
  readonly place: number | null
}

/** A client, by name. Credits, times and costs in millionths. Source: `docs/semantics.md 11`. */
export interface ClientRow {
  readonly id: number
  readonly name: string
  readonly credits: number
  readonly tier: ClientTier
  readonly time: number
  /** Where it began when it last became active. */
  readonly floor: number
  readonly spent: number
  /** Promoted queued tasks, and tasks that run: told from the other rows, not kept; nor is what follows. */
  readonly queued: number
  readonly running: number
  /** What could hold back all that it has queued; the clock of this pool that its time was last written by. */
  readonly pool: string
  readonly seen: number
  /** A quota of its own lets none of its tasks start, as far as the last round knows. */
  readonly stalled: boolean
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
  /** Whose tasks they are, where that matters; those of nobody are the client `''`. */
  readonly client: string
  /** Same lane, type and quota keys, whoever's. */
  readonly group: string
  /** No task of it that is queued was submitted before, nor placed before; kept where there are shares. */
  readonly head: number
  readonly place: number
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

/**
 * What a task was submitted with (blobs put back), the memos that it has, in order, and the waits that its failure tells the end of; or why
 * none of it is to be believed.
 */
export type History =
  | {
      readonly submission: string
      readonly memos: readonly MemoRow[]
      /** Of which nobody knows how they ended. */
      readonly doubts: readonly StartedStep[]
      /** By key. */
      readonly failedOf: readonly string[]
      /** The seq of the last event that says that a step failed; 0 when none does. */
      readonly lastFailure: number
    }
  | { readonly fault: HistoryFault }

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
  /** Null where no later pass would emit it again. */
  readonly round: number | null
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

/** Where an agent stands. Source: `docs/semantics.md 15.3`. */
export interface ReputationRow {
  readonly agent: string
  readonly reputation: number
  /** How many it has had. */
  readonly evaluations: number
  readonly average: Scores
  readonly latest: Scores
  readonly lastAt: number
}

/** One evaluation of an agent, and the reputation that it led to. */
export interface EvaluationRow {
  readonly agent: string
  /** Also how many the agent has had. */
  readonly seq: number
  readonly at: number
  readonly domain: string
  readonly scores: Scores
  readonly missing: readonly Dimension[]
  readonly composite: number
  readonly reputation: number
  /** From the average of those before it; null for the first. */
  readonly distance: number | null
  readonly change: number | null
  readonly taskId: string | null
  readonly key: string | null
}

/** The circuit of a route of which something bad is known; the others have no row. Times are by the lease clock. */
export interface CircuitRow extends Circuit {
  readonly route: string
  /** The task that is the probe; null when there is none, or un-leased work is. */
  readonly probe: number | null
}

/** What a running task with a profile uses, and what an agent of a swarm has used: of most tasks there is none. */
export interface UsageRow {
  readonly task: number
  /** Its live lease. */
  readonly lease: number | null
  readonly route: string
  readonly terms: ProfileTerms
  readonly swarm: string | null
  readonly agent: string | null
  readonly laneRank: number
  /** The how-manieth agent of its swarm it is. */
  readonly order: number
  /** What it was promised of the swarm's budget; null where it draws on the rest. */
  readonly promisedCpuUs: number | null
  readonly promisedMemoryBytes: number | null
  /** CPU time so far, the most that was reported, of an agent in whatever pass; and what the live lease holds. */
  readonly computeUs: number
  readonly memoryBytes: number
  /** Its scalar pressure. */
  readonly pressure: number
  /** Heartbeats of its holder. */
  readonly reports: number
  readonly reportedAt: number | null
  /** 0 to 1, as it was reported last. */
  readonly progress: number | null
  readonly errorRate: number | null
  readonly saturation: number | null
  /** The soft limit was told of. */
  readonly warned: boolean
}

/** A swarm. Its agents are the usages that name it. */
export interface SwarmRow {
  readonly name: string
  readonly terms: SwarmTerms
  /** CPU time of agents that have ended. */
  readonly spentUs: number
  /** Agents that were ever spawned. */
  readonly spawned: number
  readonly createdAt: number
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
