/** A worker as the choice sees it. `inFlight` counts taken slots: live leases and handlers that have not stopped yet. */
export interface Candidate {
  readonly workerId: string
  readonly inFlight: number
  readonly capacity: number
  readonly lastSeenAt: number
  readonly draining: boolean
  readonly types: readonly string[]
}

/**
 * The worker that gets a task: least `inFlight`, then oldest `lastSeenAt`, then `workerId` by code unit;
 * never a worker that is full, draining, stale or does not run the type. Undefined if there is none. Called
 * again for every assignment. Source: Track AA, Scheduling Rules; `docs/semantics.md 3.1, 3.2`.
 */
export function decidePlacement<C extends Candidate>(
  workers: readonly C[],
  type: string,
  now: number,
  leaseTtlMs: number,
): C | undefined {
  let best: C | undefined
  for (const worker of workers)
    if (isEligible(worker, type, now, leaseTtlMs) && (best === undefined || isPreferred(worker, best)))
      best = worker
  return best
}

/** Whether a worker may be given a task of the type at all. A worker unseen for the TTL is stale. */
export function isEligible(worker: Candidate, type: string, now: number, leaseTtlMs: number): boolean {
  return (
    worker.inFlight < worker.capacity &&
    !worker.draining &&
    now - worker.lastSeenAt < leaseTtlMs &&
    runsType(worker.types, type)
  )
}

/** Whether a worker lists the type, or every type by `*`. */
export function runsType(types: readonly string[], type: string): boolean {
  return types.includes('*') || types.includes(type)
}

function isPreferred(a: Candidate, b: Candidate): boolean {
  if (a.inFlight !== b.inFlight) return a.inFlight < b.inFlight
  if (a.lastSeenAt !== b.lastSeenAt) return a.lastSeenAt < b.lastSeenAt
  return a.workerId < b.workerId
}
