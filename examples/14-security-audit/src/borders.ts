// The borders between the stages: where one begins, asks, gets its answer, and ends.
import type { Runtime } from '@ku0/agent-runtime'

/** Calls `tell` with each border, such as `web started`, once it is stored. */
export function onBorders(runtime: Pick<Runtime, 'on'>, tell: (border: string) => void): void {
  const types = new Map<string, string>()
  runtime.on('task.queued', ({ taskId, data }) => void types.set(taskId, data.type))
  const events = {
    'task.started': 'started',
    'task.completed': 'completed',
    'approval.requested': 'asked',
    'approval.resolved': 'answered',
  } as const
  for (const [event, name] of Object.entries(events))
    runtime.on(event as keyof typeof events, ({ taskId }) =>
      tell(`${types.get(taskId) ?? 'an earlier task'} ${name}`),
    )
}
