/** The head of one stream of queued tasks: the only one of its stream that may come next. */
export interface Head {
  readonly stream: number
  /** The rank of its lane, 0 first. */
  readonly laneRank: number
  /** Its sequence of submission; a requeued task keeps its own. */
  readonly sequence: number
}

/**
 * Whether one head comes before the other: the more urgent lane, then the lower sequence of submission. No two are equal, since no two
 * tasks share a sequence. Source: Track AA, Scheduling Rules; `docs/semantics.md 3.3, 3.5` and C5.
 */
export function comesBefore(a: Head, b: Head): boolean {
  return (a.laneRank - b.laneRank || a.sequence - b.sequence) < 0
}
