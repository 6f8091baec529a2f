import {
  type Clock,
  type ExecutionConfig,
  type ExecutionStore,
  latestEnds,
  type OutcomeOf,
  type PerState,
} from '@ku0/agent-runtime-core'

export interface PruneDeps {
  readonly store: ExecutionStore
  readonly retention: ExecutionConfig['retention']
  readonly clock: Clock
}

/** One pass over the tasks that ended, oldest first, a commit at a time. `between` is called before each and may throw. */
export async function prunePass(
  { store, retention, clock }: PruneDeps,
  dryRun: boolean,
  between: () => void,
): Promise<PerState> {
  let pruned = nonePruned
  if (retention === undefined) return pruned
  let given: { readonly excess?: PerState; readonly ends?: PerState } = {}
  for (let after: number | undefined = 0; after !== undefined;) {
    between()
    const answer: OutcomeOf<'prune'> = await store.write({ kind: 'prune', after, dryRun, ...given })
    pruned = added(pruned, answer.pruned)
    const { excess } = answer
    given = { excess, ends: latestEnds(retention, Math.floor(clock.now()), excess) }
    after = answer.next
  }
  return pruned
}

export const nonePruned: PerState = { completed: 0, failed: 0, canceled: 0 }

export function added(one: PerState, more: PerState): PerState {
  return {
    completed: one.completed + more.completed,
    failed: one.failed + more.failed,
    canceled: one.canceled + more.canceled,
  }
}
