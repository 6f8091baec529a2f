import { z } from 'zod'
import { budgetFields } from './budget.ts'

const amounts = {
  tokens: z.number().optional(),
  money: z.number().optional(),
  cost: z.number().optional(),
  wallMs: z.number().optional(),
  steps: z.number().optional(),
}
const sums = { tokens: z.number(), money: z.number(), cost: z.number(), steps: z.number() }

/** A budget as it stands. Amounts in the units that it was given in. Source: `docs/semantics.md 11.5`. */
export const BudgetRecord = z.strictObject({
  /** The task that it was given to. Tasks below it draw on it, as far as they have none of their own, and with it if they have. */
  taskId: z.string(),
  limits: z.strictObject(amounts),
  /** Where it asks next; a line that was passed and answered is gone. */
  soft: z.strictObject(amounts),
  /** By the task and all below it. `wallMs` runs from the task's first start to its end. */
  used: z.strictObject({ ...sums, wallMs: z.number() }),
  /**
   * The amounts that can still be used: for each limit, the least that this budget and those above it have left, never
   * below 0.
   */
  left: z.strictObject(amounts),
  /** The part of `used` that tasks below it used. */
  children: z.strictObject(sums),
  /** The budget above it. */
  above: z.string().optional(),
  /** The line that was passed and that nobody has answered. */
  asks: z
    .strictObject({
      field: z.enum(budgetFields),
      at: z.number(),
      /** The task that passed it. */
      by: z.string(),
    })
    .optional(),
  /** How many tasks are parked for it or a budget below it. */
  parked: z.number(),
})
export type BudgetRecord = z.infer<typeof BudgetRecord>
