import type { LockWait } from '../engine/database.ts'

/**
 * When a process tries again for a lock that another one holds. SQLite keeps no queue, so those that wait make one by their pace: who has waited for as
 * long as it usually takes tries all the time, and who has just come tries seldom. So a crowd gets the lock about in the order in which it came, and
 * does not use up the processor by trying. All times are in ms. Source: `docs/decisions/0074-a-queue-by-pace.md`.
 */
export class LockPace {
  /** How long the lock was waited for, of late. */
  private usualMs = 0
  private waitedMs = 0

  /** It is held by another process: when to try again. */
  refused({ waitedMs, isUrgent, draw }: LockWait): number {
    this.waitedMs = waitedMs
    return leastMs + draw * (isUrgent ? quickMs : this.spreadMs(waitedMs))
  }

  /** It was given. */
  granted(): void {
    const { usualMs, waitedMs } = this
    this.usualMs = Math.min(mostUsualMs, usualMs + (waitedMs - usualMs) / 4)
    this.waitedMs = 0
  }

  /** How long it is left to others after a commit: a process that has just had it is the last in the queue. */
  get restMs(): number {
    return fairnessMs + Math.max(0, this.spreadMs(0) - calmMs) / 2
  }

  private spreadMs(waitedMs: number): number {
    return Math.min(slowMs, Math.max(quickMs, (this.usualMs - waitedMs) / 4))
  }
}

const leastMs = 0.1
/** The pace of two processes that share a file. */
const quickMs = 0.4
/** The slowest: so long the lock may lie idle at the most where only one process waits. */
const slowMs = 20
/** A process that stood still has learned nothing of the others. */
const mostUsualMs = 2_000
const fairnessMs = 0.3
/** Below it there is no crowd. */
const calmMs = 2
