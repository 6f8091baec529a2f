import type { CircuitState } from './circuit.ts'

/** How a route stands, as far as the store knows: those with a circuit, and those with live leases under a profile. */
export interface RouteRecord {
  readonly route: string
  /** As it is now: an open one is `half_open` from when it would let a probe through. */
  readonly circuit: CircuitState
  /** Nothing went wrong on it, or something has succeeded since, with its circuit closed or as its probe. */
  readonly healthy: boolean
  /** Its scar now. */
  readonly scar: number
  /** Ms until its circuit lets a probe through; 0 when it would, or one is under way. */
  readonly retryAfterMs: number
  /** Live leases, and what they press: the mean of their scalar pressures, and the largest. */
  readonly leases: number
  readonly pressure: number
  readonly maxPressure: number
  /** Pressure, scar, and a penalty while a lease is above a soft limit. It refuses nothing by itself. */
  readonly resistance: number
}

/** Writes about routes. */
export interface RouteWrites {
  /**
   * Un-leased work: without `latencyMs` it asks, with it it reports how the work went. Source:
   * `docs/semantics.md 10.1`, C11.
   */
  observeRoute: {
    fields: { readonly route: string; readonly baselineMs: number; readonly latencyMs?: number }
    outcome: {
      readonly admitted: boolean
      /** It is the one that finds out whether the route is well again. */
      readonly probe: boolean
      readonly circuit: CircuitState
      readonly healthy: boolean
      /** The scar of this work, and the sum of all scars. */
      readonly scar: number
      readonly totalScar: number
      readonly retryAfterMs: number
    }
  }
}

/** Reads about routes. */
export interface RouteReads {
  /** Source: `docs/semantics.md 10.3`. */
  routes: { fields: Record<never, never>; answer: readonly RouteRecord[] }
}
