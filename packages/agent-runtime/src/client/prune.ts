import {
  assertOptions,
  type Clock,
  type ExecutionConfig,
  type ExecutionStore,
  latestEnds,
  type OutcomeOf,
  type PerState,
  perState,
  RuntimeError,
} from '@ku0/agent-runtime-core'
import type { Pruned, PruneOptions } from '../api/client.ts'
import { pruneRules } from '../terms/arguments.ts'

interface PruneDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly clock: Clock
}

/** See {@link Client.prune}. */
export async function pruneStore(deps: PruneDeps, options: PruneOptions = {}): Promise<Pruned> {
  assertOptions('prune', options, pruneRules)
  if (deps.config.retention === undefined) {
    throw new RuntimeError(
      'invalid_argument',
      'prune: nothing says what may be deleted; set config.retention, such as { retention: {} } for its defaults',
    )
  }
  const { dryRun = false, signal } = options
  const between = () => signal?.throwIfAborted()
  let pruned = perState(() => 0)
  // A child goes after its parent, perhaps in the next pass.
  for (let isMore = true; isMore;) {
    const more = await prunePass(deps, dryRun, between)
    const sum = pruned
    pruned = perState((state) => sum[state] + more[state])
    isMore = !dryRun && more.completed + more.failed + more.canceled > 0
  }
  return { ...pruned, dryRun }
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
