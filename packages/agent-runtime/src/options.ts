import type { Environment, ExecutionConfigInput, ExecutionStore, Lane } from '@ku0/agent-runtime-core'
import type { TelemetryOptions } from '@ku0/agent-runtime-telemetry'
import type { Agreement } from './api/agreements.ts'
import type { Codec, PayloadCodec } from './api/codecs.ts'
import type { PoolSettings } from './api/pool.ts'
import type { EvaluationSettings } from './api/evaluations.ts'
import type { RateLimitRule } from './api/rate-limit-rule.ts'
import type { RuntimeLogger } from './api/logger.ts'
import type { TaskDefinition } from './api/task-definition.ts'
import type { StoreUrl } from './api/store-url.ts'
import type { TaskType } from './api/task-type.ts'
import type { WatchdogSettings } from './api/watchdog.ts'

/** Options of {@link createClient}, {@link createWorker} and {@link createRuntime}. */
export interface StoreOptions {
  /**
   * A {@link StoreUrl} such as `sqlite:runtime.db` or `sqlite::memory:`, a server in front of a store (`https://HOST`), or a store that you opened. An open store serves one client,
   * worker or runtime at a time: a second one is refused until the first has stopped. It stays open when that
   * one stops.
   */
  readonly store: StoreUrl | (string & NonNullable<unknown>) | ExecutionStore
  /** For a remote store, `https://HOST`: a token with the scope `work`, or what the process does. Source: `docs/remote-workers.md`. */
  readonly token?: string | undefined
  /**
   * Track AA's settings and more; each has a default. Give the same settings to all programs on one store: of those that hold for the whole store, only one
   * set is in force at a time. Source: `docs/semantics.md 8.12`.
   */
  readonly config?: ExecutionConfigInput | undefined
  /**
   * `stated` (default): the settings of the store that `config` names hold for all processes, as those that came last; without any, those of others are
   * taken. `followed`: those of others are taken, and its own hold where nobody states any; for programs that look or act for a moment. `own`: its own hold
   * for this process alone, and nobody else learns of them.
   */
  readonly settings?: 'stated' | 'followed' | 'own' | undefined
  /**
   * `full` (default): an acknowledged write survives a power loss. `normal`: it survives only a crash of the
   * process.
   */
  readonly durability?: 'full' | 'normal' | undefined
  /**
   * Open the store although acknowledged commits are missing, and continue with what is left. By default such
   * a store is refused with `store_data_loss`. Source: `docs/operating.md`, Lost commits.
   */
  readonly acceptLoss?: boolean | undefined
  /**
   * Open only a store that is there and needs no migration; false by default. Otherwise it rejects, with `not_found` or, for a store of an older version,
   * with `store_schema`, and nothing is written. For programs that look at a store that others run.
   */
  readonly existing?: boolean | undefined
  /** Whether the store runs in its own thread; true by default, and always false with an `environment`. */
  readonly thread?: boolean | undefined
  /** Any pino logger; by default lines go to standard error. */
  readonly logger?: RuntimeLogger | false | undefined
  /** Clock, timers, chance and ids from outside, for tests; the store then runs in this thread. */
  readonly environment?: Environment | undefined
  /** Store instances of your own classes, one codec for each class. Source: `docs/semantics.md 7.4`. */
  readonly codecs?: readonly Codec[] | undefined
  /** Encrypts what is stored of values. Source: `docs/security.md`. */
  readonly payloadCodec?: PayloadCodec | undefined
  /** Called once when the store has failed and nothing works any more: end the process and start it again. */
  readonly onFailure?: ((error: Error) => void) | undefined
}

/** Options of {@link createClient}. */
export interface ClientOptions extends StoreOptions {
  /**
   * The task types that are submitted, as contracts or definitions. Their schemas check submissions by name,
   * and other types are refused with `unknown_task_type`. Without it every type is accepted: a submission by
   * contract or definition is checked by its schema, and a submission by name is stored unchecked, and the
   * worker's schema decides.
   */
  readonly tasks?: readonly TaskType[] | undefined
  /**
   * Agreements that submissions can name: `submit(task, input, { agreement: 'gold' })`, also over HTTP and by schedules. No two have one name. Source:
   * `docs/credits.md`.
   */
  readonly agreements?: readonly Agreement[] | undefined
  /** The weights of domains of your own, and what counts as drift. Source: `docs/evaluation.md`. */
  readonly evaluation?: EvaluationSettings | undefined
  /** Whether submissions carry the trace context of their caller; true by default. */
  readonly trace?: boolean | undefined
}

/** Options of {@link createWorker}. */
export interface WorkerProcessOptions extends StoreOptions {
  readonly tasks: readonly TaskDefinition[]
  /**
   * The number of workers, at most `MAX_WORKERS`, or a description of them; by default one with
   * `maxInFlightPerWorker` slots.
   */
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

/** Options of {@link createRuntime}. */
export interface RuntimeOptions extends WorkerProcessOptions {
  /** As for a worker; with 0 this process runs no task. */
  readonly workers?: number | WorkerOptions | undefined
  /**
   * Agreements that submissions can name: `submit(task, input, { agreement: 'gold' })`, also over HTTP and by schedules. No two have one name. Source:
   * `docs/credits.md`.
   */
  readonly agreements?: readonly Agreement[] | undefined
  /** The weights of domains of your own, and what counts as drift. Source: `docs/evaluation.md`. */
  readonly evaluation?: EvaluationSettings | undefined
  /**
   * Looks for stuck tasks of the whole store while the runtime runs, and reports each by the event `task.stuck`, or a warning of the log if nobody
   * listens, and by a metric; off by default. One process on a store is enough. Source: `docs/semantics.md 8.6`.
   */
  readonly watchdog?: WatchdogSettings | undefined
}

/**
 * With `min`, `max` or another limit the workers are a pool that grows with the queue and shrinks when it is idle; then `count` and `ids` are
 * not given. Source: `docs/pool.md`.
 */
export interface WorkerOptions extends PoolSettings {
  /** At most `MAX_WORKERS`; by default the number of `ids`, or 1. */
  readonly count?: number | undefined
  /** Number of tasks that each runs at once; `maxInFlightPerWorker` by default, and at most if the program sets that. */
  readonly capacity?: number | undefined
  /**
   * The number of tasks that each takes before it takes no more: 1 is a worker for one task. A task that
   * comes back after a wait counts again. No limit by default.
   */
  readonly maxTasks?: number | undefined
  /** The task types that they run; by default all that are defined. */
  readonly types?: readonly string[] | undefined
  /** The lanes that they take tasks from; all by default. Source: `docs/semantics.md 3.2`. */
  readonly lanes?: readonly Lane[] | undefined
  /** Their ids, unique in the store; by default made from the id of the process. */
  readonly ids?: readonly string[] | undefined
}
