import type {
  ApprovalTerms,
  ChildPolicy,
  FailureKind,
  Lane,
  LeaseEndReason,
  QuotaConfig,
  QuotaNames,
  Overlap,
  LeaseState,
  TaskState,
  WaitKind,
  WaitOutcome,
  SharesConfig,
} from '@ku0/agent-runtime-core'
import { type QuotaLimit } from '@ku0/agent-runtime-core'
import { type ClientTier } from '@ku0/agent-runtime-core'

// What the reference model keeps, and what it is told and answers.

/** The settings that the model knows. */
export interface ModelConfig {
  readonly leaseTtlMs: number
  readonly heartbeatIntervalMs: number
  readonly queueDepthLimit: number
  readonly batchBackpressureThreshold: number
  readonly maxDelayed: number
  readonly maxCrashes: number
  readonly circuitOpenMs: number
  readonly maxEvaluationsKept: number
  readonly maxEvaluatedAgents: number
  readonly quotaConfig?: QuotaConfig | undefined
  readonly shares?: SharesConfig | undefined
  readonly agingMs?: number | undefined
}

export interface ModelTask {
  readonly sequence: number
  readonly lane: Lane
  readonly type: string
  readonly input: string
  readonly key: string | undefined
  /** The options that it was submitted with, as a fork of it is. */
  readonly submission: ModelSubmission
  /** Its caller runs it. */
  isHeld: boolean
  state: TaskState
  attempt: number
  crashes: number
  fence: number
  dueAt: number | undefined
  lease: ModelLease | undefined
  /** Its end, as its parent gets it. */
  told: string | undefined
  /** The report of its first wait, or its end, about its route. */
  said: 'success' | 'failure' | 'none' | undefined
  /** It waits because its handler took a different path than its recorded history, or because a budget asks. */
  parked: false | 'divergence' | 'budget'
  budget: ModelBudget | undefined
  readonly account: ModelAccount
  /** The shares that this account is of, where there are any. */
  readonly shares: SharesOfTask | undefined
  /** Steps that were recorded, those that a rejection made void among them. */
  recorded: number
  /** Steps by key: the result, and the seq of its event. Void ones are left out. */
  readonly memos: Map<string, { readonly value: string; readonly position: number; readonly seq: number }>
  readonly waits: ModelWait[]
  readonly signals: ModelSignal[]
  /** How its waits ended, as far as that answers later passes. */
  readonly ended: ModelEnd[]
  /** Starts of steps and their failures, of which doubts are made. */
  readonly intents: ModelIntent[]
  /** The seq of its last approval; 0 when there is none. */
  approvedSeq: number
  /** The rejections that sent it back, in order. */
  readonly rejections: {
    readonly key: string
    readonly since: number
    readonly seq: number
    readonly value: string
  }[]
  /** The waits that its failure tells the end of, by key. */
  failedOf: readonly string[]
  /** Types; the seq of the last is their number. */
  readonly events: string[]
  readonly parent: ModelTask | undefined
  readonly names: QuotaNames
  /** Its estimate, and what it has charged. */
  readonly tokens: number
  used: number
  readonly quotas: ModelQuota[]
  /** By key, those that were dropped not among them. */
  readonly children: Map<string, ModelChild>
}

/** Amounts of what the model's budgets limit. */
export interface ModelAmounts {
  steps?: number
  wallMs?: number
}

/** The budget of a task and all below it. */
export interface ModelBudget {
  readonly task: ModelTask
  readonly limits: ModelAmounts
  readonly soft: ModelAmounts
  /** Steps. */
  used: number
  startedAt: number | undefined
  asked: 'steps' | 'wallMs' | undefined
  asks: number
}

/** A child, by the key that its parent gave it. */
export interface ModelChild {
  readonly key: string
  readonly task: ModelTask
  readonly position: number
  readonly policy: ChildPolicy
  /** The seq of its event. */
  readonly seq: number
  isOpen: boolean
  /** The seq of the event that tells its parent of its end. */
  ended: number | undefined
}

export interface ModelEnd {
  readonly key: string
  readonly kind: WaitKind
  readonly position: number
  readonly outcome: WaitOutcome
  readonly value: string | undefined
  readonly seq: number
}

export interface ModelIntent extends ModelCall {
  readonly seq: number
  /** How it failed; undefined for a start. */
  readonly failed?: 'error' | 'timeout'
  /** For starts that a fork has from another task. */
  readonly told?: { readonly starts: number; readonly effect: ModelEffect }
}

/** Where an effect was begun: in which task, and after how many rejections. */
export interface ModelEffect {
  readonly task: ModelTask
  readonly generation: number
}

/** The charges of a pass; the cost in millionths. */
export interface ModelCharge {
  readonly tokens?: number
  readonly cost?: number
}

/** A step or a child as its task calls it. */
export interface ModelCall {
  readonly key: string
  readonly position: number
}

export interface ModelWait {
  readonly key: string
  readonly kind: WaitKind
  /** For all but timers. */
  readonly name?: string
  readonly position: number
  readonly dueAt: number | undefined
  /** For an approval. */
  readonly terms?: ApprovalTerms
}

/** The signals that have come and were not taken yet. */
export interface ModelSignal {
  readonly name: string
  readonly value: string
  readonly at: number
  readonly outcome: 'received' | 'approved' | 'rejected'
}

/** A wait that needs no waiting, since when, and by what. `fail`: its task fails of it. */
export interface OverWait {
  readonly wait: ModelWait
  readonly outcome: WaitOutcome | 'fail'
  readonly at: number
  readonly signal: ModelSignal | undefined
}

/** A wait as a pass asks for it. */
export interface ModelRequest extends Omit<ModelWait, 'dueAt' | 'terms'> {
  readonly delayMs: number | undefined
  readonly approval?: Omit<ApprovalTerms, 'request'>
}

/** The circuit of a route that is not closed: half open while it has a probe, and when it would take one. */
export interface ModelCircuit {
  readonly openedAt: number
  probe: ModelTask | undefined
  probeAt: number
}

export interface ModelLease {
  /** The store-wide number of its start. */
  readonly dispatch: number
  readonly task: ModelTask
  /** Undefined: its caller holds it. */
  readonly worker: ModelWorker | undefined
  /** For a caller's lease, the process that holds it, from 1. */
  readonly process?: number
  readonly attempt: number
  readonly fence: number
  expiresAt: number
  state: LeaseState
  endReason: LeaseEndReason | undefined
  /** The cause of its end, when its holder did. */
  settlement: string | undefined
  /** Whether its worker has said that it has the slot back. */
  slotBack: boolean
}

export interface ModelWorker {
  readonly workerId: string
  readonly capacity: number
  readonly types: readonly string[]
  /** How much it may have been given in all, and was. */
  credit: number
  given: number
  lastSeenAt: number
  draining: boolean
  registered: boolean
}

/** A schedule that is due every so many ms, and submits batch tasks of the type `a`. */
export interface ModelSchedule {
  readonly name: string
  everyMs: number
  overlap: Overlap
  input: string
  nextAt: number
  paused: boolean
  lastTask: ModelTask | undefined
  runs: number
  rejected: number
  skipped: number
}

/** Where an agent stands, and those of its evaluations that are kept, oldest first. */
export interface ModelAgent {
  readonly count: number
  readonly reputation: number
  /** The sum of all its composites. */
  readonly sum: number
  readonly kept: readonly {
    readonly seq: number
    readonly composite: number
    readonly key: string | undefined
  }[]
}

/** A submission by a client, a parent or a schedule. */
export interface ModelSubmission {
  readonly lane: Lane
  readonly type: string
  readonly input: string
  readonly key?: string
  readonly delayMs?: number
  readonly budget?: { readonly limits: Readonly<ModelAmounts>; readonly soft: Readonly<ModelAmounts> }
  readonly names?: QuotaNames
  readonly tokens?: number
  readonly client?: string
  readonly cost?: number
  /** Given by its submitter. */
  readonly taskId?: string
  /** For a fork: of which task, from where and with which edits. */
  readonly forkedAt?: string
}

export type ModelReceipt =
  | { readonly accepted: true; readonly sequence: number; readonly deduplicated: boolean }
  | { readonly accepted: false; readonly sequence: number; readonly reason: string }

/** How a run or a fork is submitted: what the front says, and the task that it means. */
export type SubmitNew = (it: ModelSubmission) => readonly [ModelReceipt, ModelTask | undefined]

export type ModelSpawn =
  | 'stale'
  | { readonly as: 'spawned'; readonly sequence: number }
  | { readonly as: 'refused'; readonly sequence: number; readonly reason: string }
  | { readonly as: 'over_budget' }

export type ModelSettlement =
  | { readonly as: 'completed'; readonly value: string }
  | {
      readonly as: 'failed'
      readonly value: string
      readonly kind: FailureKind
      readonly breach?: 'hard'
      readonly waits?: readonly string[]
    }
  | { readonly as: 'retry'; readonly value: string; readonly delayMs: number }
  | { readonly as: 'rate_limited'; readonly value: string; readonly delayMs: number }

/** A limit that a task comes under, and what it has put on that account. */
export interface ModelQuota {
  readonly key: string
  readonly limit: QuotaLimit
  readonly windowMs: number
  readonly entries: { readonly at: number; readonly tasks: number; readonly tokens: number }[]
}

/** Times, credits and costs in millionths. */
export interface ModelClient {
  readonly name: string
  credits: number
  tier: ClientTier
  time: number
  /** Where it last began: no refund takes it below. */
  floor: number
  spent: number
  /** With a ledger: the estimates of its tasks that have started and are not over. */
  reserved: number
}

/** The part of a task in its client's account. Costs in millionths. */
interface ModelAccount {
  readonly client: string
  readonly cost: number
  used: number
  /** The time that its start added. */
  charge: number | undefined
  /** The time that it has its place by where places are fixed when tasks are queued. */
  place: number | undefined
  queuedAt: number
}

/** The shares that a task's cost is on, as far as the task moves them. */
interface SharesOfTask {
  arrive(task: ModelTask, queuedAt: number): void
  settle(task: ModelTask): void
}
