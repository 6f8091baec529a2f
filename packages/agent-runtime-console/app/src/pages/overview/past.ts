import type { Lane, SeriesPoint } from '@ku0/agent-runtime-core'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { lanes } from '../tasks/names.ts'

/** How far back the charts reach. */
export const WINDOWS = [
  { id: '15m', name: '15 minutes', windowMs: 900_000 },
  { id: '1h', name: 'hour', windowMs: 3_600_000 },
  { id: '24h', name: '24 hours', windowMs: 86_400_000 },
] as const
/** A chart of the past has so many steps. */
const STEPS = 90

/** What the charts show: how far back, and of which tasks. */
export interface View {
  readonly windowMs: number
  readonly lane?: Lane | undefined
  readonly type?: string | undefined
}

/** A view as an address names it. */
export type ViewSearch = Readonly<Partial<Record<'last' | 'lane' | 'type', string>>>

export function viewOf({ last, lane, type }: ViewSearch): View {
  const { windowMs } = WINDOWS.find(({ id }) => id === last) ?? WINDOWS[0]
  return { windowMs, lane: lanes.find((it) => it === lane), type }
}

/** Of all that stands in an address, what names a view. */
export function viewSearchOf(search: Readonly<Record<string, unknown>>): ViewSearch {
  const named = (['last', 'lane', 'type'] as const).flatMap((name) => {
    const value = search[name]
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : []
  })
  return Object.fromEntries(named)
}

/** What the store knows of the past. */
export function usePast({ windowMs, lane, type }: View) {
  return useLiveQuery(
    ['series', windowMs, lane, type],
    () => api().series({ windowMs, stepMs: windowMs / STEPS, lane, type }),
    { isSlow: true },
  )
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
