import type { AccountRow } from '../budget/row.ts'
import { canonical } from '../codec/codec.ts'
import type { TaskRow } from '../task/row.ts'

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
  const latencyMs = latencyIn(labels)
  if (latencyMs === undefined) return undefined
  const until = submittedAt + latencyMs
  return { latencyMs, until, lateMs: Math.max(0, at - until) }
}

function latencyIn({ [LATENCY_LABEL]: told }: Readonly<Record<string, string>>): number | undefined {
  // A label that somebody else wrote may be any text.
  return told === undefined || !/^[1-9]\d{0,14}$/.test(told) ? undefined : Number(told)
}

/** The promise that the account of a task keeps of its labels. Source: `docs/semantics.md 12.5`. */
export function accountPromise(labels: Readonly<Record<string, string>> = {}): AccountRow['promised'] {
  const { agreement } = labels
  const latencyMs = latencyIn(labels)
  return agreement === undefined || latencyMs === undefined ? undefined : { agreement, latencyMs }
}

/** The data of the event before the end of a task that ends later than was promised; undefined in time. Source: `docs/semantics.md 12.5`. */
export function missedText(
  { account, submittedAt }: Pick<TaskRow, 'account' | 'submittedAt'>,
  at: number,
): string | undefined {
  if (account?.promised === undefined) return undefined
  const { agreement, latencyMs } = account.promised
  const lateMs = at - submittedAt - latencyMs
  return lateMs > 0 ? canonical({ agreement, lateMs, latencyMs }) : undefined
}
