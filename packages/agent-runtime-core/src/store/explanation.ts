import type { BudgetField } from '../budget/budget.ts'
import type { BudgetRecord } from '../budget/schema.ts'
import type { CircuitState } from '../route/circuit.ts'
import type { QuotaState } from '../quota/state.ts'
import type { Divergence } from '../history/divergence-schema.ts'
import type { RequeueReason } from '../event/event.ts'
import type { WaitReason } from '../wait/wait.ts'
import type { OpenWait } from '../wait/schema.ts'
import type { FailureKind } from '../task/failure-kind.ts'
import type { MarketStage } from '../market/market.ts'
import type { HeldBack } from '../pipeline/held-back.ts'
import type { SlotShortage } from '../pipeline/slots.ts'
import type { Recovered } from '../recovery/decide.ts'
import type { Lane } from '../task/lane.ts'
import type { ExecutionLease } from '../lease/schema.ts'
import type { ClientTier } from '../share/client.ts'
import type { TaskState } from '../task/states.ts'
import type { LatencyPromise } from '../submit/promise.ts'
import type { AdmissionVerdict } from '../submit/verdict.ts'

/**
 * Explains what a task waits for, or why it is in its state. Times are epoch ms, except for those of leases. Source:
 * `docs/explain.md`.
 */
export interface Explanation {
  readonly taskId: string
  readonly state: TaskState
  /** One sentence for a person. */
  readonly summary: string
  /** The model that it has now: that of its submission, or the one that it has fallen back to. Source: `docs/semantics.md 14.3`. */
  readonly model?: string
  /** Why a queued task has not started. */
  readonly waitsFor?: QueueReason
  /** For a delay or a quota: it does not start before this time. Absent if that depends on other tasks. */
  readonly until?: number
  /** Queued and due: the tasks that come before it, if nothing else came. Source: `docs/semantics.md` C5. */
  readonly ahead?: number
  /** Queued and due: where it stands. */
  readonly place?: QueuePlace
  /** Under an agreement: its name, and the client that it is with, with its tier now, and the promise of a time. Source: `docs/credits.md`. */
  readonly agreement?: {
    readonly name: string
    readonly client: string
    readonly tier: ClientTier
    readonly promise?: LatencyPromise
  }
  /** Queued: when it is likely to start. */
  readonly start?: StartEstimate
  /** Queued, for a quota: that quota as it stands. */
  readonly quota?: QuotaState
  /** Queued, for credits: what its client has, and what is missing. Source: `docs/credits.md`. */
  readonly credits?: MissingCredits
  /** Waiting: what for. Over: of what kind, or why. */
  readonly reason?: string
  /** A job of a marketplace that has not completed: the stage that it is in, or ended in. Source: `docs/marketplace.md`. */
  readonly stage?: MarketStage
  /** Running: the lease it runs under. */
  readonly lease?: ExecutionLease
  /** For a running task: why it got its worker. */
  readonly placement?: Placement
  /** How often it went back to the queue, and why last; absent when it never did. */
  readonly requeued?: Requeues
  /** Waiting: the first things that it waits for, in the order of the calls, at most a hundred. */
  readonly waits?: readonly OpenWait[]
  /** Waiting: for how many more. */
  readonly moreWaits?: number
  /** Not over: the last failures of the steps that are between their tries, the latest first, at most twenty. */
  readonly stepFailures?: readonly StepFailure[]
  /** Waiting: its children that have not ended. */
  readonly children?: OpenChildren
  /** A pipeline that waits for its stages: it has more tasks than the workers that run them have slots. Source: `docs/pipelines.md`. */
  readonly shortage?: SlotShortage
  /** A pipeline, or a stage of one, that waits: the tasks of stages that cannot publish now, each with those that have too many events to receive; the first twenty. Source: `docs/pipelines.md`. */
  readonly heldBack?: readonly HeldBack[]
  /** How many more cannot publish. */
  readonly moreHeldBack?: number
  /** Not over: the budget that asks, of the task or the nearest above it. Source: `docs/semantics.md 11.5`. */
  readonly budget?: BudgetRecord
  /** Waiting, since its handler took a different path than its recorded history: where. */
  readonly divergence?: Divergence
  /** Failed. */
  readonly failure?: FailureReason
  /** Canceled: who did. */
  readonly canceled?: { readonly by: CanceledBy; readonly parent?: string; readonly swarm?: string }
  /** Rejected: what that was decided on, as it stood then; absent for what the front door refuses. */
  readonly verdict?: AdmissionVerdict
}

/**
 * Why a queued task has not started. `paused`: its type or its lane is; `worker`: no live worker runs its type and takes from its lane; `suspect`: it, or the first of its stream, was often lost to
 * crashes, and waits until another such task has run (`docs/semantics.md 3.9`); `credits`: those of its client do not cover its estimate, or that of the first of its stream; `slot`: nothing but a free slot is missing.
 */
export type QueueReason = 'delay' | 'paused' | 'slot' | 'worker' | 'suspect' | 'credits' | `quota:${string}`

/** A client that has too few credits for the task that comes next in a queue of its. */
export interface MissingCredits {
  readonly client: string
  /** The free ones that it has. */
  readonly credits: number
  /** The estimate of that task. */
  readonly asked: number
  /** With so many more it can start. */
  readonly missing: number
  /** Since when the client is asked for credits, epoch ms. Absent before the turn of a task of it has come. */
  readonly since?: number
}

/** Where a queued task stands. Source: `docs/semantics.md` C5, 11.2. */
export interface QueuePlace {
  readonly lane: Lane
  /** The rank of its lane, 0 first, less one for each `agingMs` that it has waited. */
  readonly rank: number
  /** With `agingMs`: when waiting lifts it next. */
  readonly liftedAt?: number
  /** Since when it could be claimed. */
  readonly queuedAt: number
  /** The tasks that come before it, and those of them that could not start now: no worker, or a quota without room. */
  readonly ahead: number
  readonly heldUp: number
  /** Where there are shares: whose it is, and how that client stands. */
  readonly client?: {
    readonly name: string
    readonly tier: ClientTier
    readonly credits: number
    readonly virtualTime: number
    /** The least virtual time of the clients with queued tasks that it is compared with, its own among them. */
    readonly leastVirtualTime: number
    /** Queued tasks of the client in this lane that come before it. */
    readonly ahead: number
  }
}

/** When a queued task is likely to start. An estimate, never a promise. */
export interface StartEstimate {
  /** In ms from now; null if nothing known allows an estimate. */
  readonly startsInMs: number | null
  /**
   * The basis of the estimate: its due time; the end of a quota's window or block; the recent starts of
   * workers that run its type; or why there is none: a pause, no such worker, no recent starts, too few credits, or a quota that only
   * the end of other tasks frees.
   */
  readonly restsOn:
    | { readonly as: 'delay' }
    | { readonly as: 'quota'; readonly key: string }
    | { readonly as: 'starts'; readonly starts: number; readonly overMs: number }
    | {
        readonly as: 'nothing'
        readonly because: 'paused' | 'no_worker' | 'no_recent_starts' | 'other_tasks' | 'no_credits'
      }
}

/**
 * Why a running task got its worker. Among the claiming process's workers that run the type and have a free
 * slot, the one with the fewest taken slots got it; how many each had is not stored. Source:
 * `docs/semantics.md 3.1`.
 */
export interface Placement {
  readonly workerId: string
  readonly lane: Lane
  /** The number of this start among all of the store. */
  readonly dispatch: number
  /** From the moment it could be claimed to its claim. */
  readonly waitMs: number
  /** The time that this start added to its client's virtual time; with shares, and at the first start only. */
  readonly charge?: number
  /** It is to give way to interactive tasks at its next step boundary. */
  readonly asksToYield: boolean
}

/** How often a task went back to the queue. */
export interface Requeues {
  readonly times: number
  readonly byReason: Partial<Readonly<Record<RequeueReason, number>>>
  /** How often it gave way because interactive tasks waited for nothing but a slot. Source: `docs/semantics.md 3.6`. */
  readonly preempted: number
  readonly last: {
    readonly reason: RequeueReason
    readonly at: number
    readonly preemptedBy?: Lane
    /** The quota keys that its provider refused for now, and until when. */
    readonly backOff?: { readonly keys: readonly string[]; readonly until: number }
    /** The decision of a table of recovery about the failure. Source: `docs/semantics.md 14.3`. */
    readonly recovery?: Recovered
    /** The error of the attempt that ended. */
    readonly failure?: ErrorSummary
  }
  /** The last decision of a table of recovery, where `last` is none: its process died since, or gave it back. */
  readonly decided?: { readonly at: number; readonly recovery: Recovered }
}

/** An error in short. The task's events have all of it. */
export interface ErrorSummary {
  /** The first line, cut at 300 characters. */
  readonly message: string
  readonly code?: string
}

/** The last failure of a step that is tried again. */
export interface StepFailure extends ErrorSummary {
  readonly step: string
  /** The retry that follows, from 1. */
  readonly retry: number
  /** Epoch ms. */
  readonly at: number
}

/** The children of a waiting task that have not ended. */
export interface OpenChildren {
  readonly open: number
  /** The first of them, in the order of their submission. */
  readonly first: readonly {
    readonly key: string
    readonly taskId: string
    readonly type: string
    readonly state: TaskState
    /** Queued: why it has not started; waiting: what for. */
    readonly waitsFor?: QueueReason | WaitReason
    /** Waiting for a signal, for its pipeline or its own children: for which, in words. */
    readonly summary?: string
  }[]
}

/** Why a task failed, as far as its rows show. */
export interface FailureReason extends ErrorSummary {
  readonly kind: FailureKind
  /** The causes of its error, the outermost first, at most five. */
  readonly causes?: readonly ErrorSummary[]
  readonly attempt: number
  /** Leases that ended because their holder died or fell silent. */
  readonly crashes: number
  /** `budget_exceeded`: which budget; amounts as they were given. `stopped`: it asked, and the answer was to stop. */
  readonly budget?: {
    readonly taskId: string
    readonly field: BudgetField
    readonly limit: number
    readonly used: number
    readonly stopped: boolean
  }
  /** The circuit of its route, if it is not closed now. */
  readonly circuit?: {
    readonly route: string
    readonly state: CircuitState
    readonly scar: number
    readonly retryAfterMs: number
  }
}

/** The cause of a cancel: a caller, or what the task belonged to. */
export type CanceledBy = 'caller' | 'parent' | 'branch' | 'budget' | 'swarm'

/** Why tasks wait, over all that are queued or waiting. Source: `docs/explain.md`. */
export interface WaitHistogram {
  readonly queued: number
  readonly waiting: number
  /** One for each reason that there is, most tasks first. */
  readonly reasons: readonly WaitCount[]
}

/** How many tasks wait for one reason. */
export interface WaitCount {
  readonly reason: QueueReason | WaitReason
  readonly state: 'queued' | 'waiting'
  readonly count: number
  /** The one that was submitted first; of `delay` the one that is due first. */
  readonly oldest: { readonly taskId: string; readonly ageMs: number }
  /**
   * Only with `credits`: the clients that have too few, and for how many tasks, most tasks first; at most 100. `asked` and `missing` are those of
   * the queue that needs the least.
   */
  readonly clients?: readonly (MissingCredits & { readonly count: number })[]
}
