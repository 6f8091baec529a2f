import { MICRO } from '@ku0/agent-runtime-core'
import { COMPLETED, type Followed, nameOf, type Spent } from './followed.ts'
import type { Broken } from './findings.ts'
import { type BudgetState } from './stored-rows.ts'

type Amounts = Readonly<Partial<Record<keyof Spent, number>>>
const counted = ['tokens', 'cost', 'steps'] as const

/** I19: a budget has what all below it have used, to the last token; nobody goes on with more than its limit. */
export function* budgetRules(
  tasks: ReadonlyMap<number, Followed>,
  budgets: readonly BudgetState[],
): Iterable<Broken> {
  const sums = new Map<number, Spent>()
  for (const { spent, row } of tasks.values())
    for (let above: number | null = row.id; above !== null; above = tasks.get(above)?.row.parent ?? null) {
      if (tasks.get(above)?.isBudgeted !== true) continue
      const sum = sums.get(above) ?? { tokens: 0, cost: 0, steps: 0 }
      for (const name of counted) sum[name] += spent[name]
      sums.set(above, sum)
    }
  for (const { task, limits, used } of budgets) {
    const state = tasks.get(task)?.row.state ?? COMPLETED
    if (state >= COMPLETED) continue
    const says = JSON.parse(used) as Amounts
    const most = JSON.parse(limits) as Amounts
    for (const name of counted) {
      const sum = sums.get(task)?.[name] ?? 0
      if (says[name] !== sum)
        yield ['I19', `the budget of task ${task} says ${says[name]} ${name}, its tasks have used ${sum}`]
      if (sum > (most[name] ?? Number.POSITIVE_INFINITY))
        yield [
          'I19',
          `task ${task} is ${nameOf(state)} with ${sum} ${name} of ${most[name]} that it may use up`,
        ]
    }
  }
}

/** I19: once everything has ended, clients have paid what their tasks cost: what was charged, or else what was estimated. */
export function* shareRules(
  tasks: ReadonlyMap<number, Followed>,
  clients: readonly { readonly name: string; readonly spent: number }[],
): Iterable<Broken> {
  const costs = new Map<string, number>()
  for (const { client, paid, estimate, row, measured } of tasks.values())
    // What a caller holds is on nobody's account.
    if (row.fence > 0 && measured?.held === undefined)
      costs.set(client, (costs.get(client) ?? 0) + (paid > 0 ? paid : estimate * MICRO))
  for (const { name, spent } of clients)
    if (spent !== (costs.get(name) ?? 0))
      yield ['I19', `client '${name}' has paid ${spent} millionths, its tasks cost ${costs.get(name) ?? 0}`]
}
