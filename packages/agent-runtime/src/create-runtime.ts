import type {
  Environment,
  ExecutionConfig,
  ExecutionConfigInput,
  ExecutionStore,
} from '@ku0/agent-runtime-core'
import { openStore, parseStoreUrl } from '@ku0/agent-runtime-persistence'
import type { TelemetryOptions } from '@ku0/agent-runtime-telemetry'
import type { EvaluationSettings } from './evaluations.ts'
import type { Runtime } from './runtime.ts'
import { readOptions } from './runtime-options.ts'
import type { TaskDefinition } from './task-definition.ts'

export { parseStoreUrl }

/** What {@link createRuntime} takes. */
export interface RuntimeOptions {
  /**
   * `sqlite:runtime.db`, `sqlite::memory:`, or a store that was opened elsewhere: it is one runtime's at a time (a second
   * is refused until that one has stopped), and stays open when that one stops.
   */
  readonly store: string | ExecutionStore
  readonly tasks: readonly TaskDefinition[]
  /** Track AA's settings and the rest; each has a default. */
  readonly config?: ExecutionConfigInput
  /**
   * How many workers, `MAX_WORKERS` at most, or which; one with `maxInFlightPerWorker` slots by default. 0: this process
   * only submits.
   */
  readonly workers?: number | WorkerOptions
  /** `full` (default): an acknowledged write survives a power loss. `normal`: a crash of the process only. */
  readonly durability?: 'full' | 'normal'
  /**
   * Open the store although commits are missing that were acknowledged, and go on with what is there; false by default: then such a store is
   * refused with `store_data_loss`. Source: `docs/operating.md`, Lost commits.
   */
  readonly acceptLoss?: boolean
  /** Whether the store has a thread of its own; true by default, and never with an `environment`. */
  readonly thread?: boolean
  /** Whether SIGTERM and SIGINT stop the runtime and end the process; false by default. See {@link exitCodes}. */
  readonly signals?: boolean
  /** The weights of domains of your own, and what counts as drift. Source: `docs/evaluation.md`. */
  readonly evaluation?: EvaluationSettings
  readonly telemetry?: false | TelemetryOptions
  /** Any pino logger; by default lines go to standard error. */
  readonly logger?: RuntimeLogger | false
  /** False: the workers wait for {@link Runtime.start}. */
  readonly start?: boolean
  /** Time, chance and ids from outside, for tests; the store then runs in this thread. */
  readonly environment?: Environment
  /** Called once when the store has failed and the runtime has stopped: the process should end and start again. */
  readonly onFailure?: (error: Error) => void
}

export interface WorkerOptions {
  /** `MAX_WORKERS` at most; as many as there are `ids`, or 1, by default. */
  readonly count?: number
  /** Tasks that each runs at once; at most `maxInFlightPerWorker`. */
  readonly capacity?: number
  /** The task types that they run; all that are defined by default. */
  readonly types?: readonly string[]
  /** Their ids, unique in the store; made from the process's by default. */
  readonly ids?: readonly string[]
}

export interface RuntimeLogger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** A pino logger has it. Stacks of errors are logged only where `debug` is enabled. */
  isLevelEnabled?(level: 'debug'): boolean
}

/**
 * Puts a runtime together: opens the store, attaches telemetry, registers the workers. Throws a `ConfigError` naming every bad
 * option and setting, or an opened store that another runtime has, and `store_*` when the store cannot be opened; nothing is left open then.
 */
export async function createRuntime(given: RuntimeOptions): Promise<Runtime> {
  const checked = readOptions(given, parseStoreUrl)
  const { options, config } = checked
  const { store } = options
  if (typeof store !== 'string') return (await loaded()).composeRuntime(checked, store)
  // The store's thread loads its part of the program while this thread loads the rest.
  const opening = open(store, config, options)
  // Whoever awaits it says so; until then it may fail unheard.
  opening.catch(() => undefined)
  try {
    return await (await loaded()).composeRuntime(checked, opening)
  } catch (error) {
    await opening.then(
      (opened) => opened.close(),
      () => undefined,
    )
    throw error
  }
}

const loaded = () => import('./composed-runtime.ts')

function open(url: string, config: ExecutionConfig, options: RuntimeOptions): Promise<ExecutionStore> {
  const { durability, acceptLoss, thread, environment } = options
  return openStore(url, {
    config,
    checked: false,
    ...(durability === undefined ? {} : { durability }),
    ...(acceptLoss === undefined ? {} : { acceptLoss }),
    ...(environment === undefined ? {} : { environment }),
    ...(thread === undefined ? {} : { thread }),
  })
}
