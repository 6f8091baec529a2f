import type { RetentionConfig } from './schema.ts'
import {
  type PerState,
  type PrunableRow,
  type PrunableState,
  prunableStates,
  type RetentionCount,
  type RetentionCutoff,
  type RetentionDue,
  type RetentionGroup,
} from './row.ts'

/** Why a task that ended is kept, or `due` if it is to be deleted. */
export type Keeping =
  | 'due'
  | 'within_rule'
  | 'has_parent'
  | 'has_open_children'
  | 'key_in_use'
  | 'last_run'
  | 'damaged'
  | 'newest'

/**
 * Whether a task that ended is to be deleted. `newest`: what is known of the newest of some groups. Children go
 * after their parent, never before it; `isGone`: a task is deleted in the same commit. Source: `docs/semantics.md 6.6`.
 */
export function decideRetention(
  row: PrunableRow,
  rules: RetentionConfig,
  now: number,
  newest: readonly RetentionCutoff[] = [],
  isGone: (task: number) => boolean = () => false,
): Keeping {
  const own = rules.types[row.type]?.[row.state]
  const rule = own ?? rules[row.state]
  if (rule === 'forever') return 'within_rule'
  const { ageMs, count } = rule
  const isOld = row.finishedAt + (ageMs ?? Number.POSITIVE_INFINITY) <= now
  const group = own === undefined ? othersOf(rules, row.state) : { state: row.state, type: row.type }
  const most = count ?? Number.POSITIVE_INFINITY
  const isExcess = newest.some(
    (known) => known.count >= most && row.id < known.from && isPartOf(known, group),
  )
  if (!isOld && !isExcess) return 'within_rule'
  if (row.parent !== null && !isGone(row.parent)) return 'has_parent'
  if (row.hasOpenChildren) return 'has_open_children'
  if (row.key !== null && row.finishedAt + rules.keysMs > now) return 'key_in_use'
  if (row.isLastRun) return 'last_run'
  if (row.isDamaged) return 'damaged'
  return row.isNewest ? 'newest' : 'due'
}

/** The groups of which the newest are kept, to be counted: without that it is not known how far the rules reach. */
export function countedGroups(rules: RetentionConfig): readonly RetentionCount[] {
  return ruledGroups(rules).flatMap(({ group, rule: { count } }) =>
    count === undefined ? [] : [{ ...group, count, left: count }],
  )
}

/** Where the newest of the groups begin that were counted to the end. */
export function newestOf(counted: readonly RetentionCount[]): readonly RetentionCutoff[] {
  return counted.flatMap(({ left, from, ...group }) =>
    from === undefined || left > 0 ? [] : [{ ...group, from }],
  )
}

/** The tasks that the rules may no longer keep. It does not hold more than the rules do: {@link decideRetention} decides. */
export function dueGroups(
  rules: RetentionConfig,
  now: number,
  newest: readonly RetentionCutoff[],
): readonly RetentionDue[] {
  const nameOf = ({ state, type }: RetentionGroup) => `${state} ${type}`
  const byName = Map.groupBy(newest, nameOf)
  return ruledGroups(rules).flatMap(({ group, rule: { ageMs, count } }): RetentionDue[] => {
    const found = byName.get(nameOf(group))?.find((known) => known.count === count && isPartOf(known, group))
    if (ageMs === undefined && found === undefined) return []
    return [
      {
        ...group,
        ...(ageMs === undefined ? {} : { until: now - ageMs }),
        ...(found === undefined ? {} : { below: found.from }),
      },
    ]
  })
}

type Rule = Exclude<RetentionConfig[PrunableState], 'forever'>

/** All groups of tasks that are not kept forever, each with its rule. */
function ruledGroups(
  rules: RetentionConfig,
): readonly { readonly group: RetentionGroup; readonly rule: Rule }[] {
  return prunableStates.flatMap((state) =>
    [
      { group: othersOf(rules, state), rule: rules[state] },
      ...Object.entries(rules.types).map(([type, of]) => ({ group: { state, type }, rule: of[state] })),
    ].flatMap(({ group, rule }) => (rule === undefined || rule === 'forever' ? [] : [{ group, rule }])),
  )
}

/** All tasks of a state whose type has no rule of its own. */
function othersOf({ types }: RetentionConfig, state: PrunableState): RetentionGroup {
  const except = Object.entries(types).flatMap(([type, of]) => (of[state] === undefined ? [] : [type]))
  return except.length === 0 ? { state } : { state, except }
}

/** Whether every task of the one group is one of the other. Rules may have changed since it was counted. */
function isPartOf(part: RetentionGroup, whole: RetentionGroup): boolean {
  if (part.state !== whole.state || part.type !== whole.type) return false
  const others = new Set(part.except)
  return (whole.except ?? []).every((type) => others.has(type))
}

export function perState(of: (state: PrunableState) => number): PerState {
  return Object.fromEntries(prunableStates.map((state) => [state, of(state)])) as PerState
}
