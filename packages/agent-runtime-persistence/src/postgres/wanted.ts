import {
  checkpointText,
  memoSeqs,
  type Kinds,
  type Loaded,
  type Wanted,
  blobReference,
} from '@ku0/agent-runtime-core/transition'
import { blobs, checkpoints, events, keys, leases, tasks } from './tables.ts'
import type { Connection } from './table.ts'
import { unwritten } from './unwritten.ts'

type Find<K extends keyof Kinds> = (
  on: Connection,
  names: readonly Kinds[K]['name'][],
) => Promise<readonly Kinds[K]['found'][]>

/** Answers what a flush wants: one statement for each kind, however many names there are. */
export async function loadWanted(
  on: Connection,
  wanted: Wanted,
  sha256Hex: (text: string) => string,
): Promise<Loaded> {
  const finds: { readonly [K in keyof Kinds]?: Find<K> } = {
    tasks: (_, ids) => tasks.select(on, 'WHERE id = ANY($1::bigint[])', [ids]),
    leases: (_, ids) => leases.select(on, 'WHERE id = ANY($1::bigint[])', [ids]),
    explicitIds: async (_, ids) => {
      const found = await tasks.select(on, 'WHERE explicit_id = ANY($1::text[])', [ids])
      return found.map(({ explicitId, id }) => [explicitId ?? '', id] as const)
    },
    keys: (_, names) => keys.select(on, 'WHERE key = ANY($1::text[])', [names]),
    memos: memosOf,
    events: eventsOf,
    blobs: async (_, names) => {
      const found = await blobs.select(on, 'WHERE sha256 = ANY($1::text[])', [names])
      return found.map(({ sha256, data }) => [sha256, data] as const)
    },
    heads: headsOf,
    submissions: async (_, ids) => {
      const found = await eventsOf(
        on,
        ids.map((task) => [task, 1] as const),
      )
      return found.map(([task, , data]) => [task, data] as const)
    },
    checkpoints: async (_, ids) => {
      const found = await checkpoints.select(on, 'WHERE task = ANY($1::bigint[])', [ids])
      const said = await eventsOf(
        on,
        found.map(({ task, seq }) => [task, seq] as const),
      )
      const texts = new Map(said.map(([task, , data]) => [task, data]))
      return found
        .filter(({ task, data }) => texts.get(task) === checkpointText(data, sha256Hex))
        .map(({ task, data }) => [task, data] as const)
    },
  }
  const loaded: Record<string, readonly unknown[]> = {}
  for (const [kind, names] of Object.entries(wanted) as [keyof Kinds, readonly never[]][]) {
    const find = finds[kind] as Find<keyof Kinds> | undefined
    if (find === undefined) throw unwritten(`loading ${kind}`)
    loaded[kind] = names.length === 0 ? [] : await find(on, names)
  }
  return loaded
}

/** There are no rejections yet, which make memos void. */
async function memosOf(on: Connection, ids: readonly number[]): Promise<readonly Kinds['memos']['found'][]> {
  const found = await events.select(
    on,
    "WHERE task = ANY($1::bigint[]) AND type IN ('step.completed', 'step.inherited')",
    [ids],
  )
  return ids.map((id) => {
    const own = found.filter(({ task }) => task === id)
    const steps = own.map(({ seq, data }) => [(JSON.parse(data) as { key: string }).key, seq] as const)
    return [id, memoSeqs(steps, [])] as const
  })
}

async function eventsOf(
  on: Connection,
  names: readonly Kinds['events']['name'][],
): Promise<readonly Kinds['events']['found'][]> {
  const found = await events.select(
    on,
    'WHERE (task, seq) IN (SELECT * FROM unnest($1::bigint[], $2::integer[]))',
    [names.map(([task]) => task), names.map(([, seq]) => seq)],
  )
  const moved = found.flatMap(({ blob }) => (blob === null ? [] : [blob]))
  const texts = moved.length === 0 ? [] : await blobs.select(on, 'WHERE sha256 = ANY($1::text[])', [moved])
  const textOf = new Map(texts.map(({ sha256, data }) => [sha256, data]))
  return found.map(({ task, seq, data, blob }) => {
    const text = blob === null ? '' : (textOf.get(blob) ?? '')
    return [task, seq, blob === null ? data : data.replace(blobReference(blob, text.length), () => text)]
  })
}

async function headsOf(
  on: Connection,
  wanted: readonly Kinds['heads']['name'][],
): Promise<readonly Kinds['heads']['found'][]> {
  const found = await tasks.select(
    on,
    `JOIN unnest($1::bigint[], $2::bigint[], $3::integer[]) AS wanted (of, after, most) ON task.id IN (
       SELECT queued.id FROM task AS queued
       WHERE queued.stream = wanted.of AND queued.state = 'queued' AND queued.due_at IS NULL AND queued.id > wanted.after
       ORDER BY queued.id LIMIT wanted.most)
     ORDER BY task.id`,
    [wanted.map(({ stream }) => stream), wanted.map(({ after }) => after), wanted.map(({ limit }) => limit)],
  )
  return wanted.map((it) => {
    const rows = found.filter(({ stream }) => stream === it.stream)
    return { ...it, rows, texts: rows.map(() => null) }
  })
}
