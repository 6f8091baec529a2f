import type { Clock, ExecutionStore, StoreReach } from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import type { Announce } from './feed.ts'

interface ReachParts {
  readonly store: Pick<ExecutionStore, 'info'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: LogLine
  readonly announce: Announce
}

/** Says, in the log and to listeners, that the store's server cannot be reached, and that it can again. Source: `docs/reliability.md` D14. */
export class ReachWatch {
  readonly #parts: ReachParts
  #awaySince: number | undefined

  constructor(parts: ReachParts) {
    this.#parts = parts
  }

  reached({ isReached, reason }: StoreReach): void {
    const { store, clock, log, announce } = this.#parts
    const { location } = store.info
    const since = this.#awaySince
    if (!isReached) {
      this.#awaySince ??= clock.monotonic()
      log('warn', AWAY, { location, reason })
      announce('store.disconnected', '', 0, { location, reason })
    } else if (since !== undefined) {
      this.#awaySince = undefined
      const awayMs = Math.round(clock.monotonic() - since)
      log('info', 'the store is reached again', { location, awayMs })
      announce('store.reconnected', '', 0, { location, awayMs })
    }
  }
}

const AWAY =
  'the store cannot be reached: calls wait, and are refused after ten seconds; the process keeps trying'
