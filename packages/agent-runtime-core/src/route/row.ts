import type { Circuit } from './circuit.ts'

/** The circuit of a route of which something bad is known; the others have no row. Times are by the lease clock. */
export interface CircuitRow extends Circuit {
  readonly route: string
  /** The task that is the probe; null if there is none, or if the probe is un-leased work. */
  readonly probe: number | null
}
