/**
 * Whether other processes commit, as far as this one has seen. While they do, a transaction locks `head` before anything is decided: what is
 * decided in vain costs more than the trip. Source: `docs/decisions/0026-commits-of-several-processes.md`.
 */
export class Competition {
  private seenAt = Number.NEGATIVE_INFINITY
  /** A flush may take longer than any time after which others count as quiet. So the last transaction that locked `head` has a say, too. */
  private isThere = false

  /** Another process has committed. `mono`: now, on the monotonic clock. */
  saw(mono: number): void {
    this.seenAt = mono
    this.isThere = true
  }

  /** A transaction that locked `head` has found it as the last commit of this process left it. */
  sawNone(): void {
    this.isThere = false
  }

  isOver(mono: number): boolean {
    return !this.isThere && mono - this.seenAt > calmMs
  }
}

const calmMs = 100
