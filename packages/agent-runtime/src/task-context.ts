import type { Lane } from '@ku0/agent-runtime-core'

/**
 * What a handler gets to work with. Its methods write on behalf of the task's lease: once the lease is gone (canceled, lost,
 * timed out, given back) each of them throws the reason, and nothing more is stored. Call them as methods of `ctx`; they do
 * not work when taken out of it. Source: `docs/semantics.md 4.4, 5, 7`.
 */
export interface TaskContext {
  readonly taskId: string
  readonly type: string
  /** The n-th try, from 1. It rises when a lease expires and when an error is retried, on nothing else. */
  readonly attempt: number
  /** Rises by one with every claim of the task: tools refuse a token lower than one they have seen. */
  readonly fencingToken: number
  readonly lane: Lane
  readonly model: string | undefined
  readonly tools: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** The data of the last `ctx.checkpoint` of an earlier pass; undefined when there is none. */
  readonly restored: unknown
  /** Aborts when the handler has to stop; its `reason` says why. Hand it to whatever takes a signal. */
  readonly signal: AbortSignal
  /** Writes to the runtime's log, with the task's id and attempt. */
  readonly log: TaskLog

  /**
   * Runs `fn` once in the life of the task and stores what it returns before the promise resolves; in a later pass the stored
   * copy answers and `fn` does not run. The key names the step: 1 to 255 characters, used once per pass. Errors are not
   * stored. What is returned is always the decoded stored copy.
   *
   * A crash between the end of `fn` and its commit makes it run again, with the same `step.idempotencyKey`.
   *
   * Throws {@link DuplicateStepKey}, {@link StepNotSerializable}, {@link PayloadTooLarge}, whatever `fn` throws, and the
   * signal's reason. Source: `docs/semantics.md 7.1-7.5`.
   */
  step<T>(key: string, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>
  step<T>(key: string, options: StepOptions, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>

  /**
   * Calls `hook` when the attempt ends in any way but completion: canceled, timed out, failed, lease lost, yielded, shutdown.
   * Hooks run once each, in reverse order of registration, after the signal has aborted; each has `cleanupTimeoutMs`. Their
   * errors are logged. Returns a function that takes the hook back. Source: `docs/semantics.md 5.1`.
   */
  onCleanup(hook: CleanupHook): () => void

  /** Says that the handler is getting on. The lease is renewed without it. `progress` is kept with the lease for people to see. */
  heartbeat(report?: { readonly progress?: unknown }): Promise<void>

  /** Appends a value to the task's output stream; resolves when it is stored. Source: `docs/semantics.md 9`. */
  emit(chunk: unknown): Promise<void>

  /** Stores a snapshot that the next pass finds in `ctx.restored`. A cache: what must not be lost belongs into a step. */
  checkpoint(data: unknown): Promise<void>

  /**
   * Runs a command in its own process group and waits for it. The group dies with the task: on abort it gets TERM, and KILL
   * after `killGraceMs`; what the command left behind in its group when it exits is killed at once. A non-zero exit code
   * is an answer, not an error. Source: `docs/semantics.md 5.1`, `docs/reliability.md` T18.
   */
  exec(command: string, args?: readonly string[], options?: ExecOptions): Promise<ExecResult>

  /** What `step.idempotencyKey` is in the step of this key. Source: `docs/semantics.md 4.6`. */
  idempotencyKey(stepKey: string, input?: unknown): string
}

/** What a step's function gets. */
export interface StepHandle {
  /** Aborts when the handler has to stop, or the step's own `timeoutMs` is over. */
  readonly signal: AbortSignal
  /** The same for every run of this step, whatever the attempt: hand it to tools that can tell a repeated call by it. */
  readonly idempotencyKey: string
}

export interface StepOptions {
  /** What the step depends on. Its hash is stored with the result; another input later makes the step throw, not lie. */
  readonly input?: unknown
  /** The running time allowed; then the step's signal aborts and the step throws a `TimeoutError`, whether or not `fn` stops. */
  readonly timeoutMs?: number
}

/** Why a clean-up hook is called. */
export type CleanupReason = 'canceled' | 'timeout' | 'failed' | 'lost' | 'yielded' | 'shutdown'
export type CleanupHook = (reason: CleanupReason) => void | PromiseLike<void>

export interface TaskLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

export interface ExecOptions {
  readonly cwd?: string
  /** The whole environment of the command; `process.env` when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** What the command reads on its standard input, which is then closed. */
  readonly input?: string | Uint8Array
  /** The running time allowed; then the group is stopped and a `TimeoutError` is thrown. */
  readonly timeoutMs?: number
  /** From TERM to KILL; the configuration's `killGraceMs` when absent. */
  readonly killGraceMs?: number
  /** The most bytes that standard output and standard error may have, each; 1 MiB when absent. More is `limit_exceeded`. */
  readonly maxBufferBytes?: number
  /** `pipe` (default) collects both streams; `inherit` passes them to this process's own; `ignore` drops them. */
  readonly stdio?: 'pipe' | 'inherit' | 'ignore'
  /** Stops the command besides the task's own signal: a step's. */
  readonly signal?: AbortSignal
}

/** How a command ended. Streams that were not collected are empty. */
export interface ExecResult {
  readonly pid: number
  /** Its exit code; null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}
