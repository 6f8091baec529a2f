import type {
  MissingCredits,
  QueueReason,
  WaitCount,
  WaitHistogram,
  WaitReason,
} from '@ku0/agent-runtime-core'
import type { TaskRow } from '@ku0/agent-runtime-core/transition'
import { prepareQueueView, type QueueContext } from './queue-view.ts'
import { WAITING_BY_INDEX } from '../sqlite/schema.ts'

interface Found {
  readonly reason: QueueReason | WaitReason
  readonly state: WaitCount['state']
  readonly count: number
  /** The task that comes first of them. */
  readonly task: number
  /** For credits. */
  readonly clients?: Clients
}
type Clients = NonNullable<WaitCount['clients']>

/** The most clients without credits that an answer names. */
const MAX_CLIENTS = 100

/** Counts why tasks wait: those that are queued by their streams, those that wait by the index of such tasks. */
export function prepareWaitCounts(
  context: QueueContext,
  view: ReturnType<typeof prepareQueueView>,
): () => WaitHistogram {
  const { db, tables } = context
  const { load, ids } = tables
  const head = db.prepare<[number], { id: number; fence: number; tokens: number }>(
    'SELECT id, fence, tokens FROM task WHERE stream = ? AND state = 0 AND due_at IS NULL ORDER BY id LIMIT 1',
  )
  const nextDue = db
    .prepare<[], number>(
      'SELECT id FROM task WHERE due_at IS NOT NULL AND state = 0 ORDER BY due_at, id LIMIT 1',
    )
    .pluck()
  const waiting = db.prepare<[], { reason: WaitReason; count: number; task: number }>(
    `SELECT wait_reason AS reason, count(*) AS count, min(id) AS task FROM task WHERE ${WAITING_BY_INDEX} GROUP BY wait_reason`,
  )

  return () => {
    const queue = view()
    const found: Found[] = waiting.all().map((it) => ({ ...it, state: 'waiting' }))
    for (const stream of queue.queued) {
      const first = head.get(stream.id)
      if (first === undefined) continue
      const { waitsFor = 'slot', credits } = queue.obstacle(stream, first) ?? {}
      const counted = { reason: waitsFor, state: 'queued', count: stream.depth, task: first.id } as const
      found.push(
        credits === undefined ? counted : { ...counted, clients: [{ ...credits, count: stream.depth }] },
      )
    }
    const due = queue.delayed === 0 ? undefined : nextDue.get()
    if (due !== undefined) found.push({ reason: 'delay', state: 'queued', count: queue.delayed, task: due })

    const sum = (state: WaitCount['state']) =>
      found.reduce((total, it) => total + (it.state === state ? it.count : 0), 0)
    return {
      queued: sum('queued'),
      waiting: sum('waiting'),
      reasons: together(found)
        .map(({ task, ...it }) => {
          const row = load.task(task) as TaskRow
          const ageMs = Math.max(0, queue.at - row.submittedAt)
          return { ...it, oldest: { taskId: row.explicitId ?? ids.task(task), ageMs } }
        })
        .toSorted((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
    }
  }
}

/** One for each reason; of several streams the task that was submitted first. */
function together(found: readonly Found[]): readonly Found[] {
  const byReason = new Map<string, Found>()
  for (const it of found) {
    const known = byReason.get(it.reason)
    byReason.set(
      it.reason,
      known === undefined
        ? it
        : {
            ...known,
            count: known.count + it.count,
            task: Math.min(known.task, it.task),
            ...(it.clients === undefined ? {} : { clients: [...(known.clients ?? []), ...it.clients] }),
          },
    )
  }
  return [...byReason.values()].map(({ clients, ...it }) =>
    clients === undefined ? it : { ...it, clients: clientsOf(clients) },
  )
}

/** One for each client, with the queue of it that needs the least. */
function clientsOf(found: Clients): Clients {
  const byName = new Map<string, MissingCredits & { readonly count: number }>()
  for (const it of found) {
    const known = byName.get(it.client)
    if (known === undefined) byName.set(it.client, it)
    else {
      const least = it.missing < known.missing ? it : known
      byName.set(it.client, { ...least, count: known.count + it.count })
    }
  }
  return [...byName.values()]
    .toSorted((a, b) => b.count - a.count || (a.client < b.client ? -1 : 1))
    .slice(0, MAX_CLIENTS)
}
