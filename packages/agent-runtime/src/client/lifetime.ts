import { RuntimeError, StoreError } from '@ku0/agent-runtime-core'

/** Whether calls are taken, and why not. */
export class Lifetime {
  /** What the messages call the program that ends. */
  readonly whose: 'client' | 'worker' | 'runtime'
  #ending = false
  #failed = false
  #closed: Error | undefined

  constructor(whose: 'client' | 'worker' | 'runtime') {
    this.whose = whose
  }

  /** The store has failed. */
  get failed(): boolean {
    return this.#failed
  }

  /** Throws if no calls are taken any more. */
  assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed
  }

  /**
   * Throws if no submissions are taken any more. A submission that reached the store before the end is
   * answered; later ones belong to another process.
   */
  assertTaking(): void {
    if (this.#ending && !this.#failed) {
      const how = this.whose === 'client' ? 'was closed' : 'is stopping'
      throw new RuntimeError(
        'shutdown',
        `the ${this.whose} ${how}: it takes no more submissions; submit with another client or runtime`,
      )
    }
    this.assertOpen()
  }

  /** No submission is taken from now on. */
  end(): void {
    this.#ending = true
  }

  /** No call is taken from now on. Returns the error that calls throw. */
  close(): Error {
    const how = this.whose === 'client' ? 'closed' : 'stopped'
    this.#closed ??= new StoreError('store_closed', `the ${this.whose} was ${how}`)
    return this.#closed
  }

  /** The store has failed: every call throws this error. Returns false if no calls were taken already. */
  fail(error: Error): boolean {
    if (this.#closed !== undefined) return false
    this.#failed = true
    this.#closed = error
    return true
  }
}
