/** Whether a lease has expired: at `expiresAt` exactly it has. Source: `docs/semantics.md 4.2`. */
export function isExpired(expiresAt: number, now: number): boolean {
  return expiresAt <= now
}

/** Decides what happens to a task whose holder died or fell silent. */
export type Expiry =
  | { readonly to: 'queued'; readonly attempt: number; readonly crashes: number }
  | { readonly to: 'failed'; readonly crashes: number }

/**
 * The task goes back with `attempt + 1`; at its `maxCrashes`-th such end it fails as poisoned, so that one bad task cannot
 * take a worker down for ever. Source: Track AA, Scheduling Rules; `docs/semantics.md` C7, C17.
 */
export function decideExpiry(
  task: { readonly attempt: number; readonly crashes: number },
  maxCrashes: number,
): Expiry {
  const crashes = task.crashes + 1
  return crashes >= maxCrashes
    ? { to: 'failed', crashes }
    : { to: 'queued', attempt: task.attempt + 1, crashes }
}

/** Leases that expire together requeue in this order. Source: `docs/semantics.md 3.5`. */
export function expiryOrder(
  a: { readonly expiresAt: number; readonly id: number },
  b: { readonly expiresAt: number; readonly id: number },
): number {
  return a.expiresAt - b.expiresAt || a.id - b.id
}
