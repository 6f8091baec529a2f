import {
  encode,
  type ExecutionConfig,
  type ExecutionStore,
  type LeaseNotice,
  type Settlement,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { LeaseOutcome } from '../api/leases.ts'
import { settlementOf } from './settlement-of.ts'

interface ByHandParts {
  readonly store: Pick<ExecutionStore, 'info' | 'write'>
  readonly config: ExecutionConfig
  readonly values: ValueCodec
}

/**
 * Tasks that a program took from the queue by their ids and works on itself. They run on a worker of their own, which lists no types and so is
 * given nothing. Source: `docs/semantics.md 4.12`.
 */
export class ByHand {
  readonly #parts: ByHandParts
  /** By task: its lease. */
  readonly #leases = new Map<string, string>()
  #registered: Promise<unknown> | undefined
  #idle: (() => void)[] = []
  #givenBack = 0

  constructor(parts: ByHandParts) {
    this.#parts = parts
  }

  async acquire(taskId: string): Promise<boolean> {
    const { store } = this.#parts
    const workerId = this.#workerId
    await (this.#registered ??= this.#register())
    const outcome = await store.write({ kind: 'claimTask', taskId, workerId })
    if (outcome.as === 'claimed') this.#leases.set(taskId, outcome.leaseId)
    return outcome.as === 'claimed'
  }

  async heartbeat(taskId: string, progress: unknown): Promise<boolean> {
    const leaseId = this.#leases.get(taskId)
    if (leaseId === undefined) return false
    const text = encode(progress, { what: 'progress', maxBytes: this.#parts.config.maxPayloadBytes })
    const fenced = await this.#parts.store.write({ kind: 'progress', leaseId, progress: text })
    if (fenced === 'stale') this.#ended(leaseId)
    return fenced === 'ok'
  }

  async release(taskId: string, outcome: LeaseOutcome | undefined): Promise<boolean> {
    const leaseId = this.#leases.get(taskId)
    // An outcome that cannot be stored releases nothing.
    const settlement: Settlement | undefined =
      outcome === undefined ? undefined : settlementOf(outcome, `the output of task ${taskId}`, this.#parts)
    if (leaseId === undefined) return false
    const fenced = await this.#parts.store.write(
      settlement === undefined
        ? { kind: 'release', leaseId, reason: 'drained' }
        : { kind: 'settle', leaseId, settlement },
    )
    this.#ended(leaseId)
    return fenced === 'ok'
  }

  /** A lease that was canceled or lost is held no more. */
  noticed(notices: readonly LeaseNotice[]): void {
    for (const { leaseId, verdict } of notices) if (verdict !== 'yield') this.#ended(leaseId)
  }

  /** How many tasks are held. */
  get size(): number {
    return this.#leases.size
  }

  /** How many tasks went back to the queue because their process stopped. */
  get givenBack(): number {
    return this.#givenBack
  }

  /** Resolves when no task is held; at once if there is none. */
  idle(): Promise<void> {
    return this.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  /** What is still held goes back to the queue. */
  async abandon(): Promise<void> {
    this.#givenBack = this.size
    this.#leases.clear()
    await this.leave()
  }

  /** Its worker leaves the registry, if there is one. Of a store that has failed others take the tasks over. */
  async leave(): Promise<void> {
    if (this.#registered === undefined) return
    this.#registered = undefined
    const { store } = this.#parts
    await store.write({ kind: 'removeWorkers', workerIds: [this.#workerId] }).catch(() => undefined)
  }

  get #workerId(): string {
    return `${this.#parts.store.info.processId}/by-hand`
  }

  async #register(): Promise<void> {
    const { store, config } = this.#parts
    const worker = { workerId: this.#workerId, capacity: config.maxInFlightPerWorker, types: [] }
    try {
      await store.write({ kind: 'registerWorkers', workers: [worker] })
    } catch (error) {
      // The next call tries it again.
      this.#registered = undefined
      throw error
    }
  }

  #ended(leaseId: string): void {
    for (const [taskId, held] of this.#leases) if (held === leaseId) this.#leases.delete(taskId)
    if (this.size > 0) return
    for (const wake of this.#idle.splice(0)) wake()
  }
}
