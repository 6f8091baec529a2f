import { type Lane, lanes } from '../task/lane.ts'
import type { QuotaRow } from '../quota/row.ts'
import type { QueuePause } from './port.ts'
import type { StreamRow } from './row.ts'
import type { Write } from '../store/port.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A pause is a quota that nobody names and that has no room: so it is loaded, kept and written as the others are. */
const ofType = '$ku0/paused/type/'
const ofLane = '$ku0/paused/lane/'

/** Whether a row of the quotas is a pause. */
export function isPauseRow({ key }: Pick<QuotaRow, 'key'>): boolean {
  return key.startsWith(ofType) || key.startsWith(ofLane)
}

/** Pauses types and lanes, or resumes them. Returns how many were not so before. */
export function pauseQueue(ws: WorkingSet, { types, lanes: named, paused }: Write<'pauseQueue'>): number {
  const keys = new Set([...types.map((type) => ofType + type), ...named.map((lane) => ofLane + lane)])
  let changed = 0
  for (const key of keys) {
    const row = ws.quota(key)
    if (row.blockedUntil > 0 === paused) continue
    changed += 1
    ws.putQuota({ ...row, windowStart: ws.now.at, blockedUntil: paused ? PAUSED : 0 })
  }
  return changed
}

/** Blocked, whatever the time is. */
const PAUSED = 1

/** Whether no task of a stream is started, because its type or its lane is paused. */
export function isPaused({ base, quotas }: WorkingSet, { type, laneRank }: StreamRow): boolean {
  if (base.quotas.size === 0 && quotas.changed.size === 0) return false
  return [ofType + type, ofLane + lanes[laneRank]].some((key) => (quotas.get(key)?.blockedUntil ?? 0) > 0)
}

/** The paused lanes and task types, in the order of their keys. */
export function pausesIn(rows: readonly QuotaRow[]): readonly QueuePause[] {
  return rows.flatMap(({ key, blockedUntil, windowStart: since }): readonly QueuePause[] => {
    if (blockedUntil === 0) return []
    if (key.startsWith(ofType)) return [{ type: key.slice(ofType.length), since }]
    const lane = lanes.find((it) => key === ofLane + it)
    return lane === undefined ? [] : [{ lane, since }]
  })
}

/** The pause that keeps tasks of a type and a lane from starting. */
export function pauseOf<P extends QueuePause>(
  pauses: readonly P[],
  { type, lane }: { readonly type: string; readonly lane: Lane },
): P | undefined {
  return pauses.find((it) => ('type' in it ? it.type === type : it.lane === lane))
}
