import type { RuntimeEvent } from '@ku0/agent-runtime-client'

/** The task with whose steps another one began: it is a fork or a retry of it. */
export function baseOf(events: readonly RuntimeEvent[]): string | undefined {
  const [first] = events
  const base = first?.type === 'task.queued' ? first.data['forkOf'] : undefined
  return typeof base === 'string' ? base : undefined
}
