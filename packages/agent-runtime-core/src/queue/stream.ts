import { endAsk } from '../ledger/ask.ts'
import { type Lane, laneRank } from '../task/lane.ts'
import type { QuotaRow } from '../quota/row.ts'
import type { StreamRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import type { Holder } from './holder.ts'

/**
 * The stream of tasks that are first in, first out among themselves: same lane, type and quota keys, and where there are shares the
 * same client. Made when new.
 */
export function streamFor(
  ws: WorkingSet,
  { lane, type, client = '' }: { readonly lane: Lane; readonly type: string; readonly client?: string },
  quotaKeys: readonly string[],
): StreamRow {
  const owner = ws.shares === undefined ? '' : client
  return streamWith(ws, { laneRank: laneRank[lane], type, client: owner }, quotaKeys)
}

/** The same for tasks that were in one stream, and hold these keys from now on. */
export function streamWith(
  ws: WorkingSet,
  { laneRank: rank, type, client }: Pick<StreamRow, 'laneRank' | 'type' | 'client'>,
  quotaKeys: readonly string[],
): StreamRow {
  const kind = JSON.stringify([rank, type, ...quotaKeys])
  const key = client === '' ? kind : JSON.stringify([kind, client])
  const known = ws.streamsByKey.get(key)
  if (known !== undefined) return known
  const row: StreamRow = {
    id: ws.nextStream++,
    key,
    laneRank: rank,
    type,
    quotaKeys,
    depth: 0,
    delayed: 0,
    client,
    group: groupOf(rank, type, quotaKeys),
    head: 0,
    place: 0,
  }
  ws.addStream(row)
  return row
}

/**
 * The part that streams have in common which differ only in their clients; a quota of each client's own makes no
 * difference.
 */
export function groupOf(rank: number, type: string, quotaKeys: readonly string[]): string {
  return JSON.stringify([rank, type, ...sharedKeys(quotaKeys)])
}

/** The quota keys that are not of one client alone. */
export function sharedKeys(quotaKeys: readonly string[]): readonly string[] {
  return quotaKeys.filter((key) => !key.startsWith('client:'))
}

/** A task row that is now queued and put with the changes counts in its stream's depth, or among the delayed. */
export function enqueue(ws: WorkingSet, task: TaskRow): void {
  const stream = streamOf(task)
  if (task.dueAt !== null) return ws.shift(stream, 'delayed', 1)
  const row = ws.shares === undefined ? task : ws.shares.arrive(stream, task)
  ws.shift(stream, 'depth', 1)
  const queued = ws.queued.get(stream)
  if (queued === undefined) ws.queued.set(stream, [row])
  else queued.push(row)
}

/** A queued task leaves its stream, by a claim or a cancel. */
export function dequeue(ws: WorkingSet, task: TaskRow): void {
  ws.shift(streamOf(task), task.dueAt === null ? 'depth' : 'delayed', -1)
}

/** Moves a task's hold on each of its quota keys: a holder is queued, running or none. Source: `docs/semantics.md 2.6`. */
export function hold(ws: WorkingSet, task: TaskRow, from: Holder, to: Holder): void {
  const stream = ws.stream(streamOf(task))
  ws.shares?.hold(stream, task, from, to)
  if (task.account?.asked !== undefined) endAsk(ws, stream, task)
  for (const key of stream.quotaKeys) {
    const row = ws.quota(key)
    ws.putQuota({
      ...row,
      ...shifted(row, from, -1),
      ...shifted({ ...row, ...shifted(row, from, -1) }, to, 1),
    })
  }
}

/** Only a task that was rejected has none. */
export function streamOf(task: TaskRow): number {
  if (task.stream === null) throw new Error(`task ${task.id} has no stream`)
  return task.stream
}

function shifted(row: QuotaRow, holder: Holder, by: number): Partial<QuotaRow> {
  return holder === 'none' ? {} : { [holder]: row[holder] + by }
}
