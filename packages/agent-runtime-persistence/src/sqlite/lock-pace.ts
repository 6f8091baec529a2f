import type { LockWait } from '../engine/database.ts'

/**
 * When a process tries again for a lock that another one holds. SQLite keeps no queue, so those that wait make one by their pace: who has waited for as
 * long as it usually takes tries often, and who has just come tries seldom. So a crowd gets the lock about in the order in which it came. A try
 * costs processor time that the holder of the lock needs, so the pace is a part of the usual wait: a crowd tries some hundred times for each commit,
 * however large it is and however long the lock is held. All times are in ms. Source: `docs/decisions/0074-a-queue-by-pace.md`.
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
    // A crowd is learned of sooner than its end: until it is known, the tries of all hold up the holder.
    this.usualMs = Math.min(mostUsualMs, usualMs + (waitedMs - usualMs) / (waitedMs > usualMs ? 2 : 4))
    this.waitedMs = 0
  }

  /** How long it is left to others after a commit: a process that has just had it is the last in the queue. */
  get restMs(): number {
    return fairnessMs + Math.max(0, this.spreadMs(0) - calmMs) / 2
  }

  private spreadMs(waitedMs: number): number {
    // Who waits for longer than it has known takes that for the usual time: a crowd that has just come does not try all the time either.
    const usualMs = Math.max(this.usualMs, waitedMs * 0.8)
    const late = usualMs === 0 ? 0 : Math.max(0, waitedMs / usualMs - 0.6)
    return Math.max(quickMs, Math.min(slowMs, usualMs / 8) * Math.exp(-6 * late))
  }
}

const leastMs = 0.1
/** The pace of two processes that share a file. */
const quickMs = 0.4
/** The slowest: so long the lock may lie idle at the most where only one process waits. */
const slowMs = 200
/** A process that stood still has learned nothing of the others. */
const mostUsualMs = 10_000
const fairnessMs = 0.3
/** Below it there is no crowd. */
const calmMs = 2
