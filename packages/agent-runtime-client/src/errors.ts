import type { Divergence, ErrorRecord, FailureKind, RejectionReason } from '@ku0/agent-runtime-core'

/** The server's answer instead of a result: RFC 9457. */
export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** A code of the library, such as `not_found`, or of the server, such as `forbidden`. */
  readonly code: string
  readonly remedy?: string
  /** A name of the request; the log of the server has its own faults under it. */
  readonly instance?: string
  readonly fields?: readonly { readonly field: string; readonly allowed: string }[]
  readonly [more: string]: unknown
}

/** Thrown when the server refuses a call, or fails. `code` says why; `problem` is the whole answer. */
export class ApiError extends Error {
  static {
    this.prototype.name = 'ApiError'
  }

  readonly code: string
  readonly status: number
  readonly problem: ProblemBody
  /** When the server said to come back, ms from then. */
  readonly retryAfterMs: number | undefined

  constructor(problem: ProblemBody, retryAfterMs?: number) {
    super(problem.detail)
    this.code = problem.code
    this.status = problem.status
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** Thrown when no answer of a server comes: it does not run, or the network does not reach it. `cause` is what `fetch` threw. */
export class ServerUnreachable extends Error {
  static {
    this.prototype.name = 'ServerUnreachable'
  }

  readonly code = 'server_unreachable'
  readonly url: string

  constructor(url: string, cause: unknown) {
    super(`no server answers at ${url}: ${reasonIn(cause)}; agent-runtime serve starts one`, { cause })
    this.url = url
  }
}

/** `fetch` has the reason in the cause of its error. */
function reasonIn(error: unknown): string {
  const { cause, message } = error as { readonly cause?: unknown; readonly message?: unknown }
  const { message: inner, code } = (cause ?? {}) as { readonly message?: unknown; readonly code?: unknown }
  return [inner, code, message].find((text) => typeof text === 'string' && text !== '') as string
}

/** Thrown by `result` for a task that failed. */
export class TaskFailed extends Error {
  static {
    this.prototype.name = 'TaskFailed'
  }

  readonly taskId: string
  readonly kind: FailureKind
  readonly error: ErrorRecord

  constructor(taskId: string, kind: FailureKind, error: ErrorRecord) {
    super(`task ${taskId} failed (${kind}): ${error.message}`)
    this.taskId = taskId
    this.kind = kind
    this.error = error
  }
}

/** Thrown by `result` for a task that was canceled. */
export class TaskCanceled extends Error {
  static {
    this.prototype.name = 'TaskCanceled'
  }

  readonly taskId: string
  readonly reason: string | undefined

  constructor(taskId: string, reason?: string) {
    super(`task ${taskId} was canceled${reason === undefined ? '' : `: ${reason}`}`)
    this.taskId = taskId
    this.reason = reason
  }
}

/** Thrown by `result` for a submission that was refused. */
export class TaskRejected extends Error {
  static {
    this.prototype.name = 'TaskRejected'
  }

  readonly taskId: string
  readonly reason: RejectionReason

  constructor(taskId: string, reason: RejectionReason, message: string) {
    super(`task ${taskId} was rejected (${reason}): ${message}`)
    this.taskId = taskId
    this.reason = reason
  }
}

/** Thrown by `result` for a task that is parked because its code took another path than its history: resume it, then ask again. */
export class TaskDiverged extends Error {
  static {
    this.prototype.name = 'TaskDiverged'
  }

  readonly taskId: string
  readonly divergence: Divergence

  constructor(taskId: string, divergence: Divergence) {
    super(`task ${taskId} is parked, because its handler took a different path than its recorded history`)
    this.taskId = taskId
    this.divergence = divergence
  }
}

/** Thrown by `result` after `timeoutMs`; the task goes on. */
export class TimeoutError extends Error {
  static {
    this.prototype.name = 'TimeoutError'
  }

  readonly timeoutMs: number

  constructor(taskId: string, timeoutMs: number) {
    super(`task ${taskId} has not ended within ${timeoutMs} ms`)
    this.timeoutMs = timeoutMs
  }
}
