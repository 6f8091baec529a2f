import type { Lane } from '../task/lane.ts'
import { isSilent } from '../worker/worker.ts'

/** A worker as the choice sees it. `inFlight` counts taken slots: live leases and handlers that have not stopped yet. */
export interface Candidate {
  readonly workerId: string
  readonly inFlight: number
  readonly capacity: number
  readonly lastSeenAt: number
  readonly draining: boolean
  readonly types: readonly string[]
  /** The lanes that it takes tasks from; all by default. */
  readonly lanes?: readonly Lane[] | undefined
}

/**
 * The worker that gets a task of a type and a lane, where one is named: least `inFlight`, then oldest `lastSeenAt`, then `workerId` by code unit;
 * never a worker that is full, draining, stale or does not run the type or the lane. Undefined if there is none. Called
 * again for every assignment. Source: Track AA, Scheduling Rules; `docs/semantics.md 3.1, 3.2`.
 */
export function decidePlacement<C extends Candidate>(
  workers: readonly C[],
  type: string,
  now: number,
  leaseTtlMs: number,
  lane?: Lane,
): C | undefined {
  let best: C | undefined
  for (const worker of workers)
    if (isEligible(worker, type, now, leaseTtlMs, lane) && (best === undefined || isPreferred(worker, best)))
      best = worker
  return best
}

/** Whether a worker may be given a task of the type at all. A worker unseen for the TTL is stale. */
export function isEligible(
  worker: Candidate,
  type: string,
  now: number,
  leaseTtlMs: number,
  lane?: Lane,
): boolean {
  return (
    worker.inFlight < worker.capacity &&
    !worker.draining &&
    !isSilent(worker.lastSeenAt, now, leaseTtlMs) &&
    runsType(worker.types, type) &&
    takesLane(worker, lane)
  )
}

/** Whether a worker lists the type, or every type by `*`. */
export function runsType(types: readonly string[], type: string): boolean {
  return types.includes('*') || types.includes(type)
}

/** Whether a worker takes tasks from a lane. One that names no lanes takes them from all. */
export function takesLane({ lanes }: Pick<Candidate, 'lanes'>, lane: Lane | undefined): boolean {
  return lanes === undefined || lane === undefined || lanes.includes(lane)
}

function isPreferred(a: Candidate, b: Candidate): boolean {
  const order = a.inFlight - b.inFlight || a.lastSeenAt - b.lastSeenAt
  return order < 0 || (order === 0 && a.workerId < b.workerId)
}
