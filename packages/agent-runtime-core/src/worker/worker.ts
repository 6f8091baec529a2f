/** The states of a worker. A worker that stopped has left the registry. Source: Track AA; `docs/semantics.md` C6. */
export const workerStates = ['idle', 'busy', 'draining'] as const
export type WorkerState = (typeof workerStates)[number]
