import { MICRO } from '../budget/usage.ts'
import { defaultCredits, type ClientTier } from './client.ts'
import type { SharesConfig } from './schema.ts'

/** Weights of the tiers. Source: agent-scheduler-paper 4.3. */
export const tierWeights: Readonly<Record<ClientTier, number>> = { contracted: 4, marketplace: 1 }

/** The most that one task can add to a virtual time, in millionths: sums of a few thousand stay whole numbers. */
export const MAX_INCREMENT = 100_000_000_000_000

/**
 * The time that a task adds to its client's virtual time, in millionths: `cost x 1000 / (max(credits, 1) x weight)`.
 * Cost and credits are in millionths too. Source: agent-scheduler-paper 4.2; `docs/semantics.md 11.1`.
 */
export function shareIncrement(cost: number, credits: number, weight: number): number {
  const units = Math.max(credits / MICRO, 1)
  const increment = Math.round((cost * defaultCredits) / (units * weight))
  // One that added nothing would let its client go first for ever.
  return Math.min(MAX_INCREMENT, Math.max(1, increment))
}

/** Below this value the rate of a charge cannot be derived from its whole millionths. */
const LEAST_EXACT = 1_000

/**
 * The time that a task that was charged with its estimate has added once its cost is known: at the rate of its start,
 * or `now` (what the cost adds by its client's present terms) if the charge was too small, or cut, to derive
 * that rate. Source: `docs/semantics.md 11.5`.
 */
export function settledIncrement(it: {
  readonly charged: number
  readonly estimate: number
  readonly cost: number
  readonly now: number
}): number {
  const { charged, estimate, cost, now } = it
  if (charged < LEAST_EXACT || charged >= MAX_INCREMENT) return now
  return Math.min(MAX_INCREMENT, Math.round(charged * (cost / estimate)))
}

/** Where a client begins that had nothing queued. Source: `docs/semantics.md 11.3`. */
export function decideStart(
  own: number,
  leastActive: number | undefined,
  placement: SharesConfig['placement'],
): number {
  return placement === 'zero' || leastActive === undefined ? own : Math.max(own, leastActive)
}

/**
 * A virtual time once the cost of a task is known that was charged with its estimate. A refund never goes below where the client
 * began. Source: `docs/semantics.md 11.5`.
 */
export function decideSettlement(it: {
  readonly time: number
  readonly floor: number
  readonly charged: number
  readonly settled: number
}): number {
  return Math.max(Math.min(it.time, it.floor), it.time + (it.settled - it.charged))
}

/**
 * How urgent a task is that has waited so long: its lane's rank, one less for each whole period. The lowest goes first.
 * Source: `docs/semantics.md` C5.
 */
export function agedRank(laneRank: number, waitedMs: number, agingMs: number): number {
  return laneRank - Math.max(0, Math.floor(waitedMs / agingMs))
}
