// The borders between the stages: where one begins, asks, gets its answer, and ends.
import type { Runtime } from '@ku0/agent-runtime'

/** Calls `tell` with each border, such as `scoring started` or, for a second question, `scoring asked again`, once it is stored. */
export function onBorders(runtime: Pick<Runtime, 'on'>, tell: (border: string) => void): void {
  const types = new Map<string, string>()
  runtime.on('task.queued', ({ taskId, data }) => void types.set(taskId, data.type))
  const events = {
    'task.started': 'started',
    'task.completed': 'completed',
    'approval.requested': 'asked',
    'approval.resolved': 'answered',
  } as const
  const asked = new Map<string, number>()
  for (const [event, name] of Object.entries(events))
    runtime.on(event as keyof typeof events, ({ type, taskId }) => {
      const border = `${types.get(taskId) ?? 'an earlier task'} ${name}`
      if (type === 'task.started' || type === 'task.completed') return tell(border)
      const times = (asked.get(border) ?? 0) + 1
      asked.set(border, times)
      tell(times === 1 ? border : `${border} again`)
    })
}
