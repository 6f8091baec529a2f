import { readFileSync } from 'node:fs'
import { decode } from '@ku0/agent-runtime-core'
import type { TaskEvidence } from '../host/collect.ts'
import type { EventFact, TaskFact } from '../measure/measurements.ts'
import { orderHashOfTask } from '../measure/order-hash.ts'

/** Reads what a process wrote down of the store. */
export function readFacts(file: string, groupOf: (n: number) => string | undefined): readonly TaskFact[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => factOf(JSON.parse(line) as TaskEvidence, groupOf))
}

function factOf(
  { task, events = [], leases = [] }: TaskEvidence,
  groupOf: (n: number) => string | undefined,
): TaskFact {
  const n = task.labels['n'] === undefined ? null : Number(task.labels['n'])
  const facts: readonly EventFact[] = events.map(({ seq, type, at, data }) => ({
    seq,
    type,
    at,
    data: JSON.parse(data) as Record<string, unknown>,
  }))
  return {
    taskId: task.taskId,
    n,
    group: n === null ? null : (groupOf(n) ?? null),
    sequence: task.sequence,
    type: task.type,
    lane: task.lane,
    state: task.state,
    attempt: task.attempt,
    crashes: task.crashes,
    steps: task.steps,
    model: task.model ?? null,
    client: task.client ?? null,
    cost: task.used?.cost || (task.cost ?? 1),
    submittedAt: task.submittedAt,
    startedAt: 'startedAt' in task ? (task.startedAt ?? null) : null,
    finishedAt: 'finishedAt' in task ? task.finishedAt : null,
    reason: reasonOf(task),
    output: task.state === 'completed' ? decode(task.output) : undefined,
    events: facts,
    leases,
    orderHash: orderHashOfTask(facts),
  }
}

function reasonOf(task: TaskEvidence['task']): string | null {
  if (task.state === 'failed') return task.kind
  return 'reason' in task ? (task.reason ?? null) : null
}
