import { closeSync, openSync, writeSync } from 'node:fs'
import type {
  ClientRecord,
  ExecutionLease,
  ExecutionStore,
  LedgerEntry,
  PipelineRecord,
  RouteRecord,
  StoredEvent,
  StoreStats,
  SwarmRecord,
  TaskRecord,
} from '@ku0/agent-runtime-core'

import type { Scenario } from '../scenario/scenario.ts'
import { traders } from '../work/traders.ts'

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
  /** Of clients whose credits are kept as a ledger. */
  readonly accounts: readonly AccountEnd[]
  readonly pipelines: readonly PipelineEnd[]
}

/** A client's credits, and the entries that they came from, the oldest first. */
export interface AccountEnd extends Pick<ClientRecord, 'credits' | 'reserved' | 'spent'> {
  readonly client: string
  readonly entries: readonly LedgerEntry[]
}

/** A pipeline, and its log. */
export interface PipelineEnd extends Pick<PipelineRecord, 'published'> {
  readonly taskId: string
  readonly stages: readonly Pick<PipelineRecord['stages'][number], 'stage' | 'taken'>[]
  readonly events: readonly { readonly seq: number; readonly type: string; readonly place: number }[]
}

/** An agent's reputation, and the composites that it came from, oldest first. */
export interface AgentEnd {
  readonly agentId: string
  readonly reputation: number
  readonly evaluations: number
  readonly composites: readonly number[]
}

/** What is looked at. */
type Wanted = Pick<Scenario, 'evidence' | 'faults' | 'config' | 'workload'>

/** Reads every task back from the store, page by page, and writes one line for each. Answers with what the store says besides. */
export async function collectFacts(
  store: ExecutionStore,
  file: string,
  { evidence, faults, config, workload }: Wanted,
): Promise<StoreEnd> {
  const pipelines: string[] = []
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
      pipelines.push(...page.tasks.flatMap(({ taskId, type }) => (type === 'stream' ? [taskId] : [])))
      cursor = page.cursor
    } while (cursor !== undefined)
    const judged = faults.flatMap((fault) =>
      fault.do === 'call' ? fault.calls.flatMap(({ call, of }) => (call === 'judge' ? [of] : [])) : [],
    )
    const offered = workload.flatMap(({ work }) =>
      work.type === 'job' ? traders(work.agents).map(({ name }) => name) : [],
    )
    return {
      stats: await store.read({ kind: 'stats' }),
      routes: await store.read({ kind: 'routes' }),
      swarms: await store.read({ kind: 'swarms' }),
      agents: await Promise.all(
        [...new Set([...judged, ...offered])].map((agentId) => agentEnd(store, agentId)),
      ),
      accounts: hasLedger(config) ? await accountsOf(store, workload) : [],
      pipelines: await Promise.all(pipelines.map((taskId) => pipelineEnd(store, taskId))),
    }
  } finally {
    closeSync(descriptor)
  }
}

function hasLedger({ shares }: Scenario['config']): boolean {
  return (shares as { ledger?: unknown } | undefined)?.ledger === true
}

async function accountsOf(
  store: ExecutionStore,
  workload: Scenario['workload'],
): Promise<readonly AccountEnd[]> {
  const names = [...new Set(workload.flatMap(({ client = '' }) => client))]
  return Promise.all(
    names.map(async (name) => {
      const [found] = await store.read({ kind: 'clients', name })
      const { credits, reserved, spent } = found ?? { credits: 0, reserved: 0, spent: 0 }
      const entries = await allPages((after) => store.read({ kind: 'ledger', name, after, limit: 1000 }))
      return { client: name, credits, reserved, spent, entries }
    }),
  )
}

async function pipelineEnd(store: ExecutionStore, taskId: string): Promise<PipelineEnd> {
  const record = await store.read({ kind: 'pipeline', taskId })
  const chunks = await allPages(
    async (after) => (await store.read({ kind: 'pipelineEvents', taskId, after, limit: 1000 })) ?? [],
  )
  const events = chunks.map(({ seq, data: line }) => {
    const { type, data } = JSON.parse(line) as { type: string; data: { place: number } }
    return { seq, type, place: data.place }
  })
  return { taskId, published: record?.published ?? {}, stages: record?.stages ?? [], events }
}

/** Pages of a thousand, each after the last of the one before. */
async function allPages<T extends { readonly seq: number }>(
  read: (after: number) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const all: T[] = []
  for (;;) {
    const page = await read(all.at(-1)?.seq ?? 0)
    all.push(...page)
    if (page.length < 1000) return all
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
