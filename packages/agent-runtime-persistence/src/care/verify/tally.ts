import { addUse, type BudgetUse, noUse } from '@ku0/agent-runtime-core'
import { noTotals, type TaskRow } from '@ku0/agent-runtime-core/transition'

const { rejected: _, rejectedPruned: _1, running: _2, waiting: _3, ...noneRisen } = noTotals
/** The sums that only rise. */
export type RisingTotal = keyof typeof noneRisen

/** What the tasks of a store add up to, counted one by one, to be compared with its sums. */
export class Tally {
  tasks = 0
  /** Without those of rejected submissions, which are deleted one day. */
  events = 0
  leases = 0
  keys = 0
  readonly totals: Record<RisingTotal, number> = { ...noneRisen }
  /** By schedule: the tasks that say that they are its runs. */
  readonly runs = new Map<string, number>()
  /** By budget: what the tasks that draw on it first used up. */
  readonly spent = new Map<number, BudgetUse>()
  /** By client: what its tasks that are over cost, those that were charged at their start. */
  readonly costs = new Map<string, number>()

  task({ state, seq }: TaskRow): void {
    this.tasks += 1
    if (state === 'rejected') return
    this.events += seq
    this.totals.submitted += 1
    if (state === 'completed' || state === 'failed' || state === 'canceled') this.totals[state] += 1
  }

  event({ type, it }: { readonly type: string; readonly it: Partial<Record<string, unknown>> }): void {
    switch (type) {
      case 'task.started':
        this.leases += 1
        return
      case 'task.requeued':
        this.totals.requeued += 1
        if (it['reason'] === 'yielded') this.totals.preempted += 1
        if (it['reason'] === 'expired' || it['reason'] === 'owner_dead') this.totals.expired += 1
        return
      case 'task.failed':
        if (it['kind'] === 'poisoned' || it['kind'] === 'lease_lost') this.totals.expired += 1
        return
      case 'task.queued': {
        const { schedule } = it
        if (typeof schedule === 'string') this.runs.set(schedule, (this.runs.get(schedule) ?? 0) + 1)
      }
    }
  }

  cost(client: string, cost: number): void {
    this.costs.set(client, (this.costs.get(client) ?? 0) + cost)
  }

  spend(budget: number, use: BudgetUse): void {
    this.spent.set(budget, addUse(this.spent.get(budget) ?? noUse, use))
  }
}
