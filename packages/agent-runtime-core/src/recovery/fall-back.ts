import { quotaKey } from '../quota/quota.ts'
import { moveReservation, quotaKeysFor } from '../quota/hold.ts'
import { streamOf, streamWith } from '../queue/stream.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * The stream of a task that has another model from now on: the quota of the new model counts it and its reserved tokens, that of the
 * old one does not. Its sequence keeps its place among the tasks there. Source: `docs/semantics.md 2.6, 14.3`.
 */
export function fallBack(ws: WorkingSet, task: TaskRow, model: string): number {
  const from = ws.stream(streamOf(task))
  const old = from.quotaKeys.filter((key) => key.startsWith(quotaKey('model', '')))
  const fresh = quotaKeysFor(ws, { model })
  const kept = from.quotaKeys.filter((key) => !old.includes(key))
  moveReservation(ws, task, old, fresh)
  return streamWith(ws, from, [...kept, ...fresh].toSorted()).id
}
