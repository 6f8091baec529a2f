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
  const told = labels[LATENCY_LABEL]
  // A label that somebody else wrote may be any text.
  if (told === undefined || !/^[1-9]\d{0,14}$/.test(told)) return undefined
  const latencyMs = Number(told)
  const until = submittedAt + latencyMs
  return { latencyMs, until, lateMs: Math.max(0, at - until) }
}
