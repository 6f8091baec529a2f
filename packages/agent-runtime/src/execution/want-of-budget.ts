import { RuntimeError } from '@ku0/agent-runtime-core'
import { TaskFailed, TaskRejected } from '../api/errors.ts'

/**
 * Whether an error reports that a child was refused, or has ended, because a budget was used up. Source:
 * `docs/semantics.md 11.5`.
 */
export function isForWantOfBudget(error: unknown): boolean {
  try {
    let at = error
    for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
      if (!(at instanceof RuntimeError) || at.code !== 'budget_exceeded') return false
      // A profile's hard limit has the same code, and no budget.
      if (at instanceof TaskRejected || (at instanceof TaskFailed && 'budget' in at.details)) return true
      at = at.cause
    }
    return false
  } catch {
    // The thrown value may be a proxy or have getters that throw.
    return false
  }
}

/** A graph in a graph reports the error of its inner node. Causes may form a cycle. */
const MAX_DEPTH = 20
