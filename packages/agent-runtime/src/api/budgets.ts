import type { BudgetLimits, BudgetRecord } from '@ku0/agent-runtime-core'
import type { Receipt } from './receipts.ts'

/**
 * What tasks, and all below them, may use up, and the answers to those that ask for more; any process on the store may answer. Each
 * throws what a closed runtime throws, `store_*`, `not_found`, and `invalid_argument` for anything outside what it documents.
 * Source: `docs/semantics.md 11.5`.
 */
export interface Budgets {
  /** The budget that a task draws on first: its own, or that of the nearest task above it; undefined when it has none. */
  get(task: Receipt | string): Promise<BudgetRecord | undefined>
  /** Budgets that passed a soft line and that nobody has answered. As long as there is a `cursor` there may be more. */
  list(
    filter?: BudgetFilter,
  ): Promise<{ readonly budgets: readonly BudgetRecord[]; readonly cursor?: number }>
  /**
   * Lets the tree of a budget that asks go on: that of the task, or the nearest above it. `raise` is added to its limits and soft
   * lines. Lines that are passed ask no more. Throws `already_resolved` when it was answered before, or the task is over and nothing
   * of its tree is parked.
   */
  continue(task: Receipt | string, options?: ContinueOptions): Promise<BudgetReceipt>
  /**
   * Ends the tree of a budget that asks: the task that it was given to fails with `budget_exceeded` and what it has done so far, all
   * below it is canceled. Throws as {@link continue}.
   */
  stop(task: Receipt | string): Promise<BudgetReceipt>
}

export interface BudgetFilter {
  /** 1 to 1000; 100 by default. */
  readonly limit?: number | undefined
  readonly cursor?: number | undefined
}

export interface ContinueOptions {
  /** By how much each limit rises; only limits that there are. */
  readonly raise?: BudgetLimits | undefined
}

/** What an answer has done. */
export interface BudgetReceipt {
  /** The task that the budget was given to. */
  readonly taskId: string
  /** Tasks that were parked and go on. */
  readonly resumed: number
}
