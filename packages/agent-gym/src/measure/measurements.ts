import type {
  EventType,
  ExecutionConfig,
  ExecutionLease,
  Lane,
  RouteRecord,
  SwarmRecord,
  TaskState,
} from '@ku0/agent-runtime-core'
import type { CancelNote } from '../host/protocol.ts'
import type { AccountEnd, AgentEnd, PipelineEnd } from '../host/collect.ts'
import type { CalledNote, SubmittedNote } from '../host/notes.ts'
import type { Leak } from '../host/resources.ts'
import type { LedgerEntry } from '../work/ledger.ts'
import type { ClientSpec } from '../scenario/scenario.ts'
import type { PlannedTask } from '../work/plan.ts'

/** Everything measured of a scenario: what was seen, no verdict yet. Plain data, so that a verdict can be tested on made-up data. */
export interface Measurements {
  /** One or more, each from scratch. */
  readonly runs: readonly Run[]
}

/** What was seen of one run. Times are epoch ms; those of the store are whole, those of handlers have fractions. */
export interface Run {
  /** Tasks a second that plain SQLite did beside this run, the mean of before and after; null where it was not timed. */
  readonly sqliteRate: number | null
  readonly startedAt: number
  readonly finishedAt: number
  /** Nothing was left to do within the scenario's time. */
  readonly finished: boolean
  /** `rows`: events, leases and passes were not looked at. */
  readonly evidence: 'full' | 'rows'
  readonly config: ExecutionConfig
  /** Those that the scenario names. */
  readonly clients: readonly ClientSpec[]
  readonly workload: readonly PlannedTask[]
  readonly lives: readonly ProcessLife[]
  readonly submissions: readonly (SubmittedNote & { readonly process: string })[]
  /** Calls of the runtime besides submitting. */
  readonly calls: readonly (CalledNote & { readonly process: string })[]
  /** How routes, swarms and the agents that were judged stood at the end. */
  readonly routes: readonly RouteRecord[]
  readonly swarms: readonly SwarmRecord[]
  readonly agents: readonly AgentEnd[]
  /** The credits of clients, and the logs of pipelines. */
  readonly accounts: readonly AccountEnd[]
  readonly pipelines: readonly PipelineEnd[]
  readonly passes: readonly Pass[]
  readonly tasks: readonly TaskFact[]
  readonly ledger: readonly LedgerEntry[]
  /** Lines of the ledger that cannot be read. */
  readonly ledgerFaults: number
  /** How many no-op tasks were entered, and how many more than once. */
  readonly visits: { readonly entered: number; readonly repeated: number }
  /** Per `n`, what has to come out of the task and what its result file holds. */
  readonly results: readonly ResultFact[]
  readonly cancels: readonly CancelFact[]
  readonly leaks: readonly Leak[]
  /** Writes refused because their lease was gone, as the processes that ended cleanly counted them. */
  readonly staleWrites: number
  /** Faults that were brought. */
  readonly faults: number
}

/** One life of a process, from its start to its end. */
export interface ProcessLife {
  readonly process: string
  /** From 1. */
  readonly life: number
  readonly pid: number
  /** Slots of all its workers. */
  readonly capacity: number
  readonly spawnedAt: number
  readonly openedAt: number | null
  readonly workersStartedAt: number | null
  /** When it was told to drain. */
  readonly terminatedAt: number | null
  readonly endedAt: number | null
  readonly exitCode: number | null
  readonly exitSignal: string | null
  /** Whether its clean end was waited for, and it was counted out. */
  readonly closed: boolean
}

/** One pass of a handler, as it noted it itself. */
export interface Pass {
  readonly process: string
  readonly life: number
  readonly taskId: string
  readonly n: number
  readonly attempt: number
  readonly token: number
  readonly enteredAt: number
  readonly abortedAt: number | null
  readonly leftAt: number | null
  readonly how: 'returned' | 'threw' | 'put aside' | null
}

/** A task as the store has it at the end. */
export interface TaskFact {
  readonly taskId: string
  /** The label it was submitted with; null when it has none. */
  readonly n: number | null
  /** Of a child the name that it was called by, of a lease that its caller holds the route or swarm. */
  readonly group: string | null
  /** The task that called it. */
  readonly parent: string | null
  readonly sequence: number
  readonly type: string
  readonly lane: Lane
  readonly state: TaskState
  readonly attempt: number
  readonly crashes: number
  readonly steps: number
  readonly model: string | null
  readonly client: string | null
  /** What its handler charged, or what it was estimated at where that charged nothing. */
  readonly cost: number
  /** What it was estimated at. */
  readonly estimate: number
  /** What its handler charged. */
  readonly tokens: number
  /** Of one that was ended for a budget: what it had done by then. */
  readonly partial: readonly unknown[]
  readonly submittedAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  /** Why it failed, was canceled or rejected. */
  readonly reason: string | null
  readonly output: unknown
  readonly events: readonly EventFact[]
  readonly leases: readonly ExecutionLease[]
  readonly orderHash: string | null
}

export interface EventFact {
  readonly seq: number
  readonly type: EventType
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}

interface ResultFact {
  readonly n: number
  readonly expected: unknown
  /** What the task wrote; undefined where it writes nothing. */
  readonly written: unknown
}

/** One cancellation, and when the tool's processes were gone. */
export interface CancelFact extends CancelNote {
  readonly n: number
  /** When the handler's signal was aborted; null when it never ran. */
  readonly signaledAt: number | null
  /** Processes of its tool at the time of the cancellation. */
  readonly toolProcesses: number
  /** When the last of them was gone; null when one was still there at the end, or there were none. */
  readonly goneAt: number | null
}
