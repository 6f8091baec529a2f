import type { PerState } from './row.ts'

/** Writes about what is kept. */
export interface RetentionWrites {
  /**
   * Deletes those of the next tasks that the rules of the configuration no longer keep, in one commit of bounded size. A pass begins
   * with `after` 0 and goes on with `next` and `excess` of the answer until there is no `next`. `ends`: tasks that ended later are not
   * looked at; see `latestEnds`. `dryRun`: nothing is deleted, the answer is the same. Source: `docs/semantics.md 6.6`.
   */
  prune: {
    fields: {
      readonly after: number
      readonly excess?: PerState
      readonly ends?: PerState
      readonly dryRun?: boolean
    }
    outcome: { readonly pruned: PerState; readonly excess: PerState; readonly next?: number }
  }
}
