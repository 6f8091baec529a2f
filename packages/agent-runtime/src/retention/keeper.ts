import {
  type Clock,
  describeError,
  type ExecutionConfig,
  type ExecutionStore,
  type Timer,
  type Timers,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import { foldPass } from './fold-pass.ts'
import { prunePass } from './prune-pass.ts'

/**
 * Deletes tasks that retention no longer keeps, and folds old entries of ledgers, every `retention.everyMs`. Every process with workers has one, and all are equal: what one has
 * deleted is not there for the next. Does nothing where there is no retention. Source: `docs/semantics.md 6.6`.
 */
export class RetentionKeeper {
  readonly #deps: {
    readonly store: ExecutionStore
    readonly config: ExecutionConfig
    readonly clock: Clock
    readonly timers: Timers
    readonly log: LogLine
  }
  #timer: Timer | undefined
  #open = false

  constructor(deps: {
    readonly store: ExecutionStore
    readonly config: ExecutionConfig
    readonly clock: Clock
    readonly timers: Timers
    readonly log: LogLine
  }) {
    this.#deps = deps
  }

  start(): void {
    this.#open = true
    this.#rest()
  }

  close(): void {
    this.#open = false
    this.#timer?.cancel()
  }

  #rest(): void {
    const { config, timers } = this.#deps
    if (!this.#open || config.retention === undefined) return
    this.#timer = timers.after(config.retention.everyMs, () => void this.#pass())
  }

  async #pass(): Promise<void> {
    const { log } = this.#deps
    try {
      const between = () => {
        if (!this.#open) throw CLOSED
      }
      const pruned = await prunePass(this.#deps, false, between)
      if (pruned.completed + pruned.failed + pruned.canceled > 0)
        log('debug', 'retention deleted tasks', { ...pruned })
      const folded = await foldPass(this.#deps, false, between)
      if (folded > 0) log('debug', 'retention folded entries of ledgers', { folded })
    } catch (error) {
      if (this.#open) log('warn', 'retention could not delete tasks', { error: describeError(error) })
    }
    this.#rest()
  }
}

const CLOSED = new Error('the worker is stopping')
