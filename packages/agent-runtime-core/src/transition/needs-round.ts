import type { IdCodec } from '../store/ids.ts'
import { crossingNeeds } from '../budget/needs.ts'
import type { Write } from '../store/port.ts'
import { sheddingNeeds } from '../swarm/needs.ts'
import { needsOf } from './fold.ts'
import { Needs } from './needs.ts'
import type { Duties, Wanted } from './wanted.ts'
import type { Base } from './working-set.ts'

/**
 * The needs of a flush, as data: the names of the rows that its operations and duties touch and that are not
 * known. It can be resumed, like a round of claims: it returns what is missing, and is called again once that
 * is loaded, until nothing is missing.
 */
export class NeedsRound {
  private readonly needs: Needs
  private readonly operations: readonly Write[]
  private readonly duties: Duties
  /** Operations not all of whose needs are known yet. */
  private open: readonly Write[]
  private areDutiesOpen = true

  constructor(base: Base, ids: IdCodec, operations: readonly Write[], duties: Duties) {
    this.needs = new Needs(base, ids)
    this.operations = operations
    this.duties = duties
    this.open = operations
  }

  /** The rows that must be loaded before it can go on; undefined if everything is known. */
  run(): Wanted | undefined {
    const { needs } = this
    if (this.open.length > 0 || this.areDutiesOpen) {
      this.open = this.open.filter((it) => isOpen(needs, it))
      if (this.areDutiesOpen) this.areDutiesOpen = areOpen(needs, this.duties)
      const wanted = needs.take()
      if (wanted !== undefined) return wanted
      this.open = []
      this.areDutiesOpen = false
    }
    needs.start()
    sheddingNeeds(needs, this.operations, [this.duties.lapsed, this.duties.orphans])
    crossingNeeds(needs, this.operations)
    return needs.take()
  }

  /** The same for the budgets of the tasks that have just been claimed. */
  runForClaims(budgets: readonly (number | null)[]): Wanted | undefined {
    for (const budget of budgets) this.needs.budgetsFrom(budget)
    return this.needs.take()
  }
}

/** Whether an operation touches something that is not known yet. */
function isOpen(needs: Needs, it: Write): boolean {
  needs.start()
  needsOf(needs, it)
  return !needs.isCovered
}

function areOpen(needs: Needs, { lapsed, orphans, due, budgets }: Duties): boolean {
  needs.start()
  // Whether they have begun decides on what their routes take.
  for (const { probe } of needs.base.circuits.values()) if (probe !== null) needs.taskWithWaits(probe)
  for (const ended of [lapsed, orphans])
    for (const lease of ended) {
      const task = needs.task(lease.task)
      if (task === undefined) continue
      needs.waits(task)
      needs.family(task)
    }
  for (const task of due) needs.waits(needs.base.tasks.get(task.id) ?? task)
  for (const { task } of budgets) needs.tree(task)
  return !needs.isCovered
}
