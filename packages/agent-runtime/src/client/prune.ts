import { assertOptions, RuntimeError } from '@ku0/agent-runtime-core'
import type { Pruned, PruneOptions } from '../api/client.ts'
import { added, newestOfAll, nonePruned, prunePass, type PruneDeps } from '../retention/prune-pass.ts'
import { foldPass } from '../retention/fold-pass.ts'
import { pruneRules } from '../terms/arguments.ts'

/** See {@link Client.prune}. */
export async function pruneStore(deps: PruneDeps, options: PruneOptions = {}): Promise<Pruned> {
  assertOptions('prune', options, pruneRules)
  if (deps.retention === undefined) {
    throw new RuntimeError(
      'invalid_argument',
      'prune: nothing says what may be deleted; set config.retention, such as { retention: {} } for its defaults',
    )
  }
  const { dryRun = false, signal } = options
  const between = () => signal?.throwIfAborted()
  let pruned = nonePruned
  const newest = await newestOfAll(deps, between)
  // A child goes after its parent, perhaps in the next pass.
  for (let isMore = true; isMore;) {
    const more = await prunePass(deps, dryRun, between, newest)
    pruned = added(pruned, more)
    isMore = !dryRun && more.completed + more.failed + more.canceled > 0
  }
  const folded = await foldPass(deps, dryRun, between)
  return { ...pruned, folded, dryRun }
}
