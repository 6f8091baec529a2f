import { decode, type EventData, type StoredEvent } from '@ku0/agent-runtime-core'

/** When the tasks of a store are due that nothing runs: those that wait for a time, and those that were submitted for later. */
export class DueTimes {
  readonly #dueAt = new Map<string, number>()

  /** The first of them, epoch ms; infinity when there is none. */
  get next(): number {
    let next = Number.POSITIVE_INFINITY
    for (const dueAt of this.#dueAt.values()) if (dueAt < next) next = dueAt
    return next
  }

  hear({ type, taskId, data }: StoredEvent): void {
    if (!type.startsWith('task.')) return
    const dueAt = dueAtIn(type, data)
    if (dueAt === undefined) this.#dueAt.delete(taskId)
    else this.#dueAt.set(taskId, dueAt)
  }
}

function dueAtIn(type: string, data: string): number | undefined {
  if (type === 'task.waiting') {
    const { dueAt = {} } = decode(data) as EventData['task.waiting']
    const times = Object.values(dueAt)
    return times.length === 0 ? undefined : Math.min(...times)
  }
  if (type !== 'task.queued' && type !== 'task.requeued') return undefined
  return (JSON.parse(data) as { dueAt?: number }).dueAt
}
