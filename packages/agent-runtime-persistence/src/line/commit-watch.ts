// oxlint-disable-next-line house/database-files -- it watches the anchor, which is no database, and opens nothing
import { type FSWatcher, utimesSync, watch } from 'node:fs'
import type { Clock } from '@ku0/agent-runtime-core'
import { anchorPath } from '../anchor-path.ts'

interface CommitWatchParts {
  /** The database. */
  readonly path: string
  readonly clock: Clock
  /** Some process has committed, perhaps this one. */
  readonly onCommit: () => void
}

/**
 * Hears of commits of other processes on this machine: each writes the anchor beside the database after its commit. This is a hint and nothing more:
 * where the file system reports nothing (a network drive, no watches left), the store finds their commits when it looks. Source:
 * `docs/decisions/0061-commits-of-others-are-heard.md`.
 */
export class CommitWatch {
  private readonly it: CommitWatchParts
  private watcher: FSWatcher | undefined
  /** Before this nothing is tried again: it did not work. */
  private notBefore = 0

  constructor(it: CommitWatchParts) {
    this.it = it
  }

  /** Whether other processes have the store open, as of now: without them nothing is watched. */
  tell(hasOthers: boolean): void {
    if (!hasOthers) this.close()
    else if (this.watcher === undefined && this.it.clock.monotonic() >= this.notBefore) this.begin()
  }

  /** Whether something is watched. That it reports anything is only known once it has. */
  get isOn(): boolean {
    return this.watcher !== undefined
  }

  close(): void {
    this.watcher?.close()
    this.watcher = undefined
  }

  private begin(): void {
    try {
      const path = anchorPath(this.it.path)
      const watcher = watch(path, { persistent: false })
      watcher.on('change', (event) => {
        // Somebody has removed or replaced the file: what is watched is not what is written from now on.
        if (event === 'rename') this.close()
        this.it.onCommit()
      })
      watcher.on('error', () => this.giveUp())
      this.watcher = watcher
      // All processes are on one machine, since they share memory: where this is reported, so is what the others write.
      const now = this.it.clock.now() / 1_000
      utimesSync(path, now, now)
    } catch {
      this.giveUp()
    }
  }

  private giveUp(): void {
    this.close()
    this.notBefore = this.it.clock.monotonic() + againMs
  }
}

/** So long after a failure it is tried again. */
const againMs = 1_000
