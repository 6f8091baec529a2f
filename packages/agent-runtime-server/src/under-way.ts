/**
 * Counts what is under way. A `Set` of it would cost more than the count: each of its tables points to the one that took its place, so that a dead one keeps
 * all that follow, with the requests that were in them, through each collection of the young.
 */
export class UnderWay {
  #count = 0
  readonly #over = Promise.withResolvers<void>()
  #isAwaited = false

  begin(): void {
    this.#count += 1
  }

  end(): void {
    this.#count -= 1
    if (this.#isAwaited && this.#count === 0) this.#over.resolve()
  }

  /** Resolves once nothing is under way. */
  over(): Promise<void> {
    this.#isAwaited = true
    if (this.#count === 0) this.#over.resolve()
    return this.#over.promise
  }
}
