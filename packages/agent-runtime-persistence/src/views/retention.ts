import {
  prunableStates,
  type Reads,
  type RetentionCount,
  type RetentionDue,
  type RetentionGroup,
  taskStates,
} from '@ku0/agent-runtime-core'
import type { Queries } from './queries.ts'

/** Tasks that one slice looks at: a few ms. */
const SLICE = 5_000
/** Tasks that one answer names. */
const MOST = 1_000

type Row = [id: number, state: number, finishedAt: number, type: string, parent: number | null]

/** Found by its key for each task, since there may be as many streams as clients. */
const TYPE = '(SELECT stream.type FROM stream WHERE stream.id = task.stream) AS type'
const ROW = `SELECT id, state, finished_at, ${TYPE}, parent FROM task`
const IN_REACH = prunableStates
  .map((state) => `(state = ${taskStates.indexOf(state)} AND (finished_at <= ? OR id < ?))`)
  .join(' OR ')

/**
 * Answers what a pass of retention asks: only reads, so that no commit waits for its walk through the tasks that stay. Tasks are sorted by
 * their types here, since a statement may be about so many types only. Source: `docs/semantics.md 6.6`.
 */
export function prepareRetention(db: Queries) {
  const edgeBefore = db
    .prepare<[number], number>(
      `SELECT id FROM task WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ${SLICE - 1}`,
    )
    .pluck()
  const edgeAfter = db
    .prepare<[number], [id: number, submittedAt: number]>(
      `SELECT id, submitted_at FROM task WHERE id > ? ORDER BY id LIMIT 1 OFFSET ${SLICE - 1}`,
    )
    .raw()
  const ended = db
    .prepare<[number, number], [type: string, state: number, count: number]>(
      `SELECT ${TYPE}, state, ended
       FROM (SELECT stream, state, count(*) AS ended FROM task WHERE id >= ? AND id < ? AND state BETWEEN 3 AND 5 GROUP BY stream, state) AS task`,
    )
    .raw()
  const newest = db
    .prepare<[number, number, number], [id: number, type: string]>(
      `SELECT id, ${TYPE} FROM task WHERE id >= ? AND id < ? AND state = ? ORDER BY id DESC`,
    )
    .raw()
  // Children of a task that has not ended, of which there may be many, stay out of it.
  const inReach = db
    .prepare<number[], Row>(
      `${ROW} WHERE id > ? AND id <= ? AND (${IN_REACH})
       AND coalesce((SELECT above.state FROM task AS above WHERE above.id = task.parent), 3) > 2 ORDER BY id`,
    )
    .raw()
  const rowOf = db.prepare<[number], Row>(`${ROW} WHERE id = ?`).raw()
  const openChild = db
    .prepare<[number], number>('SELECT 1 FROM task WHERE parent = ? AND state < 3 LIMIT 1')
    .pluck()
  // Its input, which may be large, is not read for that. A submission that was damaged is looked at by the commit, which keeps its task.
  const withKey = db
    .prepare<[number], number>(
      `SELECT 1 FROM event WHERE task = ? AND seq = 1
       AND CASE WHEN instr(data, '"idempotencyKey":') > 0 AND json_valid(data) THEN data ->> '$.idempotencyKey' IS NOT NULL ELSE false END`,
    )
    .pluck()

  return { newestKept, prunable }

  function newestKept({
    groups,
    before = Number.MAX_SAFE_INTEGER,
  }: Reads['newestKept']['fields']): Reads['newestKept']['answer'] {
    const edge = edgeBefore.get(before)
    const from = edge ?? 0
    const inSlice = countsIn(ended.all(from, before))
    const rows = new Map<string, [id: number, type: string][]>()
    /** The number of the task of a group with which those that are wanted are found, from the newest on. */
    const lastOf = (group: RetentionCount): number => {
      const ofState = rows.get(group.state) ?? newest.all(from, before, taskStates.indexOf(group.state))
      rows.set(group.state, ofState)
      const isOf = membersOf(group)
      return ofState.filter(([, type]) => isOf(type))[group.left - 1]?.[0] ?? from
    }
    const count = (group: RetentionCount): RetentionCount => {
      const found = group.from === undefined ? inSlice(group) : 0
      return found < group.left
        ? { ...group, left: group.left - found }
        : found === 0
          ? group
          : { ...group, left: 0, from: lastOf(group) }
    }
    // They may take several questions each.
    db.ahead(groups, count)
    const counted = groups.map(count)
    const isOver = edge === undefined || counted.every(({ left }) => left === 0)
    return { groups: counted, ...(isOver ? {} : { next: edge }) }
  }

  function prunable({ groups, keysUntil, after }: Reads['prunable']['fields']): Reads['prunable']['answer'] {
    if (groups.length === 0) return { tasks: [] }
    const edge = edgeAfter.get(after)
    const upTo = edge?.[0] ?? Number.MAX_SAFE_INTEGER
    const isDue = dueBy(groups)
    const due = inReach.all(after, upTo, ...reachOf(groups)).filter(isDue)
    const some = due.slice(0, MOST)
    const stays = staying(isDue, keysUntil)
    db.ahead(some, stays)
    const tasks = some.filter((row) => !stays(row)).map(([id]) => id)
    const last = due.length > MOST ? some.at(-1)?.[0] : undefined
    if (last !== undefined) return { tasks, next: last }
    return { tasks, ...(edge === undefined || isBehind(edge, groups) ? {} : { next: upTo }) }
  }

  /** Whether a task that is due stays all the same: with a key in use, with a child that has not ended, or below a task that stays. */
  function staying(isDue: (row: Row) => boolean, keysUntil: number): (row: Row) => boolean {
    const known = new Map<number, boolean>()
    const isThere = (id: number): boolean => {
      const row = rowOf.get(id)
      return row !== undefined && (!isDue(row) || stays(row))
    }
    const staysAbove = (id: number): boolean => {
      const it = known.get(id) ?? isThere(id)
      known.set(id, it)
      return it
    }
    const stays = ([id, , finishedAt, , parent]: Row): boolean =>
      (parent !== null && staysAbove(parent)) ||
      openChild.get(id) !== undefined ||
      (finishedAt > keysUntil && withKey.get(id) !== undefined)
    return stays
  }
}

/** Whether all that follow are kept: they are numbered as they were submitted, so they are younger. */
function isBehind([id, submittedAt]: readonly [number, number], groups: readonly RetentionDue[]): boolean {
  return groups.every(({ until = -1, below = 0 }) => submittedAt > until && id + 1 >= below)
}

/** How many tasks of a group are among those of some types and states. */
function countsIn(
  counted: readonly [type: string, state: number, count: number][],
): (group: RetentionGroup) => number {
  const sums = new Map<string, number>()
  for (const [type, state, count] of counted)
    for (const name of [nameOf(taskStates[state]), nameOf(taskStates[state], type)])
      sums.set(name, (sums.get(name) ?? 0) + count)
  const sum = (state: string, type?: string) => sums.get(nameOf(state, type)) ?? 0
  return ({ state, type, except }) =>
    type === undefined
      ? [...new Set(except)].reduce((left, other) => left - sum(state, other), sum(state))
      : sum(state, type)
}

/** Whether a task is due by its state, type, number and end alone. */
function dueBy(groups: readonly RetentionDue[]): (row: Row) => boolean {
  const byName = Map.groupBy(
    groups.map((group) => ({ ...group, isOf: membersOf(group) })),
    ({ state, type }) => nameOf(state, type),
  )
  return ([id, state, finishedAt, type]) =>
    [nameOf(taskStates[state]), nameOf(taskStates[state], type)].some((name) =>
      byName
        .get(name)
        ?.some(({ isOf, until = -1, below = 0 }) => (finishedAt <= until || id < below) && isOf(type)),
    )
}

/** Which of the tasks of its state are of a group, by their types. */
function membersOf({ type: own, except }: RetentionGroup): (type: string) => boolean {
  const others = new Set(except)
  return (type) => (own === undefined ? !others.has(type) : type === own)
}

function nameOf(state = '', type?: string): string {
  return type === undefined ? state : `${state} ${type}`
}

/** How far the groups of each state reach: the latest end, and the number. */
function reachOf(groups: readonly RetentionDue[]): readonly number[] {
  return prunableStates.flatMap((of) => {
    let [end, number] = [-1, 0]
    for (const { state, until = -1, below = 0 } of groups)
      if (state === of) [end, number] = [Math.max(end, until), Math.max(number, below)]
    return [end, number]
  })
}
