import type {
  Claim,
  Divergence,
  Environment,
  EventType,
  ExecutionConfig,
  ExecutionStore,
  OutcomeOf,
  Submission,
  Write,
} from '@ku0/agent-runtime-core'
import type { Heartbeat } from '../api/profiles.ts'
import type { SubmitItem } from '../api/submissions.ts'
import type { CleanupHook } from '../api/task-context.ts'
import type { RateLimitRule } from '../api/rate-limit-rule.ts'
import type { LogLevel, LogLine } from '../api/logger.ts'
import type { ReplayWatch } from './pass/replay-watch.ts'
import type { RateLimits } from './rate-limits.ts'
import type { UsageTab } from './usage-tab.ts'
import type { Warden } from './exec/warden.ts'

/** Who runs a pass through a handler: the attempt of a worker, or a replay. */
export interface Host {
  readonly claim: Claim
  readonly parts: HostParts
  readonly lease: Lease
  readonly usage: UsageTab
  readonly limits: RateLimits
  /** Nothing is done on behalf of a replay: it is told where the handler comes to. */
  readonly replay: ReplayWatch | undefined
  readonly signal: AbortSignal
  /** Why the handler has to stop, from the moment that it has to. */
  readonly stopped: { readonly error: Error } | undefined
  /** Why the handler may no longer act on behalf of its lease; undefined while it may. */
  readonly closedBy: Error | undefined
  /** The task goes on in a later pass. What this one awaits never settles. */
  readonly isSuspended: boolean
  /** Another task asks for the slot; heeded at the next step boundary. */
  readonly yieldAsked: boolean
  /** The host is not gone before `dependant` was dropped, and stops it when the handler has to stop, or has ended. */
  keep(dependant: Dependant): void
  drop(dependant: Dependant): void
  addHook(hook: CleanupHook): () => void
  /** Ends the pass at a step boundary, because another task asked for the slot. */
  yield(): void
  /** Ends the pass at its waits: the store has ended the lease. */
  suspend(): void
  /** Ends the pass where code and history differ. */
  diverge(divergence: Divergence): void
  heartbeat(report: Heartbeat): Promise<void>
  /** A line of the runtime's own log about the task. */
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void
  /** A line of `ctx.log`. */
  logForHandler(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** What passes use of the runtime that they run in. */
export interface HostParts {
  readonly store: Pick<ExecutionStore, 'read' | 'write'>
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly deadlines: { after(delayMs: number, run: () => void): Deadline }
  readonly warden: Warden
  /** The program's own word on which errors are refusals of a provider. */
  readonly rateLimited: RateLimitRule | undefined
  /** A submission, checked as far as this process knows its type. Throws `invalid_argument`. */
  readonly prepareChild: (
    item: SubmitItem,
    call: string,
    parentType: string,
  ) => Submission | Promise<Submission>
  /** Tells this process's listeners of something that is no row of the store. Builds nothing when nobody listens. */
  readonly announce: (
    type: EventType,
    taskId: string,
    seq: number,
    data: Readonly<Record<string, unknown>>,
  ) => void
  readonly log: LogLine
}

/** A point in time at which something is called, unless it is cancelled before. Cancelling twice does nothing. */
export interface Deadline {
  cancel(): void
}

/** Something that goes on on behalf of an attempt and must not outlive it: a command, open waits. */
export interface Dependant {
  /** What does not stop at once says when clean-up hooks may take it for over. */
  stop(reason: Error): Promise<void> | void
}

/** The writes that name a lease and are fenced by it. */
export type HolderWrite =
  | 'recordStep'
  | 'failStep'
  | 'startStep'
  | 'checkpoint'
  | 'appendOutput'
  | 'progress'
  | 'settle'
  | 'suspend'
  | 'diverge'
  | 'spawn'
  | 'release'
  | 'report'
  | 'scar'

/** What the store answers to a write that it has taken. */
export type Taken<K extends HolderWrite> = Exclude<OutcomeOf<K>, 'stale' | { readonly fenced: 'stale' }>

/** Writes under the lease of one pass. */
export interface Lease {
  /** A fenced write. Undefined: the lease is over, nothing was written, and whatever acts under it has been stopped by now. */
  write<K extends HolderWrite>(operation: Write<K>): Promise<Taken<K> | undefined>
  /**
   * Asks whether the lease is live, by a write of nothing under it, until there is an answer from after the last sleep. Resolves when that
   * is known: to be lost, or not.
   */
  confirm(): Promise<void>
  /** Whether the lease may have run out while the process slept, unheard of. Source: `docs/reliability.md` C03. */
  readonly mayHaveSlept: boolean
  /** How often the process slept so: an answer from before the last time says nothing of the lease any more. */
  readonly timesSlept: number
}
