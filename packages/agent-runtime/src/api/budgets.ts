import type { BudgetLimits, BudgetRecord } from '@ku0/agent-runtime-core'
import type { Receipt } from './receipts.ts'

/**
 * The amounts that tasks, and all tasks below them, may use up, and the answers to budgets that ask for more. Any process
 * on the store may answer. After the runtime was closed, each call throws `store_closed`. Each throws
 * `store_*`, `not_found`, and `invalid_argument` for an argument it does not accept. Source:
 * `docs/semantics.md 11.5`.
 */
export interface Budgets {
  /**
   * The budget that a task draws on first: its own, or that of the nearest task above it. Undefined if there
   * is none.
   */
  get(task: Receipt | string): Promise<BudgetRecord | undefined>
  /**
   * Budgets that passed a soft line and still wait for an answer. While the page has a `cursor` there may be
   * more.
   */
  list(
    filter?: BudgetFilter,
  ): Promise<{ readonly budgets: readonly BudgetRecord[]; readonly cursor?: number }>
  /**
   * Lets the tasks under a budget that asks go on. It answers the budget of the task, or the nearest one
   * above it. `raise` is added to its limits and soft lines. Soft lines that were passed do not ask again.
   * Throws `already_resolved` if the budget was already answered, or its task has ended and no task under it
   * is parked.
   */
  continue(task: Receipt | string, options?: ContinueOptions): Promise<BudgetReceipt>
  /**
   * Ends the tasks under a budget that asks: the task that owns the budget fails with `budget_exceeded` and
   * its partial result, and every task below it is canceled. Throws as {@link continue} does.
   */
  stop(task: Receipt | string): Promise<BudgetReceipt>
}

export interface BudgetFilter {
  /** 1 to 1000; 100 by default. */
  readonly limit?: number | undefined
  readonly cursor?: number | undefined
}

export interface ContinueOptions {
  /** By how much each limit rises. Only limits that the budget has can be raised. */
  readonly raise?: BudgetLimits | undefined
}

/** The effect of an answer. */
export interface BudgetReceipt {
  /** The task that owns the budget. */
  readonly taskId: string
  /** Number of tasks that were parked and go on. */
  readonly resumed: number
}
