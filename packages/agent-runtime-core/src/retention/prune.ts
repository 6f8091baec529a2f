import type { OutcomeOf, Write } from '../store/port.ts'
import type { TaskRow } from '../task/row.ts'
import type { Needs } from '../transition/needs.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { decideRetention, perState } from './retention.ts'
import type { PerState } from './row.ts'

/** Tasks that one commit looks at, and events that it deletes at the most, apart from the last task's. A pass asks for fewer where a commit takes long. */
const PRUNE_TASKS = 200
const PRUNE_EVENTS = 800

const none = perState(() => 0)

export function pruneNeeds(needs: Needs, { tasks }: Write<'prune'>): void {
  // As many rows as a commit may look at; how many events they have, they say themselves.
  const rows = tasks.slice(0, PRUNE_TASKS).map((id) => needs.task(id))
  if (!needs.isCovered) return
  for (const row of rows.slice(0, lookedAt(rows)))
    if (row !== undefined && row.finishedAt !== null && !needs.base.prunable.has(row.id))
      needs.want('prunable', row.id, row)
}

/** Source: `docs/semantics.md 6.6`. */
export function prune(ws: WorkingSet, it: Omit<Write<'prune'>, 'kind'>): OutcomeOf<'prune'> {
  const rules = ws.config.retention
  if (rules === undefined) return { pruned: none, looked: it.tasks.length }
  const { base } = ws
  const tasks = it.tasks.slice(0, PRUNE_TASKS)
  const looked = lookedAt(tasks.map((id) => base.tasks.get(id)))
  // Another pass may have come to the same tasks in the same flush.
  const gone = new Set(ws.pruned.map(({ id }) => id))
  const pruned = { ...none } as Record<keyof PerState, number>
  for (const id of tasks.slice(0, looked)) {
    const row = base.prunable.get(id)
    // What happens to a task in the same flush comes first.
    if (row === undefined || ws.tasks.changed.has(id) || gone.has(id)) continue
    if (decideRetention(row, rules, ws.now.at, it.newest, (task) => gone.has(task)) !== 'due') continue
    gone.add(id)
    pruned[row.state] += 1
    if (it.dryRun !== true) ws.prune(row)
  }
  return { pruned, looked }
}

/** How many of these rows one commit looks at. */
function lookedAt(rows: readonly (TaskRow | undefined)[]): number {
  let events = 0
  for (const [index, row] of rows.entries()) {
    if (events >= PRUNE_EVENTS) return index
    events += row?.seq ?? 0
  }
  return rows.length
}
