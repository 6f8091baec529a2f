import { mergeHeads, type Heads, type TaskRow } from '@ku0/agent-runtime-core/transition'

/** What a flush did to the heads of one stream. */
interface HeadsFlushed {
  readonly stream: number
  /** Tasks that became claimable. */
  readonly queued: readonly TaskRow[]
  /** How many of the first were taken. */
  readonly taken: number
  /** All tasks that the flush has changed. */
  readonly changed: ReadonlyMap<number, TaskRow>
  /** So many are kept. */
  readonly most: number
}

interface HeadsLeft extends Heads {
  /** Those of its rows that are not as they were. */
  readonly fresh: readonly TaskRow[]
  /** Those that there was no place for. */
  readonly dropped: readonly TaskRow[]
}

/**
 * The heads of a stream after a flush; `known` itself when they are the same. A flush that submits one task, or takes the first, leaves hundreds as
 * they were: only what lies behind the first row that changed is looked at. Single submissions cost a seventh less by it.
 */
export function headsLeft(known: Heads, it: HeadsFlushed): Heads | HeadsLeft {
  const merged = mergeHeads(known.rows, it.queued, known.upTo, known.complete)
  const left = it.taken === 0 ? merged : merged.slice(it.taken)
  const same = firstChanged(left, it.changed)
  if (same === left.length && left === known.rows) return known
  const behind = left.slice(same).flatMap((row) => {
    const task = it.changed.get(row.id) ?? row
    return task.state === 'queued' && task.dueAt === null && task.stream === it.stream ? [task] : []
  })
  const rows = same === left.length ? left : [...left.slice(0, same), ...behind]
  const kept = rows.length > it.most ? rows.slice(0, it.most) : rows
  const dropped = rows.slice(kept.length)
  const complete = known.complete && dropped.length === 0
  const upTo = complete ? Number.MAX_SAFE_INTEGER : dropped.length === 0 ? known.upTo : (kept.at(-1)?.id ?? 0)
  return { rows: kept, upTo, complete, fresh: kept.slice(same), dropped }
}

/** Where the first of these rows stands that a flush has changed, or that comes after one: they are in order. */
function firstChanged(rows: readonly TaskRow[], changed: ReadonlyMap<number, TaskRow>): number {
  const [first] = rows
  if (first === undefined) return 0
  let least = Number.POSITIVE_INFINITY
  for (const id of changed.keys()) if (id >= first.id && id < least) least = id
  let at = rows.length
  while (at > 0 && (rows[at - 1] as TaskRow).id >= least) at -= 1
  return at
}
