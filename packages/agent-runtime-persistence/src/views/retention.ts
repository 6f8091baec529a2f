import { type Counting, type DueGroup, type Reads, type RuleGroup, taskStates } from '@ku0/agent-runtime-core'
import type { Queries } from './queries.ts'

/** Tasks that one slice looks at: a few ms. */
const SLICE = 5_000
/** Tasks that one answer names. */
const MOST = 1_000

interface Condition {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Answers what a pass of retention asks: only reads, so that no commit waits for its walk through the tasks that stay. Source: `docs/semantics.md 6.6`. */
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
      `SELECT stream.type, it.state, it.ended
       FROM (SELECT stream, state, count(*) AS ended FROM task WHERE id >= ? AND id < ? AND state BETWEEN 3 AND 5 GROUP BY stream, state) AS it
       JOIN stream ON stream.id = it.stream`,
    )
    .raw()

  return { newestKept, prunable }

  function newestKept({
    groups,
    before = Number.MAX_SAFE_INTEGER,
  }: Reads['newestKept']['fields']): Reads['newestKept']['answer'] {
    const edge = edgeBefore.get(before)
    const from = edge ?? 0
    const counts = ended.all(from, before)
    const inSlice = (group: RuleGroup) =>
      counts.reduce(
        (sum, [type, state, count]) =>
          taskStates[state] === group.state && isOf(group, type) ? sum + count : sum,
        0,
      )
    const count = (group: Counting): Counting => {
      const found = group.from === undefined ? inSlice(group) : 0
      return found < group.left
        ? { ...group, left: group.left - found }
        : found === 0
          ? group
          : { ...group, left: 0, from: lastOf(group, from, before) }
    }
    // They may take several questions each.
    db.ahead(groups, count)
    const counted = groups.map(count)
    const isOver = edge === undefined || counted.every(({ left }) => left === 0)
    return { groups: counted, ...(isOver ? {} : { next: edge }) }
  }

  /** The number of the task of a group with which those that are wanted are found, from the newest on. */
  function lastOf(group: Counting, from: number, before: number): number {
    const { text, values } = ofGroup(group)
    const last = db
      .prepare<unknown[], number>(
        `SELECT id FROM task WHERE id >= ? AND id < ? AND ${text} ORDER BY id DESC LIMIT 1 OFFSET ? + 0`,
      )
      .pluck()
    return last.get(from, before, ...values, group.left - 1) ?? from
  }

  function prunable({ groups, keysUntil, after }: Reads['prunable']['fields']): Reads['prunable']['answer'] {
    if (groups.length === 0) return { tasks: [] }
    const edge = edgeAfter.get(after)
    const upTo = edge?.[0] ?? Number.MAX_SAFE_INTEGER
    const due = groups.map(dueIn)
    const tasks = db
      .prepare<unknown[], number>(
        `SELECT id FROM task WHERE id > ? AND id <= ? AND (${due.map(({ text }) => text).join(' OR ')}) AND (finished_at <= ? OR NOT ${HAS_KEY}) ORDER BY id LIMIT ${MOST}`,
      )
      .pluck()
      .all(after, upTo, ...due.flatMap(({ values }) => values), keysUntil)
    const last = tasks.length === MOST ? tasks.at(-1) : undefined
    if (last !== undefined) return { tasks, next: last }
    return { tasks, ...(edge === undefined || isBehind(edge, groups) ? {} : { next: upTo }) }
  }
}

/** Its input, which may be large, is not read for that. A submission that was damaged is looked at by the commit, which keeps its task. */
const HAS_KEY = `(SELECT CASE WHEN instr(data, '"idempotencyKey":') > 0 AND json_valid(data) THEN data ->> '$.idempotencyKey' IS NOT NULL ELSE false END FROM event WHERE event.task = task.id AND event.seq = 1)`

/** Whether all that follow are kept: they are numbered as they were submitted, so they are younger. */
function isBehind([id, submittedAt]: readonly [number, number], groups: readonly DueGroup[]): boolean {
  return groups.every(({ until = -1, below = 0 }) => submittedAt > until && id + 1 >= below)
}

function isOf({ type: own, except = [] }: RuleGroup, type: string): boolean {
  return own === undefined ? !except.includes(type) : type === own
}

function ofGroup({ state, type, except = [] }: RuleGroup): Condition {
  const number = taskStates.indexOf(state)
  if (type !== undefined)
    return {
      text: 'state = ? AND stream IN (SELECT stream.id FROM stream WHERE stream.type = ?)',
      values: [number, type],
    }
  if (except.length === 0) return { text: 'state = ?', values: [number] }
  return {
    text: `state = ? AND stream NOT IN (SELECT stream.id FROM stream WHERE stream.type IN (${except.map(() => '?').join(', ')}))`,
    values: [number, ...except],
  }
}

function dueIn(group: DueGroup): Condition {
  const { text, values } = ofGroup(group)
  const { until = -1, below = 0 } = group
  return { text: `(${text} AND (finished_at <= ? OR id < ?))`, values: [...values, until, below] }
}
