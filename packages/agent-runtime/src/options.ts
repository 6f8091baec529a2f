import type { Environment, ExecutionConfigInput, ExecutionStore } from '@ku0/agent-runtime-core'
import type { TelemetryOptions } from '@ku0/agent-runtime-telemetry'
import type { EvaluationSettings } from './api/evaluations.ts'
import type { RateLimitRule } from './api/rate-limit-rule.ts'
import type { RuntimeLogger } from './api/logger.ts'
import type { TaskDefinition } from './api/task-definition.ts'
import type { TaskType } from './api/task-type.ts'

/** What {@link createClient}, {@link createWorker} and {@link createRuntime} all take. */
export interface StoreOptions {
  /**
   * `sqlite:runtime.db`, `sqlite::memory:`, or a store that was opened elsewhere: it is one client's, worker's or runtime's at a time (a
   * second is refused until that one has stopped), and stays open when that one stops.
   */
  readonly store: string | ExecutionStore
  /** Track AA's settings and the rest; each has a default. All programs on one store are given the same. */
  readonly config?: ExecutionConfigInput | undefined
  /** `full` (default): an acknowledged write survives a power loss. `normal`: a crash of the process only. */
  readonly durability?: 'full' | 'normal' | undefined
  /**
   * Open the store although commits are missing that were acknowledged, and go on with what is there; false by default: then such a store is
   * refused with `store_data_loss`. Source: `docs/operating.md`, Lost commits.
   */
  readonly acceptLoss?: boolean | undefined
  /** Whether the store has a thread of its own; true by default, and never with an `environment`. */
  readonly thread?: boolean | undefined
  /** Any pino logger; by default lines go to standard error. */
  readonly logger?: RuntimeLogger | false | undefined
  /** Time, chance and ids from outside, for tests; the store then runs in this thread. */
  readonly environment?: Environment | undefined
  /** Called once when the store has failed and nothing works any more: the process should end and start again. */
  readonly onFailure?: ((error: Error) => void) | undefined
}

/** What {@link createClient} takes. */
export interface ClientOptions extends StoreOptions {
  /**
   * The task types that are submitted, as contracts or definitions: their schemas check what is submitted by name, and other types are refused
   * with `unknown_task_type`. Without it every type is taken: what is submitted by a contract or definition is checked by its schema,
   * what is submitted by name is stored as it is, and the worker's schema decides.
   */
  readonly tasks?: readonly TaskType[] | undefined
  /** The weights of domains of your own, and what counts as drift. Source: `docs/evaluation.md`. */
  readonly evaluation?: EvaluationSettings | undefined
  /** Whether submissions carry the trace context of their caller; true by default. */
  readonly trace?: boolean | undefined
}

/** What {@link createWorker} takes. */
export interface WorkerProcessOptions extends StoreOptions {
  readonly tasks: readonly TaskDefinition[]
  /** How many workers, `MAX_WORKERS` at most, or which; one with `maxInFlightPerWorker` slots by default. */
  readonly workers?: number | WorkerOptions | undefined
  /** Whether SIGTERM and SIGINT stop the workers and end the process; false by default. See {@link exitCodes}. */
  readonly signals?: boolean | undefined
  readonly telemetry?: false | TelemetryOptions | undefined
  /**
   * Whether an error is a provider's refusal for now, and what it limits. Without it a 429 that says when to come back is one, and a 503
   * or 529 with `retry-after`. A task type and a step may have their own. Source: `docs/quotas.md`.
   */
  readonly rateLimited?: RateLimitRule | undefined
  /**
   * Strict mode: each pass is replayed at once, and one that takes another path then fails with `not_deterministic`. On by default, unless
   * `NODE_ENV` is `production` or `test` or an `environment` is given. Source: `docs/strict-mode.md`.
   */
  readonly strict?: boolean | undefined
  /** False: the workers wait for {@link Worker.start}. */
  readonly start?: boolean | undefined
}

/** What {@link createRuntime} takes. */
export interface RuntimeOptions extends WorkerProcessOptions {
  /** As for a worker; 0: this process runs no task. */
  readonly workers?: number | WorkerOptions | undefined
  /** The weights of domains of your own, and what counts as drift. Source: `docs/evaluation.md`. */
  readonly evaluation?: EvaluationSettings | undefined
}

export interface WorkerOptions {
  /** `MAX_WORKERS` at most; as many as there are `ids`, or 1, by default. */
  readonly count?: number | undefined
  /** Tasks that each runs at once; at most `maxInFlightPerWorker`. */
  readonly capacity?: number | undefined
  /** The task types that they run; all that are defined by default. */
  readonly types?: readonly string[] | undefined
  /** Their ids, unique in the store; made from the process's by default. */
  readonly ids?: readonly string[] | undefined
}
