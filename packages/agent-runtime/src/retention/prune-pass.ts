import {
  type Clock,
  countedGroups,
  dueGroups,
  type ExecutionConfig,
  type ExecutionStore,
  newestOf,
  type OutcomeOf,
  type PerState,
  type Reads,
  type RetentionCutoff,
} from '@ku0/agent-runtime-core'

export interface PruneDeps {
  readonly store: ExecutionStore
  readonly retention: ExecutionConfig['retention']
  readonly clock: Clock
}

/**
 * One pass over the tasks that ended, oldest first: it reads which of them may go, and deletes a few at a time. Others may do the same meanwhile.
 * `between` is called before each question and each commit, and may throw. `known`: what an earlier pass found of the newest. Source: `docs/decisions/0093-retention-by-groups.md`.
 */
export async function prunePass(
  { store, retention, clock }: PruneDeps,
  dryRun: boolean,
  between: () => void,
  known?: readonly RetentionCutoff[],
): Promise<PerState> {
  let pruned = nonePruned
  // A dry run counts a child with a parent of the same commit: so it counts the same on every machine.
  let size = dryRun ? MOST : FEWEST
  if (retention === undefined) return pruned
  const newest = known ?? (await newestOfAll({ store, retention }, between))
  for (let after: number | undefined = 0; after !== undefined;) {
    between()
    const now = Math.floor(clock.now())
    const due: Reads['prunable']['answer'] = await store.read({
      kind: 'prunable',
      groups: dueGroups(retention, now, newest),
      keysUntil: now - retention.keysMs,
      after,
    })
    for (let { tasks } = due; tasks.length > 0;) {
      between()
      const began = clock.now()
      const some = tasks.slice(0, size)
      const answer: OutcomeOf<'prune'> = await store.write({ kind: 'prune', tasks: some, newest, dryRun })
      pruned = added(pruned, answer.pruned)
      tasks = tasks.slice(answer.looked)
      if (!dryRun) size = nextSize(size, clock.now() - began)
    }
    after = due.next
  }
  return pruned
}

/** Tasks of a commit. A store under load needs about as long for fewer of them: it would no longer keep up. */
const [FEWEST, MOST] = [50, 200]
/** After a commit of less than the first the next is larger, and after one of more than the second smaller: others wait as long as it takes, or longer. */
const [SHORT_MS, LONG_MS] = [10, 20]

/** How many tasks the next commit is to delete, after one that took so long, its waiting for others included. */
export function nextSize(size: number, tookMs: number): number {
  if (tookMs > LONG_MS) return Math.max(FEWEST, Math.floor(size / 2))
  return tookMs < SHORT_MS ? Math.min(MOST, size * 2) : size
}

/** Where the newest begin of each group that is kept by number, as far as there are more of it. That stays true, so several passes may go by it. */
export async function newestOfAll(
  { store, retention }: Pick<PruneDeps, 'store' | 'retention'>,
  between: () => void,
): Promise<readonly RetentionCutoff[]> {
  let groups = retention === undefined ? [] : countedGroups(retention)
  let before: number | undefined
  while (groups.some(({ left }) => left > 0)) {
    between()
    const place = before === undefined ? {} : { before }
    const found: Reads['newestKept']['answer'] = await store.read({ kind: 'newestKept', groups, ...place })
    groups = found.groups
    before = found.next
    if (before === undefined) break
  }
  return newestOf(groups)
}

export const nonePruned: PerState = { completed: 0, failed: 0, canceled: 0 }

export function added(one: PerState, more: PerState): PerState {
  return {
    completed: one.completed + more.completed,
    failed: one.failed + more.failed,
    canceled: one.canceled + more.canceled,
  }
}
