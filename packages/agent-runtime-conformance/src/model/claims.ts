import { laneRank } from '@ku0/agent-runtime-core'
import type { ModelTask, ModelWorker } from './records.ts'

// The reference model's rules of who is given what. Source: `docs/semantics.md 3.1-3.4`.

/** The next task to start and the worker that it goes to, of those that are queued and due. */
export function nextClaim(
  queued: readonly ModelTask[],
  workers: readonly ModelWorker[],
  quotas: {
    readonly mayStart: (task: ModelTask) => boolean
    /** A task behind one that may not start waits with it if it is of the same stream. */
    readonly streamOf: (task: ModelTask) => string
    /** The first of these. */
    readonly first: (queued: readonly ModelTask[]) => ModelTask | undefined
  },
): readonly [ModelTask, ModelWorker] | undefined {
  const held = new Set<string>()
  const due = queued.filter((task) => task.dueAt === undefined && placeFor(task, workers) !== undefined)
  for (;;) {
    const task = quotas.first(due.filter((it) => !held.has(quotas.streamOf(it))))
    const worker = task === undefined ? undefined : placeFor(task, workers)
    if (task === undefined || worker === undefined) return undefined
    if (quotas.mayStart(task)) return [task, worker]
    held.add(quotas.streamOf(task))
  }
}

/** Where there are no shares: by lane, then by submission. */
export function firstInOrder(queued: readonly ModelTask[]): ModelTask | undefined {
  return queued.toSorted((a, b) => laneRank[a.lane] - laneRank[b.lane] || a.sequence - b.sequence)[0]
}

/** The least busy worker; of those, the one that was seen longest ago. */
function placeFor({ type }: ModelTask, workers: readonly ModelWorker[]): ModelWorker | undefined {
  return workers
    .filter(
      (worker) =>
        inFlight(worker) < worker.capacity && (worker.types.includes('*') || worker.types.includes(type)),
    )
    .toSorted(
      (a, b) =>
        inFlight(a) - inFlight(b) || a.lastSeenAt - b.lastSeenAt || (a.workerId < b.workerId ? -1 : 1),
    )[0]
}

function inFlight({ capacity, credit, given }: ModelWorker): number {
  return Math.max(0, capacity - (credit - given))
}
