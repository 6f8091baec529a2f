/**
 * Labels of bounded variety: the first `limit` distinct values are themselves, all later ones are `overflow`. A hundred
 * thousand task types make a hundred and one time series. Source: `docs/reliability.md` F12.
 */
export class BoundedLabels {
  readonly #limit: number
  readonly #overflow: string
  readonly #known = new Set<string>()

  constructor(limit: number, overflow: string) {
    this.#limit = limit
    this.#overflow = overflow
  }

  /** The label of a value, which takes a place if one is free. */
  of(value: string): string {
    if (this.#known.has(value)) return value
    if (this.#known.size >= this.#limit || value.length > MAX_LABEL_LENGTH) return this.#overflow
    this.#known.add(value)
    return value
  }

  /** The label of a value that must not take a place: whoever submits nonsense would use them all up. */
  ofUntrusted(value: string): string {
    return this.#known.has(value) ? value : this.#overflow
  }
}

const MAX_LABEL_LENGTH = 200
