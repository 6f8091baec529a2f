import {
  type Clock,
  type ExecutionConfig,
  type ExecutionStore,
  latestEnds,
  type OutcomeOf,
  type PerState,
  perState,
} from '@ku0/agent-runtime-core'

export interface PruneDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly clock: Clock
}

/** One pass over the tasks that ended, oldest first, a commit at a time. `between` is called before each and may throw. */
export async function prunePass(
  { store, config: { retention }, clock }: PruneDeps,
  dryRun: boolean,
  between: () => void,
): Promise<PerState> {
  let pruned = perState(() => 0)
  if (retention === undefined) return pruned
  let given: { readonly excess?: PerState; readonly ends?: PerState } = {}
  for (let after: number | undefined = 0; after !== undefined;) {
    between()
    const answer: OutcomeOf<'prune'> = await store.write({ kind: 'prune', after, dryRun, ...given })
    const sum = pruned
    pruned = perState((state) => sum[state] + answer.pruned[state])
    const { excess } = answer
    given = { excess, ends: latestEnds(retention, Math.floor(clock.now()), excess) }
    after = answer.next
  }
  return pruned
}
