import {
  assertOptions,
  budgetAmount,
  type BudgetLimits,
  budgetRaise,
  type BudgetRecord,
  type ExecutionStore,
  invalid,
  type OutcomeOf,
  type Rules,
  RuntimeError,
  wholeNumber,
  type Write,
} from '@ku0/agent-runtime-core'
import { taskIdOf } from './arguments.ts'
import type { Receipt } from './receipts.ts'
import { noTask } from './result.ts'

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
  readonly limit?: number
  readonly cursor?: number
}

export interface ContinueOptions {
  /** By how much each limit rises; only limits that there are. */
  readonly raise?: BudgetLimits
}

/** What an answer has done. */
export interface BudgetReceipt {
  /** The task that the budget was given to. */
  readonly taskId: string
  /** Tasks that were parked and go on. */
  readonly resumed: number
}

/** The budgets of one runtime. */
export function budgetsOf(store: ExecutionStore, assertOpen: () => void): Budgets {
  const answer = async (
    call: string,
    taskId: string,
    given: Write<'answerBudget'>['answer'],
  ): Promise<BudgetReceipt> => {
    const outcome = await store.write({ kind: 'answerBudget', taskId, answer: given })
    if (outcome.as !== 'answered') throw failure(call, taskId, given, outcome)
    return { taskId: outcome.taskId, resumed: outcome.resumed }
  }
  return {
    async get(task) {
      assertOpen()
      const taskId = taskIdOf('budgets.get', task)
      const record = await store.read({ kind: 'budget', taskId })
      if (record === undefined && (await store.read({ kind: 'task', taskId })) === undefined)
        throw noTask(taskId)
      return record
    },
    async list(filter: BudgetFilter = {}) {
      assertOpen()
      assertOptions('budgets.list', filter, filterRules)
      const { limit = 100, cursor } = filter
      return store.read({ kind: 'budgets', limit, ...(cursor === undefined ? {} : { after: cursor }) })
    },
    async continue(task, options: ContinueOptions = {}) {
      assertOpen()
      const taskId = taskIdOf('budgets.continue', task)
      assertOptions('budgets.continue', options, continueRules)
      const { raise: given = {} } = options
      const raise = budgetRaise('budgets.continue option raise', given)
      return answer('budgets.continue', taskId, { as: 'continue', raise })
    },
    async stop(task) {
      assertOpen()
      return answer('budgets.stop', taskIdOf('budgets.stop', task), { as: 'stop' })
    },
  }
}

function failure(
  call: string,
  taskId: string,
  given: Write<'answerBudget'>['answer'],
  outcome: Exclude<OutcomeOf<'answerBudget'>, { readonly as: 'answered' }>,
): RuntimeError {
  switch (outcome.as) {
    case 'unknown_task':
      return noTask(taskId)
    case 'no_budget':
      return invalid(`${call}: task ${taskId} has no budget, and none is above it`)
    case 'not_asked':
      return outcome.asked
        ? new RuntimeError(
            'already_resolved',
            `${call}: the budget of task ${taskId} was answered before, or its task is over; it asks nothing now`,
            { details: { taskId } },
          )
        : invalid(`${call}: the budget of task ${taskId} has not asked; it has passed no soft line`)
    case 'unlimited':
      return invalid(`${call} option raise.${outcome.field}: the budget has no limit of it that could rise`)
    case 'over_budget': {
      const { field, above } = outcome
      const told = (whole: number) => budgetAmount(field, whole)
      const more = told(given.as === 'continue' ? (given.raise[field] ?? 0) : 0)
      return invalid(
        `${call} option raise.${field}: ${more} more would make a limit of ${told(outcome.limit)}, of which ${told(outcome.unused)} are not used: above the ${told(outcome.left)} that are left of the budget of task ${above}`,
      )
    }
  }
}

const filterRules: Rules<BudgetFilter> = {
  limit: wholeNumber(1, 1_000),
  cursor: wholeNumber(0, Number.MAX_SAFE_INTEGER),
}
const continueRules: Rules<ContinueOptions> = { raise: ['an object of amounts', () => true] }
