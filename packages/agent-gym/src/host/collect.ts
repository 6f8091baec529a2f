import { closeSync, openSync, writeSync } from 'node:fs'
import type {
  ExecutionLease,
  ExecutionStore,
  RouteRecord,
  SwarmRecord,
  StoredEvent,
  StoreStats,
  TaskRecord,
} from '@ku0/agent-runtime-core'

import type { Scenario } from '../scenario/scenario.ts'

/** What the store says of one task when everything is over: one line of the facts file. */
export interface TaskEvidence {
  readonly task: TaskRecord
  /** Absent where only rows were asked for. */
  readonly events?: readonly StoredEvent[]
  readonly leases?: readonly ExecutionLease[]
}

/** What the store says besides, when everything is over. */
export interface StoreEnd {
  readonly stats: StoreStats
  readonly routes: readonly RouteRecord[]
  readonly swarms: readonly SwarmRecord[]
  /** Of agents that were judged. */
  readonly agents: readonly AgentEnd[]
}

/** An agent's reputation, and the composites that it came from, oldest first. */
export interface AgentEnd {
  readonly agentId: string
  readonly reputation: number
  readonly evaluations: number
  readonly composites: readonly number[]
}

/** Reads every task back from the store, page by page, and writes one line for each. Answers with what the store says besides. */
export async function collectFacts(
  store: ExecutionStore,
  file: string,
  { evidence, faults }: Pick<Scenario, 'evidence' | 'faults'>,
): Promise<StoreEnd> {
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
    const judged = faults.flatMap((fault) =>
      fault.do === 'call' ? fault.calls.flatMap(({ call, of }) => (call === 'judge' ? [of] : [])) : [],
    )
    return {
      stats: await store.read({ kind: 'stats' }),
      routes: await store.read({ kind: 'routes' }),
      swarms: await store.read({ kind: 'swarms' }),
      agents: await Promise.all([...new Set(judged)].map((agentId) => agentEnd(store, agentId))),
    }
  } finally {
    closeSync(descriptor)
  }
}

async function agentEnd(store: ExecutionStore, agentId: string): Promise<AgentEnd> {
  const standing = await store.read({ kind: 'reputation', agentId })
  const kept = await store.read({ kind: 'evaluations', agentId, limit: 1000 })
  const composites = kept.toSorted((a, b) => a.seq - b.seq).map(({ composite }) => composite)
  return {
    agentId,
    reputation: standing?.reputation ?? 0,
    evaluations: standing?.evaluations ?? 0,
    composites,
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
