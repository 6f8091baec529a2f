import { RuntimeError, StoreError } from '@ku0/agent-runtime-core'

/** Whether calls are taken, and why they no longer are. */
export class Lifetime {
  /** What ends with it. */
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

  /** Throws when no call is taken. */
  assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed
  }

  /** Throws when no submission is taken: what was handed to the store before the end is answered, what comes after it belongs to another process. */
  assertTaking(): void {
    if (this.#ending && !this.#failed) {
      const told = this.whose === 'client' ? 'was closed' : 'was told to stop'
      throw new RuntimeError('shutdown', `the ${this.whose} ${told}: it takes no more submissions`)
    }
    this.assertOpen()
  }

  /** From now on no submission is taken. */
  end(): void {
    this.#ending = true
  }

  /** From now on no call is taken; returns what calls throw. */
  close(): Error {
    const how = this.whose === 'client' ? 'closed' : 'stopped'
    this.#closed ??= new StoreError('store_closed', `the ${this.whose} was ${how}`)
    return this.#closed
  }

  /** The store has failed, and every call throws its error. False when no call was taken anyway. */
  fail(error: Error): boolean {
    if (this.#closed !== undefined) return false
    this.#failed = true
    this.#closed = error
    return true
  }
}
