import { keyText } from '@ku0/agent-runtime-core'
import type { Connection } from './remote.ts'
import type { Printer } from './screen/printer.ts'

/** Notes when a task that is followed begins to wait for a person or another program, and what answers it. Ends with the task or the signal, and never rejects. */
export async function noteWaits(
  client: Pick<Connection, 'events' | 'status'>,
  taskId: string,
  { print, signal }: { readonly print: Printer; readonly signal: AbortSignal },
): Promise<void> {
  try {
    for await (const event of client.events(taskId, { signal })) {
      if (event.type !== 'task.waiting' || !(await stillWaits(client, taskId, event.data.waits))) continue
      const { reason, waits } = event.data
      const keys = waits.map(({ key }) => keyText(key)).join(', ')
      switch (reason) {
        case 'approval':
          print.note(`the task waits for the approval ${keys}: agent-runtime approvals --task ${taskId}`)
          break
        case 'signal':
          print.note(
            `the task waits for the signal ${waits.map(({ key, name = key }) => `'${name}'`).join(', ')}: agent-runtime signal ${taskId} NAME`,
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

/** The events begin with the past. */
async function stillWaits(
  client: Pick<Connection, 'status'>,
  taskId: string,
  waits: readonly { readonly key: string }[],
): Promise<boolean> {
  const task = await client.status(taskId)
  if (task?.state !== 'waiting') return false
  // What is not named may be among them.
  if (waits.length === 0 || task.moreWaits !== undefined) return true
  return task.waits.some((open) => waits.some(({ key }) => key === open.key))
}
