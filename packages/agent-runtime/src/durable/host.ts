import type {
  Claim,
  Divergence,
  Environment,
  EventType,
  ExecutionConfig,
  ExecutionStore,
  OutcomeOf,
  Submission,
  ValueCodec,
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

/** What runs a pass through a handler: the attempt of a worker, or a replay. */
export interface Host {
  readonly claim: Claim
  readonly parts: HostParts
  readonly lease: Lease
  readonly usage: UsageTab
  /** The model that the task has now. */
  readonly model: string | undefined
  readonly limits: RateLimits
  /** Set in a replay, which has no effects: it is told how far the handler comes. */
  readonly replay: ReplayWatch | undefined
  readonly signal: AbortSignal
  /** Why the handler has to stop; undefined until it has to. */
  readonly stopped: { readonly error: Error } | undefined
  /** Why the handler may no longer act on behalf of its lease; undefined while it may. */
  readonly closedBy: Error | undefined
  /** True if the task goes on in a later pass. Promises that this pass awaits never settle. */
  readonly isSuspended: boolean
  /** True if another task asked for the slot; the pass yields at its next step boundary. */
  readonly yieldAsked: boolean
  /**
   * The host does not end before `dependant` was dropped. It stops the dependant when the handler has to
   * stop, or has ended.
   */
  keep(dependant: Dependant): void
  drop(dependant: Dependant): void
  addHook(hook: CleanupHook): () => void
  /** Ends the pass at a step boundary, because another task asked for the slot. */
  yield(): void
  /** Ends the pass at its waits: the store has ended the lease. */
  suspend(): void
  /** Ends the pass because code and history differ. */
  diverge(divergence: Divergence): void
  heartbeat(report: Heartbeat): Promise<void>
  /** Writes a line about the task to the runtime's own log. */
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void
  /** Writes a line of `ctx.log`. */
  logForHandler(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** The parts of the runtime that passes use. */
export interface HostParts {
  readonly store: Pick<ExecutionStore, 'read' | 'write' | 'info'>
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly environment: Environment
  readonly deadlines: { after(delayMs: number, run: () => void): Deadline }
  readonly warden: Warden
  /** The program's rule for errors that are refusals of a provider. */
  readonly rateLimited: RateLimitRule | undefined
  /** A submission, checked as far as this process knows its type. Throws `invalid_argument`. */
  readonly prepareChild: (
    item: SubmitItem,
    call: string,
    parentType: string,
  ) => Submission | Promise<Submission>
  /**
   * Publishes something that is not a row of the store to this process's listeners. Builds nothing if nobody
   * listens.
   */
  readonly announce: (
    type: EventType,
    taskId: string,
    seq: number,
    data: Readonly<Record<string, unknown>>,
  ) => void
  readonly log: LogLine
}

/**
 * A point in time at which a function is called, unless it is canceled first. Canceling twice has no effect.
 */
export interface Deadline {
  cancel(): void
}

/** Work on behalf of an attempt that must not outlive it: a command, open waits. */
export interface Dependant {
  /**
   * Stops it. If it does not stop at once, it returns a promise that resolves when clean-up hooks may run.
   */
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
  | 'openPipeline'
  | 'publish'
  | 'receive'

/** The store's answer to a write that it accepted. */
export type Taken<K extends HolderWrite> = Exclude<OutcomeOf<K>, 'stale' | { readonly fenced: 'stale' }>

/** Writes under the lease of one pass. */
export interface Lease {
  /**
   * A fenced write. Undefined if the lease has ended: nothing was written, and everything that acts under the
   * lease has been stopped by then.
   */
  write<K extends HolderWrite>(operation: Write<K>): Promise<Taken<K> | undefined>
  /**
   * Asks whether the lease is live, by an empty write under it, until there is an answer from after the last
   * sleep. Resolves when the answer is known, whichever it is.
   */
  confirm(): Promise<void>
  /**
   * Whether the lease may have expired unnoticed while the process slept. Source: `docs/reliability.md` C03.
   */
  readonly mayHaveSlept: boolean
  /**
   * How often the process slept: an answer from before the last sleep no longer shows whether the lease is
   * live.
   */
  readonly timesSlept: number
}
