import type { RejectionReason } from '../event/event.ts'
import type { Series, SeriesFilter, SeriesPoint } from '../store/series.ts'
import type { Lane } from '../task/lane.ts'

/** A submission that was refused. */
export interface RefusedSubmission {
  /** When; epoch ms. */
  readonly at: number
  readonly reason: RejectionReason
  readonly type: string
  readonly lane: Lane
}

/** The steps of a series with what was refused in each. `reach`: those that were refused before are not known any more. */
export function withRefused(
  { points, ...rest }: Series,
  refusals: readonly RefusedSubmission[],
  { type, lane }: SeriesFilter,
  reach: number,
): Series {
  const sorted = refusals
    .filter((it) => (type === undefined || it.type === type) && (lane === undefined || it.lane === lane))
    .toSorted((a, b) => a.at - b.at)
  let next = 0
  const counted = points.map((point): SeriesPoint => {
    // The newest step may be shorter than the others.
    const from = point.at - rest.stepMs
    while (next < sorted.length && (sorted[next] as RefusedSubmission).at <= from) next += 1
    const refused: Partial<Record<RejectionReason, number>> = {}
    for (; next < sorted.length; next += 1) {
      const it = sorted[next] as RefusedSubmission
      if (it.at > point.at) break
      refused[it.reason] = (refused[it.reason] ?? 0) + 1
    }
    // A step in which the records begin says how many there are at least.
    return point.at < reach ? point : { ...point, refused }
  })
  return { ...rest, points: counted }
}
