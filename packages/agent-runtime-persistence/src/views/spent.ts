import { addUse, type BudgetUse, noUse, type UsageSum } from '@ku0/agent-runtime-core'

/** An event with its data read. */
export interface ReadEvent {
  readonly type: string
  readonly it: Partial<Record<string, unknown>>
}

/** What a task and its steps used up. */
export function spentIn(events: readonly ReadEvent[]): BudgetUse {
  let spent = noUse
  for (const { type, it } of events) {
    const charged = it['charged'] as UsageSum | undefined
    const steps = type === 'step.completed' ? 1 : 0
    if (type !== 'step.inherited' && (charged !== undefined || steps > 0))
      spent = addUse(spent, { ...noUse, ...charged, steps })
  }
  return spent
}

/** What a task had reported that it cost when it was over: what comes later changes no share. */
export function costBy(events: readonly ReadEvent[]): number {
  const end = events.findIndex(({ type }) => ends.has(type))
  return spentIn(events.slice(0, end + 1)).cost
}

/** The events that end a task. */
export const ends: ReadonlySet<string> = new Set(['task.completed', 'task.failed', 'task.canceled'])
