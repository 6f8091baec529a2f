import { RuntimeError } from '@ku0/agent-runtime-core'

/** No process is started so soon after its machine, ms. */
const soonestStartMs = 250
/** An uptime may be given in whole seconds, ms. */
const uptimeErrorMs = 2_000

/** Three readings of one moment, ms. */
export interface Clocks {
  /** The clock that leases are judged by. */
  readonly monotonicMs: number
  /** How long this process has run. */
  readonly processMs: number
  /** How long the machine has run, sleep included. */
  readonly machineMs: number
}

/**
 * Throws `node_unsupported` where the clock that judges leases counts from the process's start, not the machine's: two
 * processes on one file would then take each other's leases. A clock that is merely behind the machine's uptime is right: Linux's stands
 * still while the machine sleeps. One that is ahead of it is right, too: a container may show its own uptime.
 */
export function assertClockSinceBoot({ monotonicMs, processMs, machineMs }: Clocks): void {
  const startedAt = monotonicMs - processMs
  const behindMs = machineMs - monotonicMs
  if (startedAt > soonestStartMs || behindMs < uptimeErrorMs) return
  throw new RuntimeError(
    'node_unsupported',
    `process.hrtime counts from the start of the process here (${seconds(monotonicMs)}), and the machine has run for ${seconds(machineMs)}: ` +
      "two processes would take each other's leases; run this program with Node.js itself",
    { details: { monotonicMs, processMs, machineMs } },
  )
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
