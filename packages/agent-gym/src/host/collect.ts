import { closeSync, openSync, writeSync } from 'node:fs'
import type {
  ExecutionLease,
  ExecutionStore,
  StoredEvent,
  StoreStats,
  TaskRecord,
} from '@ku0/agent-runtime-core'

/** What the store says of one task when everything is over: one line of the facts file. */
export interface TaskEvidence {
  readonly task: TaskRecord
  /** Absent where only rows were asked for. */
  readonly events?: readonly StoredEvent[]
  readonly leases?: readonly ExecutionLease[]
}

/** Reads every task back from the store, page by page, and writes one line for each. Answers with the store's counters. */
export async function collectFacts(
  store: ExecutionStore,
  file: string,
  evidence: 'full' | 'rows',
): Promise<StoreStats> {
  const descriptor = openSync(file, 'w')
  try {
    let cursor: number | undefined
    do {
      const page = await store.read({
        kind: 'tasks',
        filter: { limit: 1000, ...(cursor !== undefined && { cursor }) },
      })
      const lines = await Promise.all(page.tasks.map((task) => evidenceOf(store, task, evidence)))
      writeSync(descriptor, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      cursor = page.cursor
    } while (cursor !== undefined)
    return await store.read({ kind: 'stats' })
  } finally {
    closeSync(descriptor)
  }
}

async function evidenceOf(
  store: ExecutionStore,
  task: TaskRecord,
  evidence: 'full' | 'rows',
): Promise<TaskEvidence> {
  if (evidence === 'rows') return { task }
  const [events, leases] = await Promise.all([
    eventsOf(store, task.taskId),
    store.read({ kind: 'leases', taskId: task.taskId }),
  ])
  return { task, events, leases }
}

async function eventsOf(store: ExecutionStore, taskId: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = []
  for (;;) {
    const page = (await store.read({ kind: 'events', taskId, after: events.length, limit: 1000 })) ?? []
    events.push(...page)
    if (page.length < 1000) return events
  }
}
