import {
  type Clock,
  describeError,
  type ExecutionConfig,
  type ExecutionStore,
  type StoreSettings,
  type Timer,
  type Timers,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import { foldPass } from './fold-pass.ts'
import { prunePass } from './prune-pass.ts'

/**
 * Deletes tasks that retention no longer keeps, and folds old entries of ledgers, every `retention.everyMs`. Every process with workers has one, and so has a server; all are equal: what one has
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
  #isPassing = false
  #retention: ExecutionConfig['retention']

  constructor(deps: {
    readonly store: ExecutionStore
    readonly config: ExecutionConfig
    readonly clock: Clock
    readonly timers: Timers
    readonly log: LogLine
  }) {
    this.#deps = deps
    this.#retention = deps.config.retention
  }

  /** Other rules are in force from now on. */
  configured({ retention }: StoreSettings): void {
    this.#retention = retention
    this.#timer?.cancel()
    if (!this.#isPassing) this.#rest()
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
    const { timers } = this.#deps
    if (!this.#open || this.#retention === undefined) return
    this.#timer = timers.after(this.#retention.everyMs, () => void this.#pass())
  }

  async #pass(): Promise<void> {
    const { log } = this.#deps
    this.#isPassing = true
    try {
      const between = () => {
        if (!this.#open) throw CLOSED
      }
      const deps = { ...this.#deps, retention: this.#retention }
      const pruned = await prunePass(deps, false, between)
      if (pruned.completed + pruned.failed + pruned.canceled > 0)
        log('debug', 'retention deleted tasks', { ...pruned })
      const folded = await foldPass(deps, false, between)
      if (folded > 0) log('debug', 'retention folded entries of ledgers', { folded })
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      // The token of a line does not allow it: the server keeps its own store.
      if (code === 'line_refused') this.#open = false
      if (this.#open) log('warn', 'retention could not delete tasks', { error: describeError(error) })
    }
    this.#isPassing = false
    this.#rest()
  }
}

const CLOSED = new Error('the worker is stopping')
