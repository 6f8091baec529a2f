import { type EventType, type Lane } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { orderHashOfTask } from '../src/measure/order-hash.ts'
import type {
  EventFact,
  Measurements,
  Pass,
  ProcessLife,
  Run,
  TaskFact,
} from '../src/measure/measurements.ts'
import type { PlannedTask } from '../src/work/plan.ts'

/** A good run of so many tasks of two steps each, on one process, to be spoilt by a test. */
export function goodRun(tasks = 3, change: Partial<Run> = {}): Run {
  const numbers = Array.from({ length: tasks }, (_, i) => i + 1)
  return {
    sqliteRate: null,
    startedAt: 1000,
    finishedAt: 9000,
    finished: true,
    evidence: 'full',
    config: parseExecutionConfig({}).config,
    clients: [],
    workload: numbers.map((n) => planned(n)),
    lives: [life()],
    submissions: numbers.map((n) => ({ ...submitted(n), process: 'main' })),
    calls: [],
    routes: [],
    swarms: [],
    agents: [],
    accounts: [],
    pipelines: [],
    passes: numbers.map((n) => pass(n)),
    tasks: numbers.map((n) => completedTask(n)),
    ledger: numbers.flatMap((n) => ['hash:0', 'hash:1'].map((stepKey) => effect(n, stepKey))),
    ledgerFaults: 0,
    visits: { entered: 0, repeated: 0 },
    results: numbers.map((n) => ({ n, expected: { digest: `d${n}` }, written: undefined })),
    cancels: [],
    leaks: [],
    staleWrites: 0,
    faults: 0,
    ...change,
  }
}

export function measured(...runs: readonly Run[]): Measurements {
  return { runs }
}

export function taskId(n: number): string {
  return `task-${n}`
}

export function planned(n: number, change: Partial<PlannedTask> = {}): PlannedTask {
  return {
    n,
    group: 'files',
    type: 'hash-files',
    lane: 'normal',
    input: { files: [] },
    model: undefined,
    tools: [],
    labels: {},
    idempotencyKey: undefined,
    options: {},
    stepKeys: ['hash:0', 'hash:1'],
    sequential: true,
    afterMs: 0,
    ...change,
  }
}

export function life(change: Partial<ProcessLife> = {}): ProcessLife {
  return {
    process: 'main',
    life: 1,
    pid: 1,
    capacity: 2,
    spawnedAt: 1000,
    openedAt: 1100,
    workersStartedAt: 1100,
    terminatedAt: null,
    endedAt: 9000,
    exitCode: 0,
    exitSignal: null,
    closed: true,
    ...change,
  }
}

export function submitted(n: number) {
  return {
    kind: 'submitted' as const,
    n,
    at: 1200 + n,
    answeredAt: 1202 + n,
    accepted: true,
    deduplicated: false,
    taskId: taskId(n),
  }
}

export function pass(n: number, change: Partial<Pass> = {}): Pass {
  return {
    process: 'main',
    life: 1,
    taskId: taskId(n),
    n,
    attempt: 1,
    token: 1,
    enteredAt: 1210 + n,
    abortedAt: null,
    leftAt: 1215 + n,
    how: 'returned',
    ...change,
  }
}

export function effect(n: number, stepKey: string, fencingToken = 1, idempotencyKey = `key-${n}-${stepKey}`) {
  return { taskId: taskId(n), stepKey, attempt: fencingToken, fencingToken, idempotencyKey }
}

export function completedTask(n: number, change: Partial<TaskFact> = {}): TaskFact {
  return taskWith(n, completedHistory(n), { state: 'completed', output: { digest: `d${n}` }, ...change })
}

/** Submitted, started, two steps, completed. */
export function completedHistory(n: number): readonly EventFact[] {
  return history(
    ['task.queued', 1200 + n, {}],
    ['task.started', 1210 + n, started(n, 1)],
    ['step.completed', 1212 + n, { key: 'hash:0', position: 0, result: 1 }],
    ['step.completed', 1213 + n, { key: 'hash:1', position: 1, result: 2 }],
    ['task.completed', 1215 + n, { leaseId: `lease-${n}-1`, output: { digest: `d${n}` } }],
  )
}

export function started(n: number, token: number, change: Record<string, unknown> = {}) {
  return {
    attempt: token,
    fencingToken: token,
    leaseId: `lease-${n}-${token}`,
    workerId: 'w1',
    dispatch: n + token / 100,
    ...change,
  }
}

/** One event of a made-up history: its type, its time, its data. */
export type Happening = readonly [EventType, number, Record<string, unknown>]

export function history(...events: readonly Happening[]): readonly EventFact[] {
  return events.map(([type, at, data], i) => ({ seq: i + 1, type, at, data }))
}

export function taskWith(n: number, events: readonly EventFact[], change: Partial<TaskFact> = {}): TaskFact {
  const lane: Lane = 'normal'
  return {
    taskId: taskId(n),
    n,
    group: 'files',
    sequence: n,
    type: 'hash-files',
    lane,
    state: 'queued',
    attempt: 1,
    crashes: 0,
    steps: 2,
    model: null,
    client: null,
    cost: 1,
    estimate: 1,
    parent: null,
    tokens: 0,
    partial: [],
    submittedAt: 1200 + n,
    startedAt: events.find(({ type }) => type === 'task.started')?.at ?? null,
    finishedAt: events.find(({ type }) => type === 'task.completed')?.at ?? null,
    reason: null,
    output: undefined,
    events,
    leases: [],
    orderHash: orderHashOfTask(events),
    ...change,
  }
}
