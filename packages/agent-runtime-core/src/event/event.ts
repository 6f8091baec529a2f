import type { BudgetField, BudgetSum } from '../budget/budget.ts'
import type { ChildPolicy } from '../child/child.ts'
import type { Divergence } from '../history/divergence-schema.ts'
import type { Lane } from '../task/lane.ts'
import type { LeaseEndReason } from '../lease/lease.ts'
import type { Recovered } from '../recovery/decide.ts'
import type { OversightMode } from '../approval/oversight-mode.ts'
import type { OutOfCredits } from '../share/client.ts'
import type { LimitedAmount } from '../profile/profile.ts'
import type { ProfileTerms } from '../profile/schema.ts'
import type { FinalState } from '../task/states.ts'
import type { SupervisionStrategy } from '../supervision/supervision.ts'
import type { UsageSum } from '../budget/usage.ts'
import type { AdmissionVerdict } from '../submit/verdict.ts'
import type { WaitKind, WaitOutcome } from '../wait/wait.ts'
import { type FailureKind } from '../task/failure-kind.ts'
import { type WaitReason } from '../wait/wait.ts'

/** Why a submission was refused. Source: `docs/semantics.md 1.1`. */
export const rejectionReasons = [
  'unknown_task_type',
  'invalid_payload',
  'queue_full',
  'backpressure',
  'circuit_open',
  'swarm_full',
  'swarm_overloaded',
  'budget_exceeded',
  'quota_exceeded',
] as const
export type RejectionReason = (typeof rejectionReasons)[number]

/** Why a running task went back to the queue. */
export type RequeueReason = Extract<
  LeaseEndReason,
  'expired' | 'owner_dead' | 'retry' | 'rate_limited' | 'yielded' | 'drained' | 'restarted'
>

/**
 * The data of each stored event, in canonical JSON. `input`, `output`, `result` and `error` hold values in
 * the codec's form (see {@link encode}), or `{ "$blob": sha256, "size": n }` if they are too large to be
 * stored inline.
 */
export interface EventData {
  'task.queued': {
    type: string
    lane: Lane
    input: unknown
    /** Its name in its swarm. */
    agent?: string
    /** It is a fork that keeps every completed step, so the children that failed are retried, too. */
    asRetry?: true
    /** In whole tokens, ms and steps, and millionths. */
    budget?: { limits: BudgetSum; soft: BudgetSum }
    client?: string
    /** An estimate. */
    cost?: number
    dueAt?: number
    /** The task whose submission and memos it began with. */
    forkOf?: string
    /** Its caller runs it, under a lease of its own. */
    held?: true
    idempotencyKey?: string
    labels?: Record<string, string>
    model?: string
    /** As it was submitted: the least mode of its approvals, and what happens without credits. */
    oversight?: OversightMode
    outOfCredits?: OutOfCredits
    /** The task that spawned it. */
    parentId?: string
    /** The profile of its leases, if it differs from the one of its task type. */
    profile?: ProfileTerms
    /** The schedule that submitted it, and the time that it is the run for; one that was triggered by hand is for none. */
    schedule?: string
    scheduledFor?: number
    /** The amounts that are reserved for it in the budget of its swarm. */
    share?: { cpuTimeUs?: number; memoryBytes?: number }
    swarm?: string
    tools?: string[]
    timeoutMs?: number
    tokens?: number
    trace?: Record<string, string>
  }
  'task.rejected': {
    type: string
    lane: Lane
    reason: RejectionReason
    message: string
    /** The facts of the decision, at that instant. */
    verdict?: AdmissionVerdict
  }
  'task.started': {
    attempt: number
    /**
     * The time that it added to its client's virtual time, in millionths; with shares, and at the first start only.
     */
    charge?: number
    /** The credits that it took from its client's, in millionths; with a ledger, and at the first start only. */
    reserved?: number
    lane: Lane
    type: string
    dispatch: number
    fencingToken: number
    leaseId: string
    workerId: string
    /** From the moment the task could be claimed to its claim. */
    waitMs: number
  }
  'task.waiting': {
    reason: WaitReason
    leaseId: string
    /** Usage of step runs without a result. */
    charged?: UsageSum
    /** All that it waits for, in the order of the calls. */
    waits: readonly { key: string; kind: WaitKind; name?: string; position: number }[]
    /** By key; only waits that have a time. */
    dueAt?: Record<string, number>
    /** Where code and history differ, when that is the reason; it waits for nothing else then. */
    divergence?: Divergence
    /** The task whose budget asks, when that is the reason; it waits for nothing else then. */
    budget?: string
  }
  /** A wait ended, and the task goes on; or somebody put back a task that was parked because code and history differ. */
  'task.resumed': ({ reason: WaitKind } & ResolvedWait) | { reason: 'divergence' | 'budget'; key?: never }
  'task.requeued': {
    attempt: number
    reason: RequeueReason
    leaseId: string
    /** Usage that no step recorded, in whole tokens and millionths. */
    charged?: UsageSum
    backOff?: BlockedQuotas
    dueAt?: number
    error?: unknown
    /** The decision of a table of recovery about the failure. */
    recovery?: Recovered
    /** The pass came to nothing: neither a failure nor a try. */
    interrupted?: true
    /** The waits that a task which is handed over has no use for. */
    dropped?: string[]
    /** The supervisor that starts it again. */
    restartedBy?: string
  }
  'task.completed': { output: unknown; leaseId: string; durationMs: number; charged?: UsageSum }
  'task.failed': {
    kind: FailureKind
    error: unknown
    leaseId?: string
    durationMs?: number
    charged?: UsageSum
    /** By key, the waits whose end the error reports. */
    waits?: readonly string[]
    backOff?: BlockedQuotas
    /** For `not_approved`: the approval that was not given, and how it ended. No human gave `value`. */
    key?: string
    outcome?: 'rejected' | 'timed_out'
    value?: { by: string }
  }
  'task.canceled': { from: 'queued' | 'running' | 'waiting'; reason?: string; leaseId?: string }
  /** A wait that began while the pass goes on with its steps. */
  'wait.started': { key: string; kind: WaitKind; name?: string; position: number; dueAt?: number }
  /** A wait ended in the pass in which it was asked for. */
  'wait.resolved': ResolvedWait
  'signal.received': { name: string; value: unknown }
  /** A wait for a human's verdict began; `asked` is false when a spot check let it through. */
  'approval.requested': {
    key: string
    position: number
    artifact: unknown
    asked: boolean
    mode: OversightMode
    maxRetries: number
    dueAt?: number
    draw?: number
  }
  /** The verdict on the request of this seq; the handler gets it when its wait ends. */
  'approval.resolved': {
    key: string
    outcome: 'approved' | 'rejected'
    requestId: number
    value: { by?: string; feedback?: string; value?: unknown }
  }
  /** The intent of a step whose effect is not to be repeated unseen. */
  'step.started': { key: string; position: number; inputHash?: string }
  /**
   * A step that was started in the task that this one is a fork of, and of which nobody knows how it ended: how often, when last, and
   * the idempotency key that it had there, and has here.
   */
  'doubt.inherited': {
    effectKey: string
    inputHash?: string
    key: string
    position: number
    startedAt: number
    starts: number
  }
  'step.completed': {
    key: string
    position: number
    result: unknown
    inputHash?: string
    durationMs: number
    charged?: UsageSum
    /** It is the decision of branches; what they recorded is at the same position, before it. */
    branches?: 'race' | 'all'
    /** The keys that its branches used up, whatever became of the calls: nothing else of the task may have one of them. */
    branchKeys?: string[]
    /** It was called in a branch itself. */
    nested?: true
    dropped?: string[]
    /** Children of branches that were given up: they were canceled and are forgotten. */
    droppedChildren?: string[]
  }
  /** A memo that a fork has of the task it was forked from. */
  'step.inherited': EventData['step.completed']
  'wait.inherited': ResolvedWait
  'step.failed': {
    key: string
    position: number
    error: unknown
    durationMs: number
    charged?: UsageSum
    backOff?: BlockedQuotas
    /** The retry that follows, from 1; absent when no try follows. */
    retry?: number
    dropped?: string[]
    droppedChildren?: string[]
  }
  /** A memo, like a step's: from now on the key stands for this child. */
  'child.spawned': {
    key: string
    policy: ChildPolicy
    position: number
    taskId: string
    type: string
    /** The wait for room that it ends. */
    dropped?: string[]
  }
  /** A child that a fork has of the task it was forked from; its end follows. */
  'child.inherited': EventData['child.spawned']
  /** `value` is what the parent's call is answered with. */
  'child.ended': { key: string; name: string; state: FinalState; taskId: string; value: ChildEnd }
  /** A supervisor started a child again, by its id; `count`: the restarts that count now. `stopped`: the others, as they were stopped. */
  'supervisor.restarted': {
    child: string
    count: number
    stopped: readonly string[]
    strategy: SupervisionStrategy
  }
  /** It had to start a child once more than it may: the supervisor `to`, above it, starts all of it again. */
  'supervisor.escalated': { child: string; count: number; to: string }
  /** A supervisor above it, `by`, starts it again: its restarts count no more. */
  'supervisor.renewed': { by: string }
  'checkpoint.created': { hash: string; size: number }
  /** The lease used more than a soft limit allows; recorded once. */
  'limit.warned': { amount: LimitedAmount; leaseId: string; limit: number; used: number }
  /** A soft line of the task's budget was passed; amounts as in `task.queued`. */
  'budget.asked': { field: BudgetField; by: string; line: number; used: number }
  /** Somebody let the tree go on: what the limits were raised by. */
  'budget.continued': { raised: BudgetSum }
  /**
   * Its turn has come, and its client lacks credits; once for each shortage. `asked`: its estimate; `entry`: the number of the last entry of its client's
   * ledger; `tasks`: how many of the client could start.
   */
  'credits.asked': {
    asked: number
    client: string
    credits: number
    entry: number
    missing: number
    tasks: number
  }
  /** It ends in the same commit, later than its agreement promised. */
  'agreement.missed': { agreement: string; lateMs: number; latencyMs: number }
  'task.leaked': { leaseId: string; afterMs: number }
  /** Its handler ran in a thread or process of its own and did not stop within its grace: it was ended with that. */
  'task.killed': { leaseId: string; afterMs: number }
  /** Usage that was reported after the lease had ended. */
  'task.charged': { charged: UsageSum; leaseId: string }
}

/** The quotas that a provider's refusal blocked, and until when, epoch ms. */
interface BlockedQuotas {
  keys: string[]
  until: number
}

/** How a child ended, with its output or error in the codec's form. */
export type ChildEnd =
  | { state: 'completed'; output: unknown }
  | { state: 'failed'; kind: FailureKind; error: unknown }
  | { state: 'canceled'; reason?: string }

/**
 * How a wait ended; `value` is what came. `since`: a rejection voids the memos made after that seq. In a fork it is the seq of the
 * last approval inherited before it.
 */
interface ResolvedWait {
  key: string
  kind: WaitKind
  name?: string
  outcome: WaitOutcome
  /** A rejection that is one more than is allowed: a person is asked what becomes of the task. */
  escalates?: true
  position: number
  since?: number
  value?: unknown
  /** Waits that went with a rejection: back-offs, and questions about steps in doubt. */
  dropped?: string[]
}

/**
 * The names of events, frozen: later versions add some and change none. `stored` ones are rows of a task's chain; the others
 * are published only, from the row of the transition that they belong to, or, those of evaluations and of the store itself, in one process. Source: `docs/semantics.md 1.6`.
 */
export const eventCatalogue = {
  'task.queued': { stored: true },
  'task.rejected': { stored: true },
  'task.started': { stored: true },
  'task.waiting': { stored: true },
  'task.resumed': { stored: true },
  'task.requeued': { stored: true },
  'task.completed': { stored: true },
  'task.failed': { stored: true },
  'task.canceled': { stored: true },
  'task.preempted': { stored: false },
  /** A failure is followed by another try, by a table of recovery. */
  'task.recovered': { stored: false },
  /** A task that waits for divergence: it goes on only when somebody does something about it. */
  'task.parked': { stored: false },
  'task.leaked': { stored: true },
  'task.killed': { stored: true },
  'task.charged': { stored: true },
  'lease.acquired': { stored: false },
  'lease.expired': { stored: false },
  'lease.lost': { stored: false },
  'lease.released': { stored: false },
  'step.started': { stored: true },
  'step.completed': { stored: true },
  'step.replayed': { stored: false },
  'step.failed': { stored: true },
  'checkpoint.created': { stored: true },
  'step.inherited': { stored: true },
  'wait.inherited': { stored: true },
  'doubt.inherited': { stored: true },
  'wait.started': { stored: true },
  'wait.resolved': { stored: true },
  'signal.received': { stored: true },
  'child.spawned': { stored: true },
  'child.inherited': { stored: true },
  'child.ended': { stored: true },
  'supervisor.restarted': { stored: true },
  'supervisor.escalated': { stored: true },
  'supervisor.renewed': { stored: true },
  'approval.requested': { stored: true },
  'approval.resolved': { stored: true },
  'limit.warned': { stored: true },
  'budget.asked': { stored: true },
  'budget.continued': { stored: true },
  'credits.asked': { stored: true },
  'agreement.missed': { stored: true },
  'attempt.restarted': { stored: false },
  'task.stuck': { stored: false },
  'store.disconnected': { stored: false },
  'store.reconnected': { stored: false },
  'evaluation.recorded': { stored: false },
  'evaluation.drifted': { stored: false },
} as const satisfies Record<string, { stored: boolean }>

/** The name of an event. */
export type EventType = keyof typeof eventCatalogue

/**
 * The events for each telemetry name of the scheduler paper. A listener for such a name gets these. Source: agent-scheduler-paper 7.7;
 * `docs/semantics.md 1.6`.
 */
export const paperEvents = {
  agent_started: ['task.queued'],
  step_completed: ['step.completed'],
  step_replayed: ['step.replayed'],
  step_failed: ['step.failed'],
  job_assigned: ['task.started'],
  approval_requested: ['approval.requested'],
  checkpoint_created: ['checkpoint.created'],
  job_completed: ['task.completed'],
  agent_cancelled: ['task.canceled'],
  agent_terminated: ['task.completed', 'task.failed', 'task.canceled', 'task.rejected'],
} as const satisfies Record<string, readonly EventType[]>

/** A telemetry name of the scheduler paper. */
export type PaperEvent = keyof typeof paperEvents

/**
 * An event as the store hands it out: a fact of one task, in the past tense. `seq` rises by one within the task without a
 * gap; published-only events carry the `seq` of the row they came from. `data` is canonical JSON text, `hash` the integrity
 * chain up to this event in hex (64 digits).
 */
export interface StoredEvent {
  readonly taskId: string
  readonly seq: number
  readonly type: EventType
  /** Epoch ms by the store's clock. */
  readonly at: number
  readonly data: string
  readonly hash: string
  /** Further names this fact is published under (`lease.*`); absent when read back. Source: `docs/semantics.md 1.3`. */
  readonly also?: readonly EventType[]
  /** True when another process committed it; absent when read back. */
  readonly elsewhere?: boolean
}

/** A stretch of a task's output stream; `seq` is the stream's own, from 1. Source: `docs/semantics.md 9`. */
export interface OutputChunk {
  readonly taskId: string
  readonly seq: number
  readonly attempt: number
  readonly at: number
  /** The emitted value in the codec's form. */
  readonly data: string
  /**
   * How many rejections the handler had had when it emitted this itself, so that a later pass would emit it again; absent of what a
   * step emitted. Source: `docs/semantics.md 9.4`.
   */
  readonly round?: number
}
