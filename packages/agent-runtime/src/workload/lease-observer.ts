import { describeError, type ResourceBudget, type WorkloadProfile } from '@ku0/agent-runtime-core'
import type { LogLine } from '../execution/parts.ts'

/**
 * Hears of the leases of this process that have a profile: those of tasks, and those that callers hold. What it throws is logged and
 * changes nothing. Source: rfc-0010-workload-profiles, Lease Events; `docs/semantics.md 10.7`.
 */
export interface LeaseObserver {
  onLeaseAcquired?(event: {
    readonly routeId: string
    readonly leaseId: string
    readonly profile: WorkloadProfile
    readonly budget: ResourceBudget
  }): void
  onHeartbeat?(event: {
    readonly routeId: string
    readonly leaseId: string
    /** 0 to 1, where it was reported as such. */
    readonly progress: number | undefined
    readonly memoryUsed: number | undefined
  }): void
  onLeaseReleased?(event: {
    readonly routeId: string
    readonly leaseId: string
    /** Ms from its start. */
    readonly duration: number
    readonly outcome: LeaseEnding
  }): void
  /** `timeout`: its time is over; `budget_exceeded`: a hard limit was broken. */
  onLeaseExpired?(event: {
    readonly routeId: string
    readonly leaseId: string
    readonly reason: 'timeout' | 'budget_exceeded'
  }): void
}

/** How a lease ended that did not expire; `ended`: the task goes on later, or was taken away. */
export type LeaseEnding = 'completed' | 'failed' | 'canceled' | 'ended'

type Told = { readonly [K in keyof LeaseObserver]-?: Parameters<NonNullable<LeaseObserver[K]>>[0] }

/** Those who observe the leases of one runtime. */
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
        ;(observer[what] as ((event: Told[K]) => void) | undefined)?.call(observer, event)
      } catch (error) {
        this.#log('error', 'a lease observer failed', { observer: what, error: describeError(error) })
      }
    }
  }
}
