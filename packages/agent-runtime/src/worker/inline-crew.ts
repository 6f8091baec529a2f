import type { Clock } from '@ku0/agent-runtime-core'
import type { WorkerSpec } from '../api/worker.ts'
import type { Crew, CrewMember, Tally } from '../pool/crew.ts'
import type { WorkerRegistry } from './registry.ts'
import type { Scheduler } from './scheduler.ts'

/** The workers of this process as a pool sees them: all of them run in this event loop. */
export class InlineCrew implements Crew {
  readonly #registry: WorkerRegistry
  readonly #scheduler: Scheduler
  readonly #clock: Clock
  /** Makes the worker of this number. */
  readonly #specOf: (number: number) => WorkerSpec
  #made: number

  constructor(deps: {
    readonly registry: WorkerRegistry
    readonly scheduler: Scheduler
    readonly clock: Clock
    readonly specOf: (number: number) => WorkerSpec
    /** The number of workers that exist from the start. */
    readonly first: number
  }) {
    this.#registry = deps.registry
    this.#scheduler = deps.scheduler
    this.#clock = deps.clock
    this.#specOf = deps.specOf
    this.#made = deps.first
  }

  get totals(): Tally {
    return this.#scheduler.totals
  }

  members(): readonly CrewMember[] {
    const now = this.#clock.monotonic()
    return this.#registry.members.map(({ workerId, since, draining, drainAsked }) => {
      const { inFlight, currentTask, idleSince = since, ...tally } = this.#scheduler.workOf(workerId)
      const idleMs = inFlight > 0 ? 0 : now - idleSince
      return { workerId, draining, drainAsked, inFlight, currentTask, idleMs, tally }
    })
  }

  async start(): Promise<string> {
    this.#made += 1
    const spec = this.#specOf(this.#made)
    await this.#registry.register([spec])
    return spec.workerId
  }

  async drain(workerId: string): Promise<void> {
    await this.#registry.drainOne(workerId)
    await this.#scheduler.idleOf(workerId)
    await this.#registry.removeOne(workerId)
  }
}
