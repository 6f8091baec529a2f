import {
  type PerState,
  type PrunableRow,
  type PrunableState,
  type TaskRow,
} from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import { costBy, type ReadEvent } from '../views/spent.ts'

/** Reads tasks that ended, with all that has to be known before one of them is deleted. Source: `docs/semantics.md 6.6`. */
export function preparePrunable(db: Queries): (task: TaskRow) => PrunableRow {
  const typeOf = db
    .prepare<[number], [type: string, client: string]>('SELECT type, client FROM stream WHERE id = ?')
    .raw()
  const parentOf = db.prepare<[number], number>('SELECT 1 FROM task WHERE id = ?').pluck()
  const openChild = db
    .prepare<[number], number>('SELECT 1 FROM task WHERE parent = ? AND state < 3 LIMIT 1')
    .pluck()
  const lastRun = db.prepare<[number], number>('SELECT 1 FROM schedule WHERE last_task = ? LIMIT 1').pluck()
  const newest = db
    .prepare<[], number>(
      'SELECT max(id) AS id FROM task UNION ALL SELECT task FROM lease WHERE id = (SELECT max(id) FROM lease)',
    )
    .pluck()
  // What a task was given and gave back may be large, and is not asked for.
  const events = db
    .prepare<[number], [seq: number, type: string, data: string | null, blob: string | null, hash: Buffer]>(
      `SELECT seq, type, CASE WHEN seq = 1 OR type IN ('task.started', 'task.requeued', 'task.failed') OR data LIKE '%"charged"%' THEN data END AS data, blob, hash
       FROM event WHERE task = ? ORDER BY seq`,
    )
    .raw()

  return (row) => {
    const { id, parent, stream } = row
    const asked = {
      stream: () => (stream === null ? undefined : typeOf.get(stream)),
      events: () => events.all(id),
      parent: () => (parent === null ? undefined : parentOf.get(parent)),
      child: () => openChild.get(id),
      schedule: () => lastRun.get(id),
      newest: () => newest.all(),
    }
    // A commit waits for the answers: where they take their time, all are asked for at once.
    db.ahead(Object.values(asked), (read) => read())
    const [type = '', client = ''] = asked.stream() ?? []
    const list = asked.events()
    const read = list.map(
      ([seq, kind, data, , hash]): ReadEvent & { readonly hash: Buffer; readonly seq: number } => ({
        seq,
        type: kind,
        hash,
        it: parsed(data),
      }),
    )
    const first = read[0]?.it ?? {}
    const key = first['idempotencyKey']
    return {
      id,
      state: row.state as PrunableState,
      type,
      finishedAt: row.finishedAt ?? 0,
      parent: asked.parent() === undefined ? null : parent,
      hasOpenChildren: asked.child() !== undefined,
      isLastRun: asked.schedule() !== undefined,
      isDamaged: read.some(({ it }) => it === damaged),
      isNewest: asked.newest().includes(id),
      key: typeof key === 'string' ? key : null,
      leases: read.flatMap(({ type: kind, it }) =>
        kind === 'task.started' ? [it['dispatch'] as number] : [],
      ),
      blobs: list.flatMap(([, , , blob]) => (blob === null ? [] : [blob])),
      hashes: Buffer.concat(read.map(({ hash }) => hash)),
      sums: sumsOf(row, read),
      named: namedOf(row, client, read),
    }
  }
}

/** Stands for the data of an event that was damaged. */
const damaged: Readonly<Record<string, unknown>> = {}

/** The data of an event, none where it was not asked for. */
function parsed(data: string | null): Readonly<Record<string, unknown>> {
  if (data === null) return {}
  try {
    return JSON.parse(data) as Record<string, unknown>
  } catch {
    return damaged
  }
}

/** How many tasks retention has deleted, by their final state. */
export function prepareRetired(db: Queries): () => PerState {
  const sum = db.prepare<[string], number>('SELECT value FROM retired WHERE name = ?').pluck()
  const of = (state: PrunableState) => sum.get(`state ${state}`) ?? 0
  return () => ({ completed: of('completed'), failed: of('failed'), canceled: of('canceled') })
}

/** What a task adds to the sums that only rise, and that `verify` counts from the tasks that are there. */
function sumsOf({ state }: TaskRow, events: readonly ReadEvent[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>([[`state ${state}`, 1]])
  const add = (name: string) => void sums.set(name, (sums.get(name) ?? 0) + 1)
  for (const { type, it } of events) {
    const { reason, kind } = it
    if (type === 'task.requeued') {
      add('requeued')
      if (reason === 'yielded') add('preempted')
      if (reason === 'expired' || reason === 'owner_dead') add('expired')
    }
    if (type === 'task.failed' && (kind === 'poisoned' || kind === 'lease_lost')) add('expired')
  }
  return sums
}

/** What it adds to the sums of its client and of its schedule, which are `verify`'s upper bounds. */
function namedOf(
  { account }: TaskRow,
  client: string,
  events: readonly ReadEvent[],
): ReadonlyMap<string, number> {
  const named = new Map<string, number>()
  const schedule = events[0]?.it['schedule']
  if (typeof schedule === 'string') named.set(`schedule ${schedule}`, 1)
  const cost = account === null || account.charge === null ? 0 : costBy(events) || account.cost
  if (cost > 0) named.set(`client ${client}`, cost)
  return named
}
