import { laneRank, type Lane } from '../lane.ts'
import type { QuotaRow, StreamRow, TaskRow } from './rows.ts'
import type { WorkingSet } from './working-set.ts'

/** The stream of tasks that are first in, first out among themselves: same lane, type and quota keys. Made when new. */
export function streamFor(ws: WorkingSet, lane: Lane, type: string, quotaKeys: readonly string[]): StreamRow {
  return streamWith(ws, { laneRank: laneRank[lane], type }, quotaKeys)
}

/** The same of tasks that were in one stream, and hold these keys from now on. */
export function streamWith(
  ws: WorkingSet,
  { laneRank: rank, type }: Pick<StreamRow, 'laneRank' | 'type'>,
  quotaKeys: readonly string[],
): StreamRow {
  const key = JSON.stringify([rank, type, ...quotaKeys])
  const known = ws.streamsByKey.get(key) ?? ws.base.streamsByKey.get(key)
  if (known !== undefined) return known
  const row: StreamRow = {
    id: ws.nextStream++,
    key,
    laneRank: rank,
    type,
    quotaKeys,
    depth: 0,
    delayed: 0,
  }
  ws.addStream(row)
  return row
}

/** A task row that is now queued and put with the changes counts in its stream's depth, or among the delayed. */
export function enqueue(ws: WorkingSet, task: TaskRow): void {
  const stream = streamOf(task)
  if (task.dueAt !== null) return ws.shift(stream, 'delayed', 1)
  ws.shift(stream, 'depth', 1)
  const queued = ws.queued.get(stream)
  if (queued === undefined) ws.queued.set(stream, [task])
  else queued.push(task)
}

/** A queued task leaves its stream, by a claim or a cancel. */
export function dequeue(ws: WorkingSet, task: TaskRow): void {
  ws.shift(streamOf(task), task.dueAt === null ? 'depth' : 'delayed', -1)
}

/** Moves a task's hold on each of its quota keys: a holder is queued, running or none. Source: `docs/semantics.md 2.6`. */
export function hold(ws: WorkingSet, task: TaskRow, from: Holder, to: Holder): void {
  if (task.stream === null) return
  for (const key of ws.stream(task.stream).quotaKeys) {
    const row = ws.quota(key)
    ws.putQuota({
      ...row,
      ...shifted(row, from, -1),
      ...shifted({ ...row, ...shifted(row, from, -1) }, to, 1),
    })
  }
}

export type Holder = 'queued' | 'running' | 'none'

export function streamOf(task: TaskRow): number {
  if (task.stream === null) throw new Error(`task ${task.id} has no stream`)
  return task.stream
}

function shifted(row: QuotaRow, holder: Holder, by: number): Partial<QuotaRow> {
  return holder === 'none' ? {} : { [holder]: row[holder] + by }
}
