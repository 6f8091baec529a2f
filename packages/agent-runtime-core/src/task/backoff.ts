/** How long to wait between tries. */
export interface Backoff {
  /** Before the first retry. */
  readonly initialMs: number
  /** The factor of each further wait; 1 keeps it constant. */
  readonly factor: number
  /** No wait is longer. */
  readonly maxMs: number
  /** The share of a wait that chance may take off, 0 to 1. */
  readonly jitter: number
}

/** The back-off of a retry policy that names none. */
export const defaultBackoff: Backoff = { initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.2 }

/**
 * The wait before the n-th retry (from 1), in whole ms. It grows exponentially up to `maxMs`; `random` in [0, 1) takes up
 * to the jitter's share off, so that tasks that failed together do not come back together, not even at `maxMs`.
 * Source: `docs/semantics.md 7.7`.
 */
export function decideBackoff(backoff: Backoff, retry: number, random: number): number {
  const grown = Math.min(backoff.maxMs, backoff.initialMs * Math.min(backoff.factor ** (retry - 1), 2 ** 53))
  return Math.round(grown * (1 - backoff.jitter * random))
}
