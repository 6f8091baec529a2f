import type { RetentionConfig } from './schema.ts'
import { type PerState, type PrunableRow, type PrunableState, prunableStates } from './row.ts'

/** Why a task that ended is kept, or `due` if it is to be deleted. */
export type Keeping =
  | 'due'
  | 'within_rule'
  | 'has_parent'
  | 'has_open_children'
  | 'key_in_use'
  | 'last_run'
  | 'newest'

/**
 * Whether a task that ended is to be deleted. `excess`: how many tasks of its state there are above the number that is kept. Children go
 * after their parent, never before it; `isGone`: a task is deleted in the same commit. Source: `docs/semantics.md 6.6`.
 */
export function decideRetention(
  row: PrunableRow,
  rules: RetentionConfig,
  now: number,
  excess: number,
  isGone: (task: number) => boolean = () => false,
): Keeping {
  const own = rules.types[row.type]?.[row.state]
  const rule = own ?? rules[row.state]
  if (rule === 'forever') return 'within_rule'
  const isOld = rule.ageMs !== undefined && row.finishedAt + rule.ageMs <= now
  const isExcess = own === undefined && 'count' in rule && rule.count !== undefined && excess > 0
  if (!isOld && !isExcess) return 'within_rule'
  if (row.parent !== null && !isGone(row.parent)) return 'has_parent'
  if (row.hasOpenChildren) return 'has_open_children'
  if (row.key !== null && row.finishedAt + rules.keysMs > now) return 'key_in_use'
  if (row.isLastRun) return 'last_run'
  return row.isNewest ? 'newest' : 'due'
}

/** How many tasks of each state are above the number that is kept; `present`: those that are there. */
export function excessOf(rules: RetentionConfig, present: PerState): PerState {
  return perState((state) => {
    const rule = rules[state]
    return rule === 'forever' || rule.count === undefined ? 0 : Math.max(0, present[state] - rule.count)
  })
}

/**
 * The latest time at which a task of each state can have ended if it is to be deleted; `-1` for none. It does not hold more than the rules do:
 * {@link decideRetention} decides.
 */
export function latestEnds(rules: RetentionConfig, now: number, excess: PerState): PerState {
  return perState((state) => {
    const own = Object.values(rules.types).map((of) => of[state])
    const ages = [rules[state], ...own].flatMap((rule) =>
      rule === undefined || rule === 'forever' || rule.ageMs === undefined ? [] : [rule.ageMs],
    )
    if (excess[state] > 0) return now
    return ages.length === 0 ? -1 : Math.max(-1, now - Math.min(...ages))
  })
}

export function perState(of: (state: PrunableState) => number): PerState {
  return Object.fromEntries(prunableStates.map((state) => [state, of(state)])) as PerState
}
