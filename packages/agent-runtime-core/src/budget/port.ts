import type { BudgetField, BudgetSum } from './budget.ts'
import type { BudgetRecord } from './schema.ts'

/** Writes about budgets. */
export interface BudgetWrites {
  /**
   * Answers the budget that asks, of the task or the nearest above it: its tree goes on with limits raised by so much, or ends. Source:
   * `docs/semantics.md 11.5`.
   */
  answerBudget: {
    fields: {
      readonly taskId: string
      readonly answer: { readonly as: 'continue'; readonly raise: BudgetSum } | { readonly as: 'stop' }
    }
    outcome:
      /** `taskId` is the task whose budget was answered. */
      | { readonly as: 'answered'; readonly taskId: string; readonly resumed: number }
      /** `asked`: it did once. */
      | { readonly as: 'not_asked'; readonly asked: boolean }
      | { readonly as: 'no_budget' }
      | { readonly as: 'unknown_task' }
      /** It has no limit of this field that could be raised. */
      | { readonly as: 'unlimited'; readonly field: BudgetField }
      /** More than is left of the budget of `above`. */
      | {
          readonly as: 'over_budget'
          readonly field: BudgetField
          readonly left: number
          readonly above: string
          /** The limit that it would have, and how much of that is unused. */
          readonly limit: number
          readonly unused: number
        }
  }
}

/** Reads about budgets. */
export interface BudgetReads {
  /** The budget that a task draws on first, its own or one above it; undefined when it has none. */
  budget: { fields: { readonly taskId: string }; answer: BudgetRecord | undefined }
  /** Budgets that ask, by task; `after` is the `cursor` of the page before. */
  budgets: {
    fields: { readonly limit: number; readonly after?: number }
    answer: { readonly budgets: readonly BudgetRecord[]; readonly cursor?: number }
  }
}
