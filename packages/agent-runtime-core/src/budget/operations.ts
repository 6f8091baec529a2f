import { answerBudget } from './answer.ts'
import { answerBudgetNeeds } from './needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { BudgetWrites } from './port.ts'

export const budgetOperations: Operations<BudgetWrites> = {
  answerBudget: { rank: 3, needs: answerBudgetNeeds, fold: answerBudget },
}
