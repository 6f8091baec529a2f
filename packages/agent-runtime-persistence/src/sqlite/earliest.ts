/**
 * A time before which no row of a kind is due, as far as this connection knows: a row may be due later than it says, and none earlier. So a flush
 * need not look for rows that it would not find.
 */
export class Earliest {
  /** Undefined while nothing is known. */
  private at: number | undefined

  /** Another process has written. */
  forget(): void {
    this.at = undefined
  }

  /** The first row that there is, as of a commit; undefined where there is none. Returns it. */
  learn(first: number | undefined): number | undefined {
    this.at = first ?? Number.POSITIVE_INFINITY
    return first
  }

  /** A row is written that is due at `at`. */
  add(at: number): void {
    if (this.at !== undefined && at < this.at) this.at = at
  }

  /** Whether certainly none is due at `now`. */
  isAfter(now: number): boolean {
    return this.at !== undefined && this.at > now
  }
}
