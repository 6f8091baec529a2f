import type { EventData } from '../event/event.ts'
import { type BackOff, quotaKey, quotaKeysOf, type QuotaNames } from './quota.ts'
import { isFinal } from '../task/states.ts'
import { dequeue, enqueue, streamOf, streamWith } from '../queue/stream.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * No task that holds one of these keys starts before the time that a provider named; one named before stays when it is later. A
 * key that was never blocked may be one that nothing limits: then it is counted from now on, and all that name it hold it.
 * Source: `docs/semantics.md 2.8`.
 */
export function block(ws: WorkingSet, backOff: BackOff | undefined): void {
  if (backOff === undefined) return
  const until = untilOf(ws, backOff)
  for (const key of backOff.keys) {
    const known = ws.quotaRow(key)?.blockedUntil ?? 0
    if (known === 0) for (const task of tasksNaming(ws, key)) takeKey(ws, task, key)
    if (until > known) ws.putQuota({ ...ws.quota(key), blockedUntil: until })
  }
}

/** The text in an event's data. */
export function backOffText(ws: WorkingSet, backOff: BackOff | undefined): string {
  if (backOff === undefined) return ''
  return `"backOff":{"keys":${JSON.stringify(backOff.keys)},"until":${untilOf(ws, backOff)}},`
}

function untilOf(ws: WorkingSet, { retryAfterMs }: BackOff): number {
  return Math.ceil(ws.now.at + retryAfterMs)
}

/** Tasks that are not over and name a key that their stream does not have. */
function tasksNaming(ws: WorkingSet, key: string): readonly TaskRow[] {
  const fresh = ws.events
    .filter(({ type }) => type === 'task.queued')
    .filter(({ data }) => quotaKeysOf(JSON.parse(data) as QuotaNames).includes(key))
    .map(({ task }) => task)
  const models = fallenBackNow(ws)
  const now = [...models].flatMap(([task, model]) => (quotaKey('model', model) === key ? [task] : []))
  const before = [...(ws.base.naming.get(key) ?? []), ...fresh].filter(
    (id) => !key.startsWith(quotaKey('model', '')) || !models.has(id),
  )
  return [...before, ...now].flatMap((id) => {
    const task = ws.task(id)
    if (task === undefined || isFinal(task.state) || ws.stream(streamOf(task)).quotaKeys.includes(key))
      return []
    return [task]
  })
}

/** The tasks that have got another model in this flush. */
function fallenBackNow(ws: WorkingSet): ReadonlyMap<number, string> {
  const models = new Map<number, string>()
  for (const { task, type, data } of ws.events) {
    if (type !== 'task.requeued') continue
    const { recovery } = JSON.parse(data) as EventData['task.requeued']
    if (recovery?.model !== undefined) models.set(task, recovery.model)
  }
  return models
}

/** The task keeps its place: it is its sequence that orders it among those of its new stream. */
function takeKey(ws: WorkingSet, task: TaskRow, key: string): void {
  const from = ws.stream(streamOf(task))
  const to = streamWith(ws, from, [...from.quotaKeys, key].toSorted())
  const row = { ...task, stream: to.id }
  ws.tasks.put(row.id, row)
  // Into the new stream first: its client has always had a task queued.
  if (task.state === 'queued') {
    enqueue(ws, row)
    dequeue(ws, task)
  }
  const { state } = task
  const counters = ws.quota(key)
  if (state === 'queued' || state === 'running') ws.putQuota({ ...counters, [state]: counters[state] + 1 })
}
