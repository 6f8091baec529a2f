import { readFileSync } from 'node:fs'
import { decode } from '@ku0/agent-runtime-core'
import type { TaskEvidence } from '../host/collect.ts'
import type { EventFact, TaskFact } from '../measure/measurements.ts'
import { orderHashOfTask } from '../measure/order-hash.ts'

/** Reads what a process wrote down of the store. */
export function readFacts(file: string, groupOf: (n: number) => string | undefined): readonly TaskFact[] {
  const facts = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => factOf(JSON.parse(line) as TaskEvidence, groupOf))
  const calls = new Map(
    facts.flatMap(({ events }) =>
      events.flatMap(({ type, data }) =>
        type === 'child.spawned' ? [[String(data['taskId']), String(data['key'])] as const] : [],
      ),
    ),
  )
  return facts.map((fact) => ({ ...fact, group: fact.group ?? calls.get(fact.taskId) ?? null }))
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
    group: n === null ? heldFor(task) : (groupOf(n) ?? null),
    sequence: task.sequence,
    type: task.type,
    lane: task.lane,
    state: task.state,
    attempt: task.attempt,
    crashes: task.crashes,
    steps: task.steps,
    model: task.model ?? null,
    client: task.client ?? null,
    parent: task.parent ?? null,
    tokens: task.used?.tokens ?? 0,
    partial: partialOf(task),
    estimate: task.cost ?? 1,
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

function heldFor({ held, swarm, type }: TaskEvidence['task']): string | null {
  return held === true ? (swarm ?? type) : null
}

function partialOf(task: TaskEvidence['task']): readonly unknown[] {
  if (task.state !== 'failed') return []
  const { details } = decode(task.error) as { details?: { partial?: unknown } }
  return Array.isArray(details?.partial) ? details.partial : []
}

function reasonOf(task: TaskEvidence['task']): string | null {
  if (task.state === 'failed') return task.kind
  return 'reason' in task ? (task.reason ?? null) : null
}
