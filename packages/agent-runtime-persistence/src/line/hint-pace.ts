/**
 * When a store looks because other processes may have committed: at once, unless the last looks of that kind found nothing for this process. Beside
 * busy processes it then looks no more often than it would without hints. Where a look takes long, because many look, it looks more seldom still. All
 * times are in ms on the monotonic clock. Source: `docs/decisions/0061-commits-of-others-are-heard.md`.
 */
export class HintPace {
  private readonly quietMs: number
  private begunAt = 0
  private wantedAt = Number.POSITIVE_INFINITY
  private heardAt = Number.POSITIVE_INFINITY
  private gapMs = leastGapMs
  private notBefore = 0
  private affordableAt = 0

  /**
   * `quietMs`: once nobody has committed for so long, it looks although the last looks found nothing, as soon as their cost allows it. A call that comes
   * in afterwards need not read what others wrote.
   */
  constructor(quietMs = Number.POSITIVE_INFINITY) {
    this.quietMs = quietMs
  }

  /** Somebody has committed. */
  hear(mono: number): void {
    this.heardAt = mono
    if (this.wantedAt === Number.POSITIVE_INFINITY) this.wantedAt = Math.max(mono, this.notBefore)
  }

  /** When it is to look; infinite while nothing was heard. */
  get at(): number {
    return Math.min(this.wantedAt, Math.max(this.heardAt + this.quietMs, this.affordableAt))
  }

  /** Whether it is to look now. What was heard until now counts as heard. */
  takes(mono: number): boolean {
    if (mono < this.at) return false
    this.begunAt = mono
    this.wantedAt = Number.POSITIVE_INFINITY
    this.heardAt = Number.POSITIVE_INFINITY
    return true
  }

  /** It looked. `found`: this process had something of it, such as a task to run or an event that it follows. */
  looked(mono: number, found: boolean): void {
    const costMs = Math.min(mostCostMs, (mono - this.begunAt) * costFactor)
    this.affordableAt = found ? mono : mono + costMs
    this.notBefore = found ? mono : mono + Math.max(this.gapMs, costMs)
    this.gapMs = found ? leastGapMs : Math.min(this.gapMs * 2, mostGapMs)
  }
}

const leastGapMs = 1
/** As long as the store rests without hints. */
const mostGapMs = 10
/** Looks that find nothing take an eleventh of the time at the most, until they come as seldom as this. */
const costFactor = 10
const mostCostMs = 100
