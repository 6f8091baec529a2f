import type { PendingApproval, Rejection, VerdictOutcome } from './approval.ts'
import type { BudgetField, BudgetRecord, BudgetSum, BudgetTerms } from './budget.ts'
import type { ChildPolicy, ChildRecord } from './child.ts'
import type { ExecutionConfig } from './config.ts'
import type { QuotaState } from './decide/quota-state.ts'
import type { DataLoss } from './data-loss.ts'
import type { Divergence } from './divergence.ts'
import type { CircuitState } from './decide/circuit.ts'
import type { ScarCause } from './decide/scar.ts'
import type {
  Dimension,
  EvaluationRecord,
  ReputationRecord,
  Scores,
  SimilarAgent,
  Weights,
} from './evaluation.ts'
import type { Explanation, WaitHistogram } from './explanation.ts'
import type { EventType, FailureKind, OutputChunk, RejectionReason, StoredEvent } from './event.ts'
import type { HistoryFault } from './history-fault.ts'
import type { Lane } from './lane.ts'
import type { ExecutionLease, LeaseEndReason } from './lease.ts'
import type { ProfileTerms, SwarmTerms, UsageSample } from './profile.ts'
import type { ScheduleDefinition, ScheduleRecord, ScheduleTiming } from './schedule.ts'
import type { ClientRecord, ClientTier } from './shares.ts'
import type { TaskState } from './states.ts'
import type { StepRecord } from './step.ts'
import type { TaskRecord } from './task.ts'
import type { UsageSum } from './usage.ts'
import type { OpenWait, WaitKind, WaitRecord, WaitRequest } from './wait.ts'
import type { WorkerStatus } from './worker.ts'

/**
 * The store port. A write is plain data that names one transition; its promise resolves after the commit that made it
 * durable, with the outcome as plain data. Writes of one process are applied in the order in which they were handed over;
 * those that arrive together share one commit. Whatever a holder writes names its lease, and the lease is the fence.
 * Values (`input`, `output`, `result`, `error`, `data`) are texts in the codec's form.
 */
export interface ExecutionStore {
  readonly info: StoreInfo
  /** Applies one transition. Rejects with a RuntimeError (`store_*`) when the store cannot take it; nothing is half-written. */
  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']>
  /** Answers from committed state. */
  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']>
  /**
   * Standing demand: how much one worker of this process may be given, as a running total (its capacity plus every slot it
   * has had back). The store hands over claims, through {@link StoreListener.claimed}, while fewer than that were given.
   * A later statement replaces the earlier; totals make a lost or repeated one harmless. Source: `docs/ARCHITECTURE.md`.
   */
  demand(workerId: string, credit: number): void
  /** Which published events this process wants to hear of; replaces the former interest. */
  interest(interest: Interest): void
  /** Hears what the store publishes after each commit. */
  listen(listener: StoreListener): Disposable
  /**
   * Whether this process slept a moment ago, or did nothing else, for so long that its leases may have run out before it hears of it.
   * A holder then asks by a write under its lease before it acts. A store that cannot tell has no such method. Source:
   * `docs/reliability.md` C03.
   */
  mayHaveSlept?(): boolean
  /** How often it did so: an answer to what was asked before the last time says nothing of a lease any more. */
  timesSlept?(): number
  /** Ends the process's registration after the writes handed over so far; later calls reject with `store_closed`. */
  close(): Promise<void>
}

/** What a store says of itself. */
export interface StoreInfo {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  /** Where it is, without credentials. */
  readonly location: string
  readonly storeId: string
  readonly processId: string
  /** What an acknowledgement means, as read back from the database. */
  readonly durability: 'full' | 'normal' | 'memory'
  readonly schemaVersion: number
  readonly versions: Readonly<Record<string, string>>
  /** What was missing when it was opened, and was accepted. */
  readonly acceptedLoss?: DataLoss
}

/** What a store publishes, each after the commit that made it true. */
export interface StoreListener {
  /** Tasks handed to this process's workers. */
  claimed?(claims: readonly Claim[]): void
  /** What happened to leases of this process other than by its own settling. */
  noticed?(notices: readonly LeaseNotice[]): void
  /** Events this process is interested in, of every process, in the order of their commits. */
  published?(events: readonly StoredEvent[]): void
  emitted?(chunks: readonly OutputChunk[]): void
  /** A schedule is due: said when it is, and at every tick as long as it is. Source: `docs/schedules.md`. */
  schedulesDue?(): void
  /** The store stopped for good (fail-stop): what was not answered was rejected, and nothing will be. */
  failed?(error: Error): void
}

/** Which events a process wants: by name (or all), or by task. */
export interface Interest {
  readonly types: 'all' | readonly EventType[]
  readonly tasks: readonly string[]
}

/** A lease's verdict for its holder. Source: `docs/semantics.md 4.3`. */
export interface LeaseNotice {
  readonly leaseId: string
  readonly taskId: string
  /** `failed`: the runtime has failed the task; the handler has to stop. */
  readonly verdict: 'lost' | 'canceled' | 'yield' | 'failed'
  readonly reason?: string
}

/** A task handed to a worker, with the lease that lets it write. */
export interface Claim {
  readonly taskId: string
  readonly leaseId: string
  readonly workerId: string
  readonly sequence: number
  readonly type: string
  readonly lane: Lane
  readonly attempt: number
  readonly crashes: number
  readonly fencingToken: number
  readonly dispatch: number
  readonly acquiredAt: number
  readonly expiresAt: number
  /** Steps recorded so far. */
  readonly steps: number
  /** Whether anything happened to the task before: its memos are to be read before the handler runs. */
  readonly replays: boolean
  /** The data of `task.queued` (canonical JSON text): `input`, `timeoutMs`, `labels`, `trace`, … */
  readonly submission: string
  /** The last `ctx.checkpoint` data, when there is one. */
  readonly checkpoint?: string
  /** A budget that it draws on asks, and nobody has answered: it is given back at its first step boundary. */
  readonly yields?: true
  /** Of an agent of a swarm. */
  readonly left?: ResourcesLeft
}

/** What is left of what a lease may use; null where nothing limits it. Source: `docs/semantics.md 10.6`. */
export interface ResourcesLeft {
  readonly cpuTimeUs: number | null
  readonly memoryBytes: number | null
}

/** One submission, its values encoded and its limits checked. */
export interface Submission {
  readonly type: string
  readonly lane: Lane
  /** The input in the codec's form. */
  readonly input: string
  /** An id of the caller's own; a second submission of it is `already_exists`. */
  readonly taskId?: string
  readonly idempotencyKey?: string
  readonly client?: string
  readonly model?: string
  readonly tools?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  /** Do not start before this time, epoch ms. */
  readonly dueAt?: number
  /** Do not start before now + this, by the store's clock. */
  readonly delayMs?: number
  readonly timeoutMs?: number
  /** An estimate, counted by `tokensPerWindow`. */
  readonly tokens?: number
  /** An estimate of what fair shares reckon with, to the millionth; 1 without one. Source: `docs/semantics.md 11.5`. */
  readonly cost?: number
  /** What its leases are held to, where that is not what its task type says. */
  readonly profile?: ProfileTerms
  /** The swarm that it is an agent of, and its name there. It has a `profile` then. Source: `docs/semantics.md 10.6`. */
  readonly swarm?: string
  readonly agent?: string
  /** What it is promised of the swarm's budget; it draws on the rest without. */
  readonly share?: { readonly cpuTimeUs?: number; readonly memoryBytes?: number }
  /** Set by the store itself: its caller runs it. */
  readonly held?: true
  /** What the task and all below it may use up. Source: `docs/semantics.md 11.5`. */
  readonly budget?: BudgetTerms
  /** The submitter's trace context. */
  readonly trace?: Readonly<Record<string, string>>
  /** Set by the store itself. */
  readonly forkOf?: string
  /** Set by the store itself: what the idempotency key of a fork binds besides type and input. */
  readonly forkedAt?: string
  readonly schedule?: string
  readonly scheduledFor?: number
  /** Set by the store itself. */
  readonly parentId?: string
  /** What the front door found wrong; the submission is recorded as rejected. */
  readonly refused?: { readonly reason: 'unknown_task_type' | 'invalid_payload'; readonly message: string }
}

/** What a submission got. */
export type Receipt =
  | {
      readonly accepted: true
      readonly taskId: string
      readonly sequence: number
      /** True when an earlier submission with the same idempotency key answered. */
      readonly deduplicated: boolean
    }
  | {
      readonly accepted: false
      readonly taskId: string
      readonly sequence: number
      readonly reason: RejectionReason
      readonly message: string
      /** As things are set there will never be room for it. */
      readonly forGood?: true
    }
  /** Refused before it became a record: the key or id is taken by another payload or task. */
  | {
      readonly accepted: false
      readonly taskId: string
      readonly sequence: number
      readonly reason: 'idempotency_conflict' | 'already_exists'
      readonly message: string
    }
  /** Refused before it became a record, so that it has no id: the swarm that it names is not there. */
  | {
      readonly accepted: false
      readonly taskId: ''
      readonly sequence: 0
      readonly reason: 'not_found'
      readonly message: string
    }

/** What a provider said: no task that names one of these quota keys is to start before. */
export interface BackOff {
  readonly keys: readonly string[]
  /** By the store's clock. */
  readonly retryAfterMs: number
}

/** How a holder ends its lease. `rate_limited`: it is tried again, in the same attempt. */
export type Settlement =
  | { readonly as: 'completed'; readonly output: string }
  | {
      readonly as: 'failed'
      readonly kind: FailureKind
      readonly error: string
      /** By key, the waits whose end the error tells: a retry of the task asks anew. Source: `docs/semantics.md 6.3`. */
      readonly waits?: readonly string[]
      /** It ran past its deadline, or a hard limit: its route hears of it in the same commit. Source: `docs/semantics.md 10.3`. */
      readonly breach?: 'deadline' | 'hard'
      /** It could not go on for want of a budget: where nothing is left of one, it ends as at a hard line. Source: `docs/semantics.md 11.5`. */
      readonly spent?: true
    }
  | { readonly as: 'retry'; readonly error: string; readonly delayMs: number }
  | { readonly as: 'rate_limited'; readonly error: string; readonly delayMs: number }

/** Whether a fenced write was taken. `stale`: the lease is no longer live; nothing was written. */
export type Fenced = 'ok' | 'stale'

/** The transitions a process can ask for, each with its outcome. Sweeping, promotion, renewal and claims are the store's own. */
export interface Writes {
  /** One commit for all. Source: `docs/semantics.md 2`. */
  submit: { fields: { readonly tasks: readonly Submission[] }; outcome: readonly Receipt[] }
  /** Source: `docs/semantics.md 7`. An existing memo of the key answers and nothing is written. */
  recordStep: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly durationMs: number
      readonly result: string
      /** What it used up. */
      readonly charged?: UsageSum
      readonly inputHash?: string
      /** It is the decision of branches, whose steps have the same position. */
      readonly branches?: 'race' | 'all'
      /** The keys that its branches used up, whatever became of the calls. */
      readonly branchKeys?: readonly string[]
      /** It was called in a branch itself. */
      readonly nested?: boolean
      /** Open waits that nobody waits for any more: those of a race's losers. */
      readonly drops?: readonly string[]
      /** Children of the losers, by key: those that run, and do not outlive their branch, are canceled and forgotten. */
      readonly dropsChildren?: readonly string[]
    }
    outcome: { readonly fenced: 'ok'; readonly memo?: string } | { readonly fenced: 'stale' }
  }
  /** A step is about to run whose effect must not be done twice unseen: the intent, on disk first. Source: `docs/semantics.md 7.6`. */
  startStep: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly inputHash?: string
    }
    outcome: Fenced
  }
  /** A step that failed, for good or until its `retry`-th retry; not a memo. */
  failStep: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly durationMs: number
      readonly error: string
      /** What the try used up. */
      readonly charged?: UsageSum
      readonly backOff?: BackOff
      readonly retry?: number
      /** Open waits that nobody waits for any more: those beside the branch that failed. */
      readonly drops?: readonly string[]
      readonly dropsChildren?: readonly string[]
    }
    outcome: Fenced
  }
  /**
   * Submits a task as a child of the holder's. A key that has a child answers with it, and nothing is written; a submission
   * that is refused is a record like any other, and the key stays free. Source: `docs/semantics.md 5.5`.
   */
  spawn: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly policy: ChildPolicy
      readonly submission: Omit<Submission, 'idempotencyKey' | 'forkOf' | 'parentId'>
      /** It waits for room where there is none: to be refused for want of it is no record. */
      readonly inLine?: boolean
      /** The open wait for room that ends with this. */
      readonly drops?: string
    }
    outcome:
      | { readonly fenced: 'ok'; readonly as: 'spawned'; readonly child: ChildRecord }
      | { readonly fenced: 'ok'; readonly as: 'refused'; readonly receipt: Receipt & { accepted: false } }
      /** Nothing was written. */
      | { readonly fenced: 'ok'; readonly as: 'no_room' }
      /** It has `maxChildren` that have not ended. */
      | { readonly fenced: 'ok'; readonly as: 'full' }
      /** Its budget is larger than what is left of one above it, that of `taskId`; nothing is stored. */
      | {
          readonly fenced: 'ok'
          readonly as: 'over_budget'
          readonly field: BudgetField
          readonly left: number
          readonly taskId: string
        }
      | { readonly fenced: 'stale' }
  }
  checkpoint: { fields: { readonly leaseId: string; readonly data: string }; outcome: Fenced }
  appendOutput: {
    fields: {
      readonly leaseId: string
      readonly chunks: readonly string[]
      /** See {@link OutputChunk.round}. */
      readonly round?: number
    }
    outcome: Fenced
  }
  /** Progress of a handler; kept with the lease, not an event. */
  progress: { fields: { readonly leaseId: string; readonly progress: string }; outcome: Fenced }
  /** Ends a lease. The same settlement again gets the first answer. Source: `docs/semantics.md 4.4`. */
  settle: {
    fields: {
      readonly leaseId: string
      readonly settlement: Settlement
      /** What the pass used up outside of steps, and in those that have not ended. */
      readonly charged?: UsageSum
      readonly backOff?: BackOff
    }
    outcome: Fenced
  }
  /**
   * What a pass waits for. Of the task's open waits, those of earlier passes among them, what is due, or has its signal, is
   * resolved at once and answered. When nothing is and the
   * pass does not `stay`, its lease ends and the task waits, without a slot, until the first of them is. A pass that stays
   * has steps under way; its waits are open from now on and it asks again. Source: `docs/semantics.md 12.3, 12.4`.
   */
  suspend: {
    fields: {
      readonly leaseId: string
      readonly waits: readonly WaitRequest[]
      readonly stay: boolean
      /** What runs of steps used up that came to nothing; it counts when the lease ends with this. */
      readonly charged?: UsageSum
    }
    outcome:
      | { readonly fenced: 'ok'; readonly suspended: boolean; readonly resolved: readonly WaitRecord[] }
      | { readonly fenced: 'stale' }
  }
  /**
   * Parks a task whose code and history part: its lease ends, and it waits until it is resumed. Its open waits and unread signals are
   * kept, and none of them brings it back. Source: `docs/semantics.md 6.4`.
   */
  diverge: {
    fields: { readonly leaseId: string; readonly divergence: Divergence; readonly charged?: UsageSum }
    outcome: Fenced
  }
  /** Puts a parked task back into the queue, past its limits, with the same attempt. Source: `docs/semantics.md 6.4`. */
  resume: {
    fields: { readonly taskId: string }
    outcome: { readonly resumed: boolean; readonly state?: TaskState }
  }
  /**
   * Answers the budget that asks, of the task or the nearest above it: its tree goes on with limits raised by so much, or ends. Source:
   * `docs/semantics.md 11.5`.
   */
  answerBudget: {
    fields: {
      readonly taskId: string
      readonly answer: { readonly as: 'continue'; readonly raise: BudgetSum } | { readonly as: 'stop' }
    }
    outcome:
      /** `taskId` is the task whose budget was answered. */
      | { readonly as: 'answered'; readonly taskId: string; readonly resumed: number }
      /** `asked`: it did once. */
      | { readonly as: 'not_asked'; readonly asked: boolean }
      | { readonly as: 'no_budget' }
      | { readonly as: 'unknown_task' }
      /** It has no limit of this field that could be raised. */
      | { readonly as: 'unlimited'; readonly field: BudgetField }
      /** More than is left of the budget of `above`. */
      | {
          readonly as: 'over_budget'
          readonly field: BudgetField
          readonly left: number
          readonly above: string
          /** What its limit would be, and how much of that is not used. */
          readonly limit: number
          readonly unused: number
        }
  }
  /** Keeps a signal for the task, or wakes it. Final and unknown tasks take none. Source: `docs/semantics.md 12.4`. */
  signal: {
    fields: { readonly taskId: string; readonly name: string; readonly value: string }
    outcome: { readonly delivered: boolean; readonly state?: TaskState; readonly full?: boolean }
  }
  /**
   * A human's verdict on the request that stands in the task's event `request`. It wakes the task, or is kept until the pass that
   * runs comes to it; the first counts. Source: `docs/semantics.md 12.2, 12.3`.
   */
  resolveApproval: {
    fields: {
      readonly taskId: string
      readonly request: number
      readonly verdict: 'approved' | 'rejected'
      /** What the reviewer says, in the codec's form. */
      readonly value: string
    }
    outcome: VerdictOutcome
  }
  /**
   * Submits a task again as a new one that keeps the memos before `fromStep` (all without one), some with other results
   * (`edits`, by step key, in the codec's form). `onlyOver`: of a failed, canceled or parked task alone. Source: `docs/semantics.md
   * 1.2, 6.3`.
   */
  fork: {
    fields: {
      readonly taskId: string
      readonly fromStep?: string
      readonly edits: Readonly<Record<string, string>>
      readonly onlyOver: boolean
      /** What is not as it was submitted. */
      readonly change: Partial<
        Pick<Submission, 'taskId' | 'input' | 'lane' | 'labels' | 'trace' | 'idempotencyKey' | 'budget'>
      >
    }
    outcome:
      | { readonly as: 'submitted'; readonly receipt: Receipt }
      | { readonly as: 'unknown_task' }
      | { readonly as: 'not_over'; readonly state: TaskState }
      /** Its caller ran it, and nobody else can. */
      | { readonly as: 'held' }
      /** `inDoubt`: it was started, and nobody knows how it ended. */
      | { readonly as: 'unknown_step'; readonly key: string; readonly inDoubt?: true }
      /** The decision of a race or an all answers for the step of this key. */
      | { readonly as: 'inside_decision'; readonly key: string; readonly decision: string }
      /** The key is that of a race or an all, and its edit is not what one is decided as; `names`: of the branches of an all, where they are known. */
      | {
          readonly as: 'no_decision'
          readonly key: string
          readonly branches: 'race' | 'all'
          readonly names: readonly string[]
        }
      /** The history is not the one that was written. */
      | { readonly as: 'edited'; readonly fault: HistoryFault }
      /** An edit of what is no step that the new task has; `recorded` is what has the key, if anything has. */
      | {
          readonly as: 'not_editable'
          readonly key: string
          readonly recorded?: 'step' | WaitKind
          readonly inDoubt?: true
        }
  }
  /** Gives a running task back, same attempt. One that yields while a budget above it asks is parked. Source: `docs/semantics.md 3.6, 5.6, 11.5`. */
  release: {
    fields: {
      readonly leaseId: string
      readonly reason: Extract<LeaseEndReason, 'yielded' | 'drained'>
      /** What runs of steps used up that came to nothing. */
      readonly charged?: UsageSum
    }
    outcome: Fenced
  }
  /** Source: `docs/semantics.md 5`. `canceled` is false for a final or unknown task. */
  cancel: {
    fields: { readonly taskId: string; readonly reason?: string }
    outcome: { readonly canceled: boolean; readonly state?: TaskState }
  }
  /** The handler behind an ended lease has stopped, or has not within the grace. Source: `docs/semantics.md` C3, 5.4. */
  abortSettled: {
    fields: {
      readonly leaseId: string
      readonly how: 'acknowledged' | 'leaked'
      readonly afterMs: number
      /** What was used up and not told before the lease ended. */
      readonly charged?: UsageSum
    }
    outcome: boolean
  }
  /** `nextAt` is the first time of its timing; null when there is none. Source: `docs/schedules.md`. */
  putSchedule: {
    fields: {
      readonly name: string
      readonly definition: ScheduleDefinition
      readonly nextAt: number | null
    }
    outcome:
      | {
          readonly as: 'put'
          readonly change: 'created' | 'replaced' | 'unchanged'
          readonly schedule: ScheduleRecord
        }
      /** There are `maxSchedules` already. */
      | { readonly as: 'full' }
  }
  pauseSchedule: { fields: { readonly name: string }; outcome: ScheduleRecord | undefined }
  /** `changed`: its timing is not the one that `nextAt` was computed from. */
  resumeSchedule: {
    fields: { readonly name: string; readonly timing: ScheduleTiming; readonly nextAt: number | null }
    outcome:
      | { readonly as: 'resumed'; readonly schedule: ScheduleRecord }
      | { readonly as: 'unknown' }
      | { readonly as: 'changed' }
  }
  removeSchedule: { fields: { readonly name: string }; outcome: boolean }
  /**
   * A compare-and-set: if the schedule is due at `dueAt` still and has this timing, `runs` are submitted, in order, and it is due
   * at `nextAt` next. The store never evaluates a timing. Source: `docs/schedules.md`.
   */
  fireSchedule: {
    fields: {
      readonly name: string
      readonly timing: ScheduleTiming
      readonly dueAt: number
      readonly runs: readonly number[]
      /** Times that are left out. */
      readonly missed: number
      readonly nextAt: number | null
    }
    outcome: { readonly fired: boolean; readonly receipts: readonly Receipt[] }
  }
  /** Undefined: there is no such schedule. */
  triggerSchedule: { fields: { readonly name: string }; outcome: Receipt | undefined }
  /** Says what a client's share goes by: credits, 0 to 1e9. Without shares it is kept for when there are. Source: `docs/semantics.md 11.1`. */
  putClient: {
    fields: { readonly name: string; readonly credits?: number; readonly tier?: ClientTier }
    /** There are `maxClients` already. */
    outcome: { readonly as: 'put'; readonly client: ClientRecord } | { readonly as: 'full' }
  }
  removeClient: {
    fields: { readonly name: string }
    outcome:
      | { readonly as: 'removed' }
      | { readonly as: 'unknown' }
      /** It has tasks queued or running, or so many that are not due yet. */
      | { readonly as: 'busy'; readonly client: ClientRecord; readonly delayed: number }
  }
  /**
   * Adds an evaluation to an agent's history and folds it into its reputation, in one commit. With a `key` that the agent has a kept
   * evaluation of, that one answers. Source: `docs/semantics.md 15.3`.
   */
  evaluate: {
    fields: {
      readonly agentId: string
      readonly domain: string
      readonly weights: Weights
      readonly scores: Scores
      readonly missing: readonly Dimension[]
      readonly taskId?: string
      readonly key?: string
    }
    outcome:
      /** `conflict`: the key stands for an evaluation that says something else. */
      | {
          readonly as: 'recorded' | 'conflict'
          readonly deduplicated: boolean
          readonly evaluation: EvaluationRecord
        }
      /** There are `maxEvaluatedAgents` already. */
      | { readonly as: 'full' }
  }
  /**
   * A heartbeat of a holder, or a measurement (`heartbeat: false`), under the terms that its lease is held to. A hard limit that it is
   * above ends the lease in the same commit. Source: `docs/semantics.md 10.5-10.7`.
   */
  report: {
    fields: {
      readonly leaseId: string
      readonly terms: ProfileTerms
      readonly sample: UsageSample
      readonly heartbeat: boolean
      /** What is kept with the lease, in the codec's form. */
      readonly progress?: string
      /** The same where it is a share of the work, 0 to 1. */
      readonly share?: number
    }
    outcome:
      | ({
          readonly fenced: 'ok'
          readonly verdict: 'within' | 'soft' | 'hard'
          readonly pressure: number
          /** What is broken, said when it is for the first time. */
          readonly message?: string
        } & ResourcesLeft)
      | { readonly fenced: 'stale' }
  }
  /** Work behind a lease, live or ended, went wrong; the size of the scar. Source: `docs/semantics.md` C8, C9. */
  scar: { fields: { readonly leaseId: string; readonly cause: ScarCause }; outcome: number }
  /** Un-leased work: without `latencyMs` it asks, with it it tells how it went. Source: `docs/semantics.md 10.1`, C11. */
  observeRoute: {
    fields: { readonly route: string; readonly baselineMs: number; readonly latencyMs?: number }
    outcome: {
      readonly admitted: boolean
      /** It is the one that finds out whether the route is well again. */
      readonly probe: boolean
      readonly circuit: CircuitState
      readonly healthy: boolean
      /** What this work left, and what there is in all. */
      readonly scar: number
      readonly totalScar: number
      readonly retryAfterMs: number
    }
  }
  /** A task that its caller runs, under a live lease, in one commit. Source: `docs/semantics.md 10.1`. */
  startLease: {
    fields: { readonly submission: Submission & { readonly profile: ProfileTerms } }
    outcome:
      | {
          readonly as: 'started'
          readonly taskId: string
          readonly leaseId: string
          readonly sequence: number
          /** By the lease clock. */
          readonly acquiredAt: number
          /** Of an agent. */
          readonly left?: ResourcesLeft
        }
      | { readonly as: 'refused'; readonly receipt: Receipt }
  }
  /** Source: `docs/semantics.md 10.6`. */
  putSwarm: {
    fields: { readonly name: string; readonly terms: SwarmTerms }
    outcome:
      | { readonly as: 'created' | 'joined' }
      | { readonly as: 'other_terms'; readonly terms: SwarmTerms }
  }
  closeSwarm: {
    fields: { readonly name: string }
    outcome: { readonly closed: boolean; readonly canceled: number }
  }
  registerWorkers: {
    fields: {
      readonly workers: readonly {
        readonly workerId: string
        readonly capacity: number
        readonly types: readonly string[]
      }[]
    }
    outcome: boolean
  }
  /** From the commit on the worker is given nothing. */
  drainWorkers: { fields: { readonly workerIds: readonly string[] }; outcome: boolean }
  /** The workers leave the registry; leases they still hold are released as drained. */
  removeWorkers: { fields: { readonly workerIds: readonly string[] }; outcome: boolean }
}
export type WriteKind = keyof Writes
export type Write<K extends WriteKind = WriteKind> = {
  [P in K]: { readonly kind: P } & Writes[P]['fields']
}[K]
export type OutcomeOf<K extends WriteKind> = Writes[K]['outcome']

/**
 * Which tasks to list; newest first. `cursor` comes from the page before: as long as there is one there may be more, even after a
 * page that is short or empty, since a page is bounded in the rows it looks at and the bytes it holds.
 */
export interface TaskFilter {
  readonly states?: readonly TaskState[]
  readonly types?: readonly string[]
  readonly lanes?: readonly Lane[]
  /** The children of this task. */
  readonly parent?: string
  /** 1 to 1000, 100 by default. */
  readonly limit?: number
  readonly cursor?: number
}

/** Which schedules to read: by name, in its order, after one; or those that are not paused and due by a time, the earliest first. */
export interface ScheduleFilter {
  readonly name?: string
  readonly after?: string
  readonly dueBy?: number
  /** 1 to 1000, 100 by default. */
  readonly limit?: number
}

/** How a route stands, as far as the store knows: those with a circuit, and those with live leases under a profile. */
export interface RouteRecord {
  readonly route: string
  /** As it is now: an open one is `half_open` from when it would let a probe through. */
  readonly circuit: CircuitState
  /** Nothing went wrong on it, or something has succeeded since, with its circuit closed or as its probe. */
  readonly healthy: boolean
  /** Its scar now. */
  readonly scar: number
  /** Ms until its circuit lets a probe through; 0 when it would, or one is under way. */
  readonly retryAfterMs: number
  /** Live leases, and what they press: the mean of their scalar pressures, and the largest. */
  readonly leases: number
  readonly pressure: number
  readonly maxPressure: number
  /** Pressure, scar, and a penalty while a lease is above a soft limit. It refuses nothing by itself. */
  readonly resistance: number
}

/** An agent of a swarm that has not ended. */
export interface AgentRecord {
  readonly agent: string
  readonly taskId: string
  readonly lane: Lane
  readonly pressure: number
  /** CPU time in all, and what it holds now, as it was reported. */
  readonly computeUs: number
  readonly memoryBytes: number
}

/** A swarm as it stands. Source: `docs/semantics.md 10.6`. */
export interface SwarmRecord {
  readonly name: string
  readonly terms: SwarmTerms
  readonly createdAt: number
  readonly spawned: number
  readonly agents: readonly AgentRecord[]
  readonly pressure: { readonly mean: number; readonly max: number }
  /** What is left of the shared budget; null where nothing limits it. */
  readonly rest: { readonly cpuTimeUs: number | null; readonly memoryBytes: number | null }
  readonly circuit: CircuitState
}

/** Counters of a store. `depth` counts promoted queued tasks. Source: `docs/semantics.md 2.2`. */
export interface StoreStats {
  readonly depth: Readonly<Record<Lane, number>>
  readonly delayed: number
  readonly running: number
  readonly waiting: number
  readonly totals: Totals
  /** Those that something was counted for. */
  readonly quotas: readonly QuotaState[]
  /** Writes refused because their lease was no longer live, in this process. */
  readonly staleWrites: number
  readonly commits: number
  /** Flushes that failed as a whole and were repeated operation by operation, in this process. */
  readonly repeatedFlushes: number
}

/** Sums since the store was made. */
export interface Totals {
  readonly submitted: number
  readonly rejected: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly requeued: number
  readonly expired: number
  readonly preempted: number
}

/** The questions a store answers. */
export interface Reads {
  task: { fields: { readonly taskId: string }; answer: TaskRecord | undefined }
  tasks: {
    fields: { readonly filter: TaskFilter }
    answer: { readonly tasks: readonly TaskRecord[]; readonly cursor?: number }
  }
  /** Events of one task with `seq > after`, in order. */
  events: {
    fields: { readonly taskId: string; readonly after: number; readonly limit: number }
    answer: readonly StoredEvent[] | undefined
  }
  steps: { fields: { readonly taskId: string }; answer: readonly StepRecord[] }
  /** Checks a task's events against their chain: what is wrong first, or undefined. Source: `docs/semantics.md 6.2`. */
  integrity: { fields: { readonly taskId: string }; answer: HistoryFault | undefined }
  /**
   * All that earlier passes recorded, for a pass to go through the handler with. Rejects with the error of `historyEdited` when the
   * history is not the one that was written.
   */
  memos: {
    fields: { readonly taskId: string }
    answer: {
      readonly steps: readonly StepRecord[]
      readonly waits: readonly WaitRecord[]
      /** Waits that began and have not ended. */
      readonly open: readonly OpenWait[]
      /** Steps that were started and of which nobody knows how they ended, by key: how often they were started. */
      readonly inDoubt: readonly {
        readonly key: string
        readonly starts: number
        /** Of the last start. */
        readonly startedAt: number
        readonly seq: number
      }[]
      /** The idempotency keys of steps that were started in the task that this one is a fork of. */
      readonly effectKeys: readonly { readonly key: string; readonly effectKey: string }[]
      /** What sent the task back, in order. */
      readonly rejections: readonly Rejection[]
      /** Steps and races that failed for good in a pass that went on all the same; errors in the codec's form. */
      readonly failures: readonly { readonly key: string; readonly seq: number; readonly error: string }[]
      /** The seq of the last event that says that a step failed for good; absent when none did. */
      readonly lastFailure?: number
      readonly children: readonly ChildRecord[]
    }
  }
  /**
   * Approvals that a verdict can be given on: nobody has answered, and patience for them is not over. Of all tasks, or of one and with
   * `children` of all below it; by task; `after` is the `cursor` of the page before.
   */
  approvals: {
    fields: {
      readonly taskId?: string
      readonly children?: boolean
      readonly limit: number
      readonly after?: number
    }
    answer: { readonly approvals: readonly PendingApproval[]; readonly cursor?: number }
  }
  /** The budget that a task draws on first, its own or one above it; undefined when it has none. */
  budget: { fields: { readonly taskId: string }; answer: BudgetRecord | undefined }
  /** Budgets that ask, by task; `after` is the `cursor` of the page before. */
  budgets: {
    fields: { readonly limit: number; readonly after?: number }
    answer: { readonly budgets: readonly BudgetRecord[]; readonly cursor?: number }
  }
  output: {
    fields: { readonly taskId: string; readonly after: number; readonly limit: number }
    answer: readonly OutputChunk[] | undefined
  }
  schedules: { fields: { readonly filter: ScheduleFilter }; answer: readonly ScheduleRecord[] }
  /** One, or those after a name, in the order of their names; 1 to 1000, 100 by default. */
  clients: {
    fields: { readonly name?: string; readonly after?: string; readonly limit?: number }
    answer: readonly ClientRecord[]
  }
  reputation: { fields: { readonly agentId: string }; answer: ReputationRecord | undefined }
  /** Those of an agent that are kept, newest first; with a seq below `before`. `limit` is 1 to 1000. */
  evaluations: {
    fields: { readonly agentId: string; readonly limit: number; readonly before?: number }
    answer: readonly EvaluationRecord[]
  }
  /** The agents whose averages are the nearest, nearest first; undefined when it was never evaluated. `limit` is 1 to 1000. */
  similar: {
    fields: { readonly agentId: string; readonly weights: Weights; readonly limit: number }
    answer: readonly SimilarAgent[] | undefined
  }
  leases: { fields: { readonly taskId: string }; answer: readonly ExecutionLease[] }
  workers: { fields: Record<never, never>; answer: readonly WorkerStatus[] }
  /** Source: `docs/semantics.md 10.3`. */
  routes: { fields: Record<never, never>; answer: readonly RouteRecord[] }
  /** One by its name, or all. */
  swarms: { fields: { readonly name?: string }; answer: readonly SwarmRecord[] }
  stats: { fields: Record<never, never>; answer: StoreStats }
  explain: { fields: { readonly taskId: string }; answer: Explanation | undefined }
  /** Why tasks wait; in time by streams for those that are queued. */
  waits: { fields: Record<never, never>; answer: WaitHistogram }
}
export type ReadKind = keyof Reads
export type Read<K extends ReadKind = ReadKind> = { [P in K]: { readonly kind: P } & Reads[P]['fields'] }[K]

/** What every store is opened with. */
export interface StoreOptions {
  readonly config: ExecutionConfig
}
