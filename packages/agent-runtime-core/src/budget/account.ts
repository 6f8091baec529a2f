import { addUsage, MICRO, type UsageSum, usageText } from './usage.ts'
import type { AccountRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** The change of a task that reports what it used up. Source: `docs/semantics.md 11.5`. */
export function charging(task: TaskRow, charged: UsageSum | undefined): Partial<Pick<TaskRow, 'account'>> {
  if (charged === undefined) return noChange
  const account = accountOf(task)
  return { account: { ...account, used: addUsage(account.used ?? undefined, charged) } }
}

const noChange = {}
const noAccount: AccountRow = { cost: MICRO, used: null, charge: null, place: null }

/** A task whose end reports what it used up: the event follows. */
export function charge(ws: WorkingSet, task: TaskRow, charged: UsageSum | undefined): TaskRow {
  if (charged === undefined) return task
  const row = { ...task, ...charging(task, charged) }
  ws.tasks.put(row.id, row)
  return row
}

/** The account of a task's cost. */
export function accountOf(task: TaskRow): AccountRow {
  return task.account ?? noAccount
}

/** The charge as it begins an event's data. */
export function chargedText(charged: UsageSum | undefined): string {
  return charged === undefined ? '' : `"charged":${usageText(charged)},`
}
