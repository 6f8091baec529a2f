/** The states of a worker. A worker that stopped has left the registry. Source: Track AA; `docs/semantics.md` C6. */
export const workerStates = ['idle', 'busy', 'draining', 'silent'] as const
export type WorkerState = (typeof workerStates)[number]

/** Whether a worker has not been seen for so long that it is given nothing. Source: `docs/semantics.md 3.2`. */
export function isSilent(lastSeenAt: number, leaseAt: number, leaseTtlMs: number): boolean {
  return leaseAt - lastSeenAt >= leaseTtlMs
}

/** Whether a worker on a line, whose death nobody sees, has been silent for so long that it is taken for gone. Source: `docs/semantics.md` C6. */
export function isTakenForGone(lastSeenAt: number, leaseAt: number, leaseTtlMs: number): boolean {
  return leaseAt - lastSeenAt >= GONE_AFTER_TTLS * leaseTtlMs
}

const GONE_AFTER_TTLS = 3
