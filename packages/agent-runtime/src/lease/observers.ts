import { describeError } from '@ku0/agent-runtime-core'
import type { LeaseObserver } from '../api/leases.ts'
import { outsideHandlers } from './inside-handler.ts'
import type { LogLine } from '../api/logger.ts'

type Told = { readonly [K in keyof LeaseObserver]-?: Parameters<NonNullable<LeaseObserver[K]>>[0] }

/** The observers of the leases of one runtime. */
export class LeaseObservers {
  readonly #observers = new Set<LeaseObserver>()
  readonly #log: LogLine

  constructor(log: LogLine) {
    this.#log = log
  }

  add(observer: LeaseObserver): Disposable {
    this.#observers.add(observer)
    return { [Symbol.dispose]: () => void this.#observers.delete(observer) }
  }

  tell<K extends keyof LeaseObserver>(what: K, event: Told[K]): void {
    for (const observer of this.#observers) {
      try {
        outsideHandlers(() =>
          (observer[what] as ((event: Told[K]) => void) | undefined)?.call(observer, event),
        )
      } catch (error) {
        this.#log('error', 'a lease observer failed', { observer: what, error: describeError(error) })
      }
    }
  }
}
