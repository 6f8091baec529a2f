// The borders between the stages: where one begins, has its first result, and ends.
import type { Runtime } from '@ku0/agent-runtime'

/** Calls `tell` with each border, such as `load started` or `load works`, once it is stored. */
export function onBorders(runtime: Pick<Runtime, 'on'>, tell: (border: string) => void): void {
  const types = new Map<string, string>()
  runtime.on('task.queued', ({ taskId, data }) => void types.set(taskId, data.type))
  const events = {
    'task.started': 'started',
    'step.completed': 'works',
    'task.completed': 'completed',
  } as const
  const told = new Set<string>()
  for (const [event, name] of Object.entries(events))
    runtime.on(event as keyof typeof events, ({ taskId }) => {
      const border = `${types.get(taskId) ?? 'an earlier task'} ${name}`
      if (told.has(border)) return
      told.add(border)
      tell(border)
    })
}
