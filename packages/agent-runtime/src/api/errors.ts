import {
  describeDivergence,
  type Divergence,
  type ErrorCode,
  type ErrorRecord,
  type FailureKind,
  type RejectionReason,
  RuntimeError,
  toRuntimeError,
} from '@ku0/agent-runtime-core'

/**
 * Thrown by `runtime.result` for a task that failed. Its `cause` is the error that the handler threw, as it
 * was stored.
 */
export class TaskFailed extends RuntimeError {
  static {
    this.prototype.name = 'TaskFailed'
  }

  readonly taskId: string
  readonly kind: FailureKind

  constructor(taskId: string, kind: FailureKind, error: ErrorRecord, more = '') {
    const cause = toRuntimeError(error)
    super(cause.code, `task ${taskId} failed (${kind}): ${error.message}${more}`, {
      cause,
      details: { ...error.details, taskId, kind },
    })
    this.taskId = taskId
    this.kind = kind
  }
}

/**
 * Thrown by `runtime.result` for a task that is parked because its handler took a different path than its
 * recorded history. The task has not ended: once it was resumed, its result can be asked for again. Source:
 * `docs/semantics.md 6.4`.
 */
export class TaskDiverged extends RuntimeError {
  static {
    this.prototype.name = 'TaskDiverged'
  }

  readonly taskId: string
  /** The first place where code and history differ. */
  readonly divergence: Divergence

  constructor(taskId: string, divergence: Divergence) {
    const unread = divergence.kind === 'value_unreadable'
    const cause = unread
      ? 'a process could not read it'
      : 'its handler took a different path than its recorded history'
    const remedy = unread
      ? 'Give the codec or the key to createRuntime and call runtime.resume: nothing is lost'
      : divergence.kind === 'history_edited'
        ? 'Restore its events from a backup and call runtime.resume, or cancel it'
        : 'Deploy code that makes the recorded calls and call runtime.resume, or go on as a new task with runtime.retry or runtime.fork, or cancel it'
    super(
      'task_diverged',
      `task ${taskId} is parked, because ${cause}: ${describeDivergence(divergence)}. ${remedy}; then ask for its result again`,
      { details: { taskId, divergence } },
    )
    this.taskId = taskId
    this.divergence = divergence
  }
}

/** Thrown for a submission that was refused: by `runtime.result`, and by `submit` with `onReject: 'throw'`. */
export class TaskRejected extends RuntimeError {
  static {
    this.prototype.name = 'TaskRejected'
  }

  readonly taskId: string
  readonly reason: RejectionReason
  /** With the present settings the task can never be accepted: do not submit it again. */
  readonly forGood: boolean

  constructor(
    taskId: string,
    reason: RejectionReason,
    message: string,
    forGood = false,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(codeOf(reason), `task ${taskId} was rejected (${reason}): ${message}`, {
      details: { ...details, taskId, reason },
    })
    this.taskId = taskId
    this.reason = reason
    this.forGood = forGood
  }
}

/**
 * Thrown if a reviewer rejects what `ctx.requestApproval` asked for, with `onReject: 'throw'`. Trying the
 * same again does not help.
 */
export class ApprovalRejected extends RuntimeError {
  static {
    this.prototype.name = 'ApprovalRejected'
  }

  readonly key: string
  readonly by: string | undefined
  readonly feedback: string | undefined

  constructor(key: string, { by, feedback }: { readonly by?: string; readonly feedback?: string }) {
    const said = feedback === undefined ? '' : `: ${feedback}`
    super('not_approved', `'${key}' was rejected${by === undefined ? '' : ` by ${by}`}${said}`, {
      details: { key, ...(by === undefined ? {} : { by }), ...(feedback === undefined ? {} : { feedback }) },
    })
    this.key = key
    this.by = by
    this.feedback = feedback
  }
}

/**
 * A step was started and its end was not recorded, so its effect may or may not have happened. Source:
 * `docs/semantics.md 7.6`.
 */
export class StepInDoubt extends RuntimeError {
  static {
    this.prototype.name = 'StepInDoubt'
  }

  readonly key: string
  readonly retryable: boolean

  constructor(key: string, why: string, { cause, retryable }: { cause?: unknown; retryable: boolean }) {
    super('in_doubt', `step '${key}' is in doubt: it was started, and its end was not recorded; ${why}`, {
      details: { key },
      ...(cause === undefined ? {} : { cause }),
    })
    this.key = key
    this.retryable = retryable
  }
}

/** A time limit was exceeded: a task's, a step's, a command's or a caller's own. */
export class TimeoutError extends RuntimeError {
  static {
    this.prototype.name = 'TimeoutError'
  }

  readonly timeoutMs: number

  constructor(what: string, timeoutMs: number) {
    super('timeout', `${what} took longer than its time limit of ${timeoutMs} ms`, { details: { timeoutMs } })
    this.timeoutMs = timeoutMs
  }
}

function codeOf(reason: RejectionReason): ErrorCode {
  switch (reason) {
    case 'unknown_task_type':
    case 'invalid_payload':
    case 'budget_exceeded':
    case 'circuit_open':
      return reason
    case 'queue_full':
    case 'backpressure':
    case 'swarm_full':
    case 'swarm_overloaded':
    case 'quota_exceeded':
      return 'limit_exceeded'
  }
}
