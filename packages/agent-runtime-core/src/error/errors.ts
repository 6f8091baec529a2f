import type { ErrorCode, StoreErrorCode } from './codes.ts'
import { isReadable } from '../check/readable.ts'
import { firstLines, show, textOf } from '../check/show.ts'

/**
 * An error that the runtime throws, identified by its `code`. `details` is plain data about this case, the
 * message is for people and may change, and `cause` is the underlying error. Expected results (a rejected
 * submission, a lost race) are returned, not thrown.
 */
export class RuntimeError extends Error {
  static {
    this.prototype.name = 'RuntimeError'
  }

  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>

  /** Never throws, because the error that it describes would be lost: unreadable options are left out. */
  constructor(code: ErrorCode, message: string, options: ErrorDetails = {}) {
    const { details, ...rest }: ErrorDetails = isReadable(options) ? options : {}
    super(typeof message === 'string' ? message : textOf(message), rest)
    this.code = code
    this.details = Object.freeze(isReadable(details) ? { ...details } : {})
  }
}

/** The data of an error besides its message. */
export interface ErrorDetails {
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly cause?: unknown
}

/** One setting that was refused. */
export interface ConfigProblem {
  /** Where it stands: `quotaConfig.models["gpt-4"].perWindow`. */
  readonly path: string
  /** The values that would be accepted. */
  readonly allowed: string
  /** The given value; undefined if nothing was given, absent if `allowed` already contains it. */
  readonly given?: unknown
}

/** Thrown when a configuration is refused. `problems` has every bad field, not only the first; the message the first twenty. */
export class ConfigError extends RuntimeError {
  static {
    this.prototype.name = 'ConfigError'
  }

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(
      ({ path, allowed, ...it }) =>
        `${path}: ${allowed}${'given' in it ? `; ${it.given === undefined ? 'not given' : `given ${show(it.given)}`}` : ''}`,
    )
    super('invalid_config', `invalid configuration\n  ${firstLines(lines).join('\n  ')}`, {
      details: { problems },
    })
    // The message names them. Whoever prints the error would read each one twice.
    Object.defineProperty(this, 'details', { enumerable: false })
  }

  get problems(): readonly ConfigProblem[] {
    return this.details['problems'] as readonly ConfigProblem[]
  }
}

/** Thrown when a state machine refuses a move. Nothing has been written. Source: `docs/semantics.md 1.2`. */
export class InvalidTransition extends RuntimeError {
  static {
    this.prototype.name = 'InvalidTransition'
  }

  readonly from: string
  readonly to: string
  /** The states that `from` may move to; empty if it is final. */
  readonly expected: readonly string[]

  constructor(move: { readonly from: string; readonly to: string; readonly expected: readonly string[] }) {
    const { from, to, expected } = move
    const ways = expected.length === 0 ? 'it is final' : `expected ${expected.join(' or ')}`
    super('invalid_transition', `${from} cannot become ${to}: ${ways}`, { details: { from, to, expected } })
    this.from = from
    this.to = to
    this.expected = expected
  }
}

/** Thrown into a handler whose lease is gone: stop, write no more. Source: `docs/semantics.md 4.4, 4.5`. */
export class LeaseLost extends RuntimeError {
  static {
    this.prototype.name = 'LeaseLost'
  }

  readonly leaseId: string

  constructor(leaseId: string, options: { readonly taskId?: string; readonly cause?: unknown } = {}) {
    const { taskId, ...rest } = options
    const details = taskId === undefined ? { leaseId } : { leaseId, taskId }
    super('lease_lost', `lease ${leaseId} is lost`, { ...rest, details })
    this.leaseId = leaseId
  }
}

/**
 * The reason of the abort signal of a canceled task, and what its steps throw. Source: `docs/semantics.md 5`.
 */
export class TaskCanceled extends RuntimeError {
  static {
    this.prototype.name = 'TaskCanceled'
  }

  readonly taskId: string

  constructor(taskId: string, reason?: string) {
    const details = reason === undefined ? { taskId } : { taskId, reason }
    super('task_canceled', `task ${taskId} was canceled${reason === undefined ? '' : `: ${reason}`}`, {
      details,
    })
    this.taskId = taskId
  }
}

/** Thrown by the second use of a key in one pass, whether a step, a wait, an approval or a child uses it. Source: `docs/semantics.md 7.3`. */
export class DuplicateStepKey extends RuntimeError {
  static {
    this.prototype.name = 'DuplicateStepKey'
  }

  readonly key: string
  readonly firstPlace: string
  readonly secondPlace: string

  constructor(use: { readonly key: string; readonly firstPlace: string; readonly secondPlace: string }) {
    const { key, firstPlace, secondPlace } = use
    super(
      'duplicate_step_key',
      `the key '${key}' is used twice in one pass, at ${firstPlace} and at ${secondPlace}: each step, wait, approval and child needs a key of its own`,
      {
        details: { ...use },
      },
    )
    this.key = key
    this.firstPlace = firstPlace
    this.secondPlace = secondPlace
  }
}

/** Thrown for a value that cannot be stored and restored. Source: `docs/semantics.md 7.4`. */
export class StepNotSerializable extends RuntimeError {
  static {
    this.prototype.name = 'StepNotSerializable'
  }

  /** The owner of the value, as given to `encode`: `step 'list files'`. */
  readonly step: string
  /** Where in it: `$.a[3].b`, `$` being the value itself. */
  readonly path: string

  constructor(value: {
    readonly step: string
    readonly path: string
    readonly reason: string
    readonly cause?: unknown
  }) {
    const { step, path, reason, ...rest } = value
    super('step_not_serializable', `${step} cannot be stored: ${path} is ${reason}`, {
      ...rest,
      details: { step, path, reason },
    })
    this.step = step
    this.path = path
  }
}

/** Thrown for a value above a size limit. Not retried. Source: `docs/semantics.md 7.5`. */
export class PayloadTooLarge extends RuntimeError {
  static {
    this.prototype.name = 'PayloadTooLarge'
  }

  /** Bytes of UTF-8. */
  readonly limit: number
  /** Bytes of UTF-8; of a value so large that encoding was broken off, what had been reached by then. */
  readonly size: number

  constructor(value: { readonly what: string; readonly limit: number; readonly size: number }) {
    const { what, limit, size } = value
    super(
      'payload_too_large',
      `${what} is too large: ${size} bytes, ${limit} are allowed; keep large data elsewhere and store where it is, or raise maxPayloadBytes`,
      {
        details: { ...value },
      },
    )
    this.limit = limit
    this.size = size
  }
}

/** For handlers and steps to throw when trying again cannot help. Source: `docs/semantics.md 7.7`. */
export class NonRetryableError extends RuntimeError {
  static {
    this.prototype.name = 'NonRetryableError'
  }

  constructor(message: string, options: ErrorDetails = {}) {
    super('non_retryable', message, options)
  }
}

/** Thrown when the store, not the operation, is at fault. */
export class StoreError extends RuntimeError {
  static {
    this.prototype.name = 'StoreError'
  }

  declare readonly code: StoreErrorCode

  constructor(code: StoreErrorCode, message: string, options: ErrorDetails = {}) {
    super(code, message, options)
  }
}
