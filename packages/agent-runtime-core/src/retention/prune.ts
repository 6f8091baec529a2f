import type { OutcomeOf, Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { decideRetention, excessOf, latestEnds, perState } from './retention.ts'
import { type PerState, type PrunableState, prunableStates } from './row.ts'

/** Tasks that one commit looks at, and events that it deletes at the most, apart from the last task's: a task costs some 60 µs, and others wait no longer than 20 ms. */
const PRUNE_TASKS = 200
const PRUNE_EVENTS = 800

/** Stands for the number to begin after where only deleted tasks are counted. */
const COUNT_ONLY = -1

const none = perState(() => 0)

/** The first commit of a pass only counts: without that it is not known how far the rules reach. */
export function pruneNeeds(needs: Needs, { after, excess, ends }: Write<'prune'>): void {
  const from = excess === undefined ? COUNT_ONLY : after
  if (!needs.base.prunable.has(from))
    needs.want('prunable', from, {
      after: from,
      limit: excess === undefined ? 0 : PRUNE_TASKS,
      events: PRUNE_EVENTS,
      ends: ends ?? perState(() => -1),
    })
}

/** Source: `docs/semantics.md 6.6`. */
export function prune(ws: WorkingSet, it: Omit<Write<'prune'>, 'kind'>): OutcomeOf<'prune'> {
  const rules = ws.config.retention
  const part = ws.base.prunable.get(it.excess === undefined ? COUNT_ONLY : it.after)
  if (rules === undefined || part === undefined) return { pruned: none, excess: none }
  const { completed, failed, canceled } = ws.totals
  const ended: PerState = { completed, failed, canceled }
  // Another pass may have come to the same tasks in the same flush.
  const gone = new Set(ws.pruned.map(({ id }) => id))
  const taken = (of: PrunableState) => ws.pruned.filter(({ state }) => state === of).length
  const present = perState((state) => ended[state] - part.retired[state] - taken(state))
  const excess = { ...excessOf(rules, present) }
  if (it.excess === undefined) return { pruned: none, excess, next: it.after }
  // A dry run deletes nothing, so what it has counted already is in what is given.
  for (const state of prunableStates) excess[state] = Math.min(excess[state], it.excess[state])
  const pruned = { ...none } as Record<keyof PerState, number>
  for (const row of part.rows) {
    // What happens to a task in the same flush comes first.
    if (ws.tasks.changed.has(row.id) || gone.has(row.id)) continue
    const keeping = decideRetention(row, rules, ws.now.at, excess[row.state], (task) => gone.has(task))
    if (keeping !== 'due') continue
    gone.add(row.id)
    pruned[row.state] += 1
    if (excess[row.state] > 0) excess[row.state] -= 1
    if (it.dryRun !== true) ws.prune(row)
  }
  const reach = Math.max(...prunableStates.map((state) => latestEnds(rules, ws.now.at, excess)[state]))
  // Tasks are numbered as they were submitted: those that follow are younger.
  const isOver = part.last === undefined || part.last.submittedAt > reach
  return { pruned, excess, ...(isOver ? {} : { next: part.last.id }) }
}
