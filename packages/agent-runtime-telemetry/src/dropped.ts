/** How much telemetry has given up, by signal. Source: `docs/reliability.md` F11. */
export interface Dropped {
  readonly metrics: number
  readonly traces: number
  readonly logs: number
}
