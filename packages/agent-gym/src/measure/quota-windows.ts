import type { Run, TaskFact } from './measurements.ts'
import { firstStarts } from './timeline.ts'

/** How many tasks first started in each window of the quotas, by the store's clock, or how much they come to; none where there are no quotas. */
export function startsByWindow(
  run: Run,
  of: { readonly group?: string | undefined; readonly model?: string | undefined },
  amountOf: (task: TaskFact) => number = () => 1,
): readonly number[] {
  const { quotaConfig } = run.config
  if (quotaConfig === undefined) return []
  const counts = new Map<number, number>()
  for (const { task, from } of firstStarts(run)) {
    if ((of.group ?? task.group) !== task.group || (of.model ?? task.model) !== task.model) continue
    const window = Math.floor(from / quotaConfig.windowMs)
    counts.set(window, (counts.get(window) ?? 0) + amountOf(task))
  }
  return [...counts.values()]
}
