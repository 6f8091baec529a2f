import { assertOptions } from '@ku0/agent-runtime-core'
import type { StopOptions, StopReport } from '../api/stop.ts'
import { stopRules } from '../terms/arguments.ts'

/** One stop, however often it is requested. Every caller gets the same report. */
export class Stopping {
  readonly #hurry = Promise.withResolvers<void>()
  readonly #stopped = Promise.withResolvers<StopReport>()
  #isBegun = false

  get isBegun(): boolean {
    return this.#isBegun
  }

  /** Begins the stop. A later call shortens the waits: `hurry` resolves then. */
  ask(
    options: StopOptions,
    stop: (options: StopOptions, hurry: Promise<void>) => Promise<StopReport>,
  ): Promise<StopReport> {
    assertOptions('stop', options, stopRules)
    if (this.#isBegun) this.#hurry.resolve()
    else {
      this.#isBegun = true
      stop(options, this.#hurry.promise).then(this.#stopped.resolve, this.#stopped.reject)
    }
    return this.#stopped.promise
  }

  /** The report of the stop that has begun. */
  get report(): Promise<StopReport> {
    return this.#stopped.promise
  }
}
