/** The head of one stream of queued tasks: the only one of its stream that may come next. */
export interface Head {
  readonly stream: number
  /** The rank of its lane, 0 first. */
  readonly laneRank: number
  /** Its sequence of submission; a requeued task keeps its own. */
  readonly sequence: number
}

/**
 * The head that comes next: the most urgent lane, then the lowest sequence of submission. Undefined without
 * heads. Source: Track AA, Scheduling Rules; `docs/semantics.md 3.3, 3.5` and C5.
 */
export function decideOrder<H extends Head>(heads: Iterable<H>): H | undefined {
  let first: H | undefined
  for (const head of heads) if (first === undefined || comesBefore(head, first)) first = head
  return first
}

/** Whether one head comes before the other; no two are equal, since no two tasks share a sequence. */
export function comesBefore(a: Head, b: Head): boolean {
  return a.laneRank !== b.laneRank ? a.laneRank < b.laneRank : a.sequence < b.sequence
}
