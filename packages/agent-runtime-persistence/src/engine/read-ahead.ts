/** So many tasks of a stream are read at the least: what is read and not claimed before another process writes was read in vain. */
const fewest = 8

/**
 * How many tasks of a stream are read at once beside other processes, whose commits make what was read worthless: as many as this process claimed
 * between two of their commits. So a process that decides several flushes in its turn reads once for all of them, and none of them waits for the
 * commit before it to be written. Source: `docs/decisions/0026-commits-of-several-processes.md`, Tasks read ahead.
 */
export class ReadAhead {
  private readonly most: number
  private before = 0
  private since = 0

  constructor(most: number) {
    this.most = most
  }

  get size(): number {
    return Math.min(this.most, Math.max(fewest, this.before, this.since))
  }

  /** A flush claimed `count` tasks; `foreign`: it found a commit of another process. */
  claimed(count: number, foreign: boolean): void {
    if (foreign) {
      this.before = this.since
      this.since = 0
    }
    this.since += count
  }
}
