import { type EventData, keyText } from '@ku0/agent-runtime-core'
import type { Connection } from './remote.ts'
import type { Printer } from './screen/printer.ts'
import { count } from './screen/words.ts'

/** Notes when a task that is followed begins to wait for a person or another program, and what answers it. Ends with the task or the signal, and never rejects. */
export async function noteWaits(
  client: Pick<Connection, 'events' | 'status'>,
  taskId: string,
  { print, signal }: { readonly print: Printer; readonly signal: AbortSignal },
): Promise<void> {
  try {
    for await (const event of client.events(taskId, { signal })) {
      if (event.type !== 'task.waiting') continue
      const waits = await stillOpen(client, taskId, event.data)
      if (waits === undefined) continue
      switch (event.data.reason) {
        case 'approval':
          print.note(
            `the task waits for the approval ${firstOf(waits.map(({ key }) => keyText(key)))}: agent-runtime approvals --task ${taskId}`,
          )
          break
        case 'signal':
          print.note(
            `the task waits for the signal ${firstOf(waits.map(({ key, name = key }) => `'${name}'`))}: agent-runtime signal ${taskId} NAME`,
          )
          break
        case 'budget':
          print.note(`the task waits for an answer about its budget: agent-runtime budgets`)
          break
        case 'divergence':
          print.note(`the task is parked: agent-runtime explain ${taskId}`)
          break
        default:
      }
    }
  } catch {
    // Whoever follows the task learns of the same error.
  }
}

/** The waits that are still open: the events begin with the past. Undefined once the task waits for none of them. */
async function stillOpen(
  client: Pick<Connection, 'status'>,
  taskId: string,
  { reason, waits }: EventData['task.waiting'],
): Promise<EventData['task.waiting']['waits'] | undefined> {
  const task = await client.status(taskId)
  if (task?.state !== 'waiting') return undefined
  if (waits.length === 0) return task.waitingFor === reason ? waits : undefined
  const keys = new Set(task.waits.map(({ key }) => key))
  const open = waits.filter(({ key }) => keys.has(key))
  return open.length === 0 ? undefined : open
}

/** A note is read at a glance. */
const MOST_NAMED = 10

function firstOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  return names.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${count(more)} more` : '')
}
