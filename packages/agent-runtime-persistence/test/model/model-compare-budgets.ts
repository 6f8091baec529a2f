import assert from 'node:assert/strict'
import type { ReferenceModel } from '@ku0/agent-runtime-conformance'
import { count, type Real } from './model-real.ts'

/** What both say of the budgets. */
export async function compareBudgets(model: ReferenceModel, real: Real): Promise<void> {
  for (const { budget, sequence } of model.tasks) {
    if (budget === undefined) continue
    const taskId = real.taskIds.get(sequence) ?? ''
    const record = await real.scene.store.read({ kind: 'budget', taskId })
    assert.deepEqual(
      {
        taskId: record?.taskId,
        limits: record?.limits,
        soft: record?.soft,
        steps: record?.used.steps,
        asks: record?.asks?.field,
      },
      { taskId, limits: budget.limits, soft: budget.soft, steps: budget.used, asks: budget.asked },
    )
  }
  for (const { parked } of model.tasks) if (parked === 'budget') count('parked for a budget')
  for (const { told } of model.tasks) if (told?.includes('budget_exceeded') === true) count('budget exceeded')
}
