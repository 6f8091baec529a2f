import type { SeriesPoint } from '@ku0/agent-runtime-core'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'

/** How far back the charts reach. */
export const WINDOWS = [
  { name: '15 minutes', windowMs: 900_000 },
  { name: 'hour', windowMs: 3_600_000 },
  { name: '24 hours', windowMs: 86_400_000 },
] as const
/** A chart of the past has so many steps. */
const STEPS = 90

/** What the store knows of the past. */
export function usePast(windowMs: number) {
  return useLiveQuery(['series', windowMs], () => api().series({ windowMs, stepMs: windowMs / STEPS }), {
    isSlow: true,
  })
}

/** How many submissions were refused in a step; null where that is not known any more. */
export function refusedIn({ refused }: SeriesPoint): number | null {
  return refused === undefined ? null : Object.values(refused).reduce((all, many) => all + many, 0)
}

/** The steps with the time that each counts: the newest may be under way, and counts less. */
export function withLength(
  points: readonly SeriesPoint[],
  stepMs: number,
): readonly (SeriesPoint & { readonly ms: number })[] {
  return points.map((point, index) => {
    const since = point.at - (points[index - 1]?.at ?? -Infinity)
    return { ...point, ms: Math.max(1, Math.min(stepMs, since)) }
  })
}
