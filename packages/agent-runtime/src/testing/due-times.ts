import { decode, type EventData, type StoredEvent } from '@ku0/agent-runtime-core'

/**
 * When tasks become due that no process runs: tasks that wait for a time, delayed submissions, and tasks
 * whose wall-time budget reaches a line.
 */
export class DueTimes {
  readonly #dueAt = new Map<string, number>()
  readonly #budgets = new Map<string, WallTime>()

  /** The first of them, epoch ms; infinity when there is none. */
  get next(): number {
    let next = Number.POSITIVE_INFINITY
    for (const dueAt of this.#dueAt.values()) if (dueAt < next) next = dueAt
    for (const budget of this.#budgets.values()) next = Math.min(next, lineOf(budget))
    return next
  }

  hear({ type, taskId, at, data }: StoredEvent): void {
    this.#hearOfBudget(type, taskId, at, data)
    if (!type.startsWith('task.')) return
    const dueAt = dueAtIn(type, data)
    if (dueAt === undefined) this.#dueAt.delete(taskId)
    else this.#dueAt.set(taskId, dueAt)
  }

  #hearOfBudget(type: StoredEvent['type'], taskId: string, at: number, data: string): void {
    if (type === 'task.queued') {
      const { limits, soft } = (JSON.parse(data) as Partial<EventData['task.queued']>).budget ?? {}
      if (limits?.wallMs !== undefined)
        this.#budgets.set(taskId, {
          hard: limits.wallMs,
          soft: soft?.wallMs,
          startedAt: undefined,
          asks: false,
        })
      return
    }
    const budget = this.#budgets.get(taskId)
    if (budget === undefined) return
    if (type === 'task.started') budget.startedAt ??= at
    else if (type === 'budget.asked') budget.asks = true
    else if (type === 'budget.continued') {
      const { wallMs = 0 } = (JSON.parse(data) as EventData['budget.continued']).raised
      budget.asks = false
      budget.hard += wallMs
      const line = (budget.soft ?? 0) + wallMs
      budget.soft = line > at - (budget.startedAt ?? at) ? line : undefined
    } else if (ends.has(type)) this.#budgets.delete(taskId)
  }
}

interface WallTime {
  hard: number
  soft: number | undefined
  startedAt: number | undefined
  /** The budget asks, and only its hard line is left. */
  asks: boolean
}

function lineOf({ hard, soft, startedAt, asks }: WallTime): number {
  if (startedAt === undefined) return Number.POSITIVE_INFINITY
  return startedAt + (asks ? hard : Math.min(hard, soft ?? hard))
}

const ends: ReadonlySet<string> = new Set(['task.completed', 'task.failed', 'task.canceled'])

function dueAtIn(type: string, data: string): number | undefined {
  if (type === 'task.waiting') {
    const { dueAt = {} } = decode(data) as EventData['task.waiting']
    const times = Object.values(dueAt)
    return times.length === 0 ? undefined : Math.min(...times)
  }
  if (type !== 'task.queued' && type !== 'task.requeued') return undefined
  return (JSON.parse(data) as { dueAt?: number }).dueAt
}
