/** The label of a task with the time that an agreement promises, in ms. */
export const LATENCY_LABEL = 'agreement.latencyMs'

/** The time from its submission to its end that a client was promised for a task. Source: `docs/credits.md`, Agreements. */
export interface LatencyPromise {
  readonly latencyMs: number
  /** Epoch ms. */
  readonly until: number
  /** How much later it ended, or is by now; 0 in time. */
  readonly lateMs: number
}

/** The promise among the labels of a task; `at`: its end, or now. Source: `docs/semantics.md 12.5`. */
export function promiseIn(
  labels: Readonly<Record<string, string>>,
  submittedAt: number,
  at: number,
): LatencyPromise | undefined {
  const latencyMs = Number(labels[LATENCY_LABEL])
  if (!(latencyMs > 0)) return undefined
  const until = submittedAt + latencyMs
  return { latencyMs, until, lateMs: Math.max(0, at - until) }
}
