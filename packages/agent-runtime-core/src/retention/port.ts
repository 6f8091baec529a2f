import type { PerState, RetentionCount, RetentionCutoff, RetentionDue } from './row.ts'

/** Writes about what is kept. */
export interface RetentionWrites {
  /**
   * Deletes those of some tasks, named by their numbers in rising order, that the rules of the configuration no longer keep, in one commit of bounded
   * size. `looked`: so many of them were looked at; the others are for another commit. `newest`: what `newestKept` found. `dryRun`: nothing is deleted, the answer is the same. Source: `docs/semantics.md 6.6`.
   */
  prune: {
    fields: {
      readonly tasks: readonly number[]
      readonly newest?: readonly RetentionCutoff[]
      readonly dryRun?: boolean
    }
    outcome: { readonly pruned: PerState; readonly looked: number }
  }
}

/** Questions about what is kept. Each looks at one slice of the tasks. */
export interface RetentionReads {
  /** Counts tasks that ended, the newest first, until so many of each group were found. The next slice goes on with the groups of the answer, `before` its `next`. */
  newestKept: {
    fields: { readonly groups: readonly RetentionCount[]; readonly before?: number }
    answer: { readonly groups: readonly RetentionCount[]; readonly next?: number }
  }
  /**
   * The numbers of tasks that rules may no longer keep, the oldest first, behind `after`. `keysUntil`: none with an idempotency key that ended later. None of
   * them has a child that has not ended, or is below a task that stays for one of these reasons. There may be more as long as there is a `next`.
   */
  prunable: {
    fields: { readonly groups: readonly RetentionDue[]; readonly keysUntil: number; readonly after: number }
    answer: { readonly tasks: readonly number[]; readonly next?: number }
  }
}
