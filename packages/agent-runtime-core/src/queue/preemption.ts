/** A running lease as preemption sees it. */
export interface Preemptible {
  readonly id: number
  readonly laneRank: number
  /** The store-wide number of its start: the youngest has the highest. */
  readonly dispatch: number
  readonly asked: boolean
}

/**
 * Which leases are asked to yield when interactive tasks wait and no slot is free: one per waiting task, less those asked
 * already; the youngest of the lowest lane first, never an interactive one. Source: Track AA, AA3; `docs/semantics.md 3.6`.
 */
export function decidePreemption<L extends Preemptible>(
  waitingInteractive: number,
  leases: readonly L[],
): readonly L[] {
  const candidates = leases.filter((lease) => lease.laneRank > 0)
  const open = waitingInteractive - candidates.filter((lease) => lease.asked).length
  if (open <= 0) return []
  return candidates
    .filter((lease) => !lease.asked)
    .toSorted((a, b) => b.laneRank - a.laneRank || b.dispatch - a.dispatch)
    .slice(0, open)
}
