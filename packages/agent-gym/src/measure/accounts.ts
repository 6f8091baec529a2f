import type { AccountEnd } from '../host/collect.ts'
import type { Run, TaskFact } from './measurements.ts'

/** A sum of credits that is off by less than this is right: a cost is whole millionths. */
const nothing = 1e-6

/**
 * Where a ledger does not balance: each entry is the one before it and what it changes, nothing is reserved when all is over, each
 * purchase was made once, and each task that has started was reserved for once and settled at what it cost.
 */
export function accountFaults(run: Run): readonly string[] {
  const tasks = Map.groupBy(run.tasks, ({ client }) => client ?? '')
  return run.accounts.flatMap((account) => [
    ...entryFaults(account),
    ...taskFaults(account, tasks.get(account.client) ?? []),
  ])
}

function entryFaults({ client, credits, reserved, spent, entries }: AccountEnd): readonly string[] {
  const faults: string[] = []
  const keys = new Set<string>()
  let [free, held, cost] = [0, 0, 0]
  for (const [i, entry] of entries.entries()) {
    free += entry.amount
    held += entry.held
    if (entry.kind === 'settle') cost -= entry.amount + entry.held
    if (entry.seq !== i + 1) faults.push(`${client}: entry ${entry.seq} stands at place ${i + 1}`)
    if (isOff(entry.credits, free) || isOff(entry.reserved, held))
      faults.push(
        `${client}: ${entry.credits} and ${entry.reserved} after entry ${entry.seq}, not ${free} and ${held}`,
      )
    if (entry.key === undefined) continue
    if (keys.has(entry.key)) faults.push(`${client}: '${entry.key}' was bought twice`)
    keys.add(entry.key)
  }
  if (isOff(credits, free)) faults.push(`${client} has ${credits} credits, and its entries sum to ${free}`)
  if (isOff(reserved, 0)) faults.push(`${client}: ${reserved} credits are still reserved`)
  if (isOff(spent, cost)) faults.push(`${client} has spent ${spent}, and its entries say ${cost}`)
  return faults
}

function taskFaults({ client, entries }: AccountEnd, tasks: readonly TaskFact[]): readonly string[] {
  const byTask = Map.groupBy(entries, ({ taskId }) => taskId ?? '')
  return tasks.flatMap(({ taskId, startedAt, estimate, cost }) => {
    const own = byTask.get(taskId) ?? []
    const reserves = own.filter(({ kind }) => kind === 'reserve').length
    const settled = own.reduce(
      (sum, { kind, amount, held }) => (kind === 'settle' ? sum - amount - held : sum),
      0,
    )
    // An entry that would change nothing is left out.
    const [once, due] = startedAt === null ? [0, 0] : [estimate > 0 ? 1 : 0, cost]
    return [
      ...(reserves === once ? [] : [`${client}: ${taskId} was reserved for ${reserves} times`]),
      ...(isOff(settled, due) ? [`${client}: ${taskId} has cost ${due}, and ${settled} was settled`] : []),
    ]
  })
}

function isOff(a: number, b: number): boolean {
  return Math.abs(a - b) > nothing
}
