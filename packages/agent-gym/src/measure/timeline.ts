import type { Lane } from '@ku0/agent-runtime-core'
import type { EventFact, Run, TaskFact } from './measurements.ts'

/** One stretch in which a task was held by a worker, from the store's events. */
export interface Stretch {
  readonly task: TaskFact
  readonly attempt: number
  readonly token: number
  readonly workerId: string
  readonly from: number
  /** Null while it runs. */
  readonly to: number | null
  /** The event that ended it: its type, and for a requeue the reason. */
  readonly end: string | null
}

/** Every stretch of a run, in the order of the starts. */
export function stretchesOf(run: Run): readonly Stretch[] {
  return run.tasks.flatMap((task) => stretchesOfTask(task)).toSorted((a, b) => dispatchOf(a) - dispatchOf(b))
}

/** The first stretch of each task that was started, in the order of the starts. */
export function firstStarts(run: Run): readonly Stretch[] {
  const seen = new Set<TaskFact>()
  return stretchesOf(run).filter(({ task }) => {
    const isFirst = !seen.has(task)
    seen.add(task)
    return isFirst
  })
}

/** The stretches of one task, in order. */
function stretchesOfTask(task: TaskFact): readonly Stretch[] {
  const stretches: Stretch[] = []
  let started: EventFact | undefined
  const push = (to: number | null, end: string | null) => {
    if (started === undefined) return
    const { attempt, fencingToken, workerId } = started.data
    stretches.push({
      task,
      attempt: Number(attempt),
      token: Number(fencingToken),
      workerId: String(workerId),
      from: started.at,
      to,
      end,
    })
    started = undefined
  }
  for (const event of task.events) {
    if (event.type === 'task.started') {
      push(event.at, null)
      started = event
    } else if (endsStretch.has(event.type)) {
      push(
        event.at,
        event.type === 'task.requeued' ? String(event.data['reason']) : event.type.replace('task.', ''),
      )
    }
  }
  push(null, null)
  return stretches
}

/** A count that changes over time. */
export interface Step {
  readonly at: number
  readonly value: number
}

/** How many tasks were in flight, after each change. */
export function inFlightOver(stretches: readonly Stretch[]): readonly Step[] {
  const changes = stretches.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    ...(to === null ? [] : [{ at: to, by: -1 }]),
  ])
  return accumulate(changes)
}

/** How many tasks were queued, after each change; of one lane, or of all. */
export function depthOver(run: Run, lane?: Lane): readonly Step[] {
  const changes = run.tasks
    .filter((task) => lane === undefined || task.lane === lane)
    .flatMap((task) => (task.events.length > 0 ? depthChanges(task) : rowChanges(task)))
  return accumulate(changes)
}

/** The highest value reached; 0 of none. */
export function peakOf(steps: readonly Step[]): number {
  return steps.reduce((peak, { value }) => Math.max(peak, value), 0)
}

const endsStretch: ReadonlySet<string> = new Set([
  'task.requeued',
  'task.waiting',
  'task.completed',
  'task.failed',
  'task.canceled',
])

interface Change {
  readonly at: number
  readonly by: number
}

function depthChanges(task: TaskFact): readonly Change[] {
  let queued = false
  return task.events.flatMap(({ type, at, data }) => {
    const before = queued
    if (type === 'task.queued' || type === 'task.resumed') queued = true
    else if (type === 'task.requeued') queued = data['dueAt'] === undefined
    else if (type === 'task.started' || type === 'task.canceled' || type === 'task.failed') queued = false
    return before === queued ? [] : [{ at, by: queued ? 1 : -1 }]
  })
}

function rowChanges(task: TaskFact): readonly Change[] {
  const out = task.startedAt ?? task.finishedAt
  if (task.state === 'rejected') return []
  return [{ at: task.submittedAt, by: 1 }, ...(out === null ? [] : [{ at: out, by: -1 }])]
}

/**
 * Sums up changes in time, one step a ms: the store dates to the ms, so changes that share one have no order that could be told,
 * and only the count at the end of each ms is certain.
 */
function accumulate(changes: readonly Change[]): readonly Step[] {
  const byMs = new Map<number, number>()
  for (const { at, by } of changes) byMs.set(at, (byMs.get(at) ?? 0) + by)
  let value = 0
  return [...byMs]
    .toSorted(([a], [b]) => a - b)
    .map(([at, by]) => {
      value += by
      return { at, value }
    })
}

function dispatchOf({ task, token }: Stretch): number {
  const started = task.events.find(
    ({ type, data }) => type === 'task.started' && Number(data['fencingToken']) === token,
  )
  return Number(started?.data['dispatch'] ?? 0)
}
