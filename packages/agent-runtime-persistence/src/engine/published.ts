import type { EventType, Interest, StoredEvent } from '@ku0/agent-runtime-core'

/** Which published events an interest is in. Names are told apart first: they take no id, and most events interest nobody. */
export interface Wants {
  name(type: EventType, also: readonly EventType[]): boolean
  /** Undefined when no task is followed. */
  readonly task: ((taskId: string) => boolean) | undefined
}

/** Undefined when the interest is in none. */
export function wantedBy({ types, tasks }: Interest): Wants | undefined {
  if (types === 'all') return { name: () => true, task: undefined }
  if (types.length === 0 && tasks.length === 0) return undefined
  const names = new Set(types)
  const ids = new Set(tasks)
  return {
    name: (type, also) => names.has(type) || also.some((name) => names.has(name)),
    task: ids.size === 0 ? undefined : (taskId) => ids.has(taskId),
  }
}

/** The further names of an event read back; see `StoredEvent.also`. */
export function alsoOf({ type, data }: StoredEvent): readonly EventType[] {
  switch (type) {
    case 'task.started':
      return ['lease.acquired']
    case 'task.completed':
      return ['lease.released']
    case 'task.waiting':
      return isParked(data) ? ['lease.released', 'task.parked'] : ['lease.released']
    case 'task.failed':
      if ((JSON.parse(data) as { kind?: string }).kind === 'poisoned') return ['lease.expired']
      return (JSON.parse(data) as { leaseId?: string }).leaseId === undefined ? [] : ['lease.released']
    case 'task.canceled':
      return (JSON.parse(data) as { leaseId?: string }).leaseId === undefined ? [] : ['lease.released']
    case 'task.requeued': {
      const { reason, recovery } = JSON.parse(data) as { reason: string; recovery?: unknown }
      if (recovery !== undefined) return ['lease.released', 'task.recovered']
      if (reason === 'expired' || reason === 'owner_dead') return ['lease.expired']
      return reason === 'yielded' ? ['lease.released', 'task.preempted'] : ['lease.released']
    }
    default:
      return []
  }
}

/** Most waits are none, which their text tells without being read. */
function isParked(data: string): boolean {
  return data.includes('"divergence"') && (JSON.parse(data) as { reason: string }).reason === 'divergence'
}
