import {
  assertOptions,
  budgetAmount,
  budgetRaise,
  type ExecutionStore,
  invalid,
  type OutcomeOf,
  type Rules,
  RuntimeError,
  wholeNumber,
  type Write,
} from '@ku0/agent-runtime-core'
import type { BudgetFilter, BudgetReceipt, Budgets, ContinueOptions } from '../api/budgets.ts'
import { taskIdOf } from '../terms/arguments.ts'
import { noTask } from './result.ts'

/** The budgets of one runtime. */
export function budgetsOf({
  store,
  assertOpen,
}: {
  readonly store: ExecutionStore
  /** Throws if the runtime takes no more calls. */
  readonly assertOpen: () => void
}): Budgets {
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
      return invalid(`${call}: neither task ${taskId} nor a task above it has a budget`)
    case 'not_asked':
      return outcome.asked
        ? new RuntimeError(
            'already_resolved',
            `${call}: the budget of task ${taskId} asks nothing now: it was already answered, or its task has ended`,
            { details: { taskId } },
          )
        : invalid(`${call}: the budget of task ${taskId} asks nothing: no soft line was passed`)
    case 'unlimited':
      return invalid(`${call} option raise.${outcome.field}: the budget has no such limit to raise`)
    case 'over_budget': {
      const { field, above } = outcome
      const told = (whole: number) => budgetAmount(field, whole)
      const more = told(given.as === 'continue' ? (given.raise[field] ?? 0) : 0)
      return invalid(
        `${call} option raise.${field}: ${more} more would make the limit ${told(outcome.limit)}, with ${told(outcome.unused)} unused; the budget of task ${above} has only ${told(outcome.left)} left`,
      )
    }
  }
}

const filterRules: Rules<BudgetFilter> = {
  limit: wholeNumber(1, 1_000),
  cursor: wholeNumber(0, Number.MAX_SAFE_INTEGER),
}
const continueRules: Rules<ContinueOptions> = { raise: ['an object with amounts', () => true] }
