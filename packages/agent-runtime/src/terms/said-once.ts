/** What a process has said already: a warning that every submission or signal would repeat is said once, and of a thousand things at most. */
export class SaidOnce {
  readonly #said = new Set<string>()

  /** True for what was not said before. */
  isNew(...what: readonly string[]): boolean {
    const key = JSON.stringify(what)
    if (this.#said.has(key) || this.#said.size >= MOST) return false
    this.#said.add(key)
    return true
  }
}

const MOST = 1_000
