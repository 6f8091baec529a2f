import type { WorkerRow } from '@ku0/agent-runtime-core/transition'
import type { Database } from './database.ts'

/**
 * The workers that this process has registered, as of its commits that stand, and those on its lines. Another process that took this one for dead has written that they are
 * registered no more, and nobody else would ever register them again.
 */
export class OwnWorkers {
  private readonly rows = new Map<string, WorkerRow>()
  private missing: readonly WorkerRow[] = []
  private readonly owner: Pick<Database, 'process' | 'remote'>

  /** `owner`: the row of this process, and that of all processes on lines. */
  constructor(owner: Pick<Database, 'process' | 'remote'>) {
    this.owner = owner
  }

  /** A commit that stands has changed these. */
  committed(changed: Iterable<WorkerRow>): void {
    for (const row of changed) {
      if (row.process !== this.owner.process && row.process !== this.owner.remote) continue
      if (row.registered) this.rows.set(row.workerId, row)
      else if (this.rows.get(row.workerId)?.id === row.id) this.rows.delete(row.workerId)
    }
  }

  /** They are to be removed: whatever becomes of that, they do not come back by themselves. */
  forget(workerIds: readonly string[]): void {
    for (const workerId of workerIds) this.rows.delete(workerId)
  }

  /** Compares with what was read after another process has written. `known`: the workers that are registered now. */
  compare(known: ReadonlyMap<number, WorkerRow>): void {
    for (const row of known.values()) if (this.rows.has(row.workerId)) this.rows.set(row.workerId, row)
    this.missing = [...this.rows.values()].filter(({ id }) => !known.has(id))
  }

  /** Those that are to be registered again. `known`: those that are registered by now. `present`: the workers whose demand is known: of those on lines, which may have gone elsewhere, no others. */
  returning(
    known: ReadonlyMap<number, WorkerRow>,
    present: ReadonlyMap<string, unknown>,
  ): readonly WorkerRow[] {
    if (this.missing.length === 0) return none
    this.missing = this.missing.filter(
      (row) =>
        this.rows.get(row.workerId) === row &&
        !known.has(row.id) &&
        (row.process === this.owner.process || present.has(row.workerId)),
    )
    return this.missing
  }
}

const none: readonly WorkerRow[] = []
