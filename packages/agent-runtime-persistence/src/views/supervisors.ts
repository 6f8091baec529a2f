import {
  isFinal,
  type Reads,
  RESTART_NAME,
  shutdownIn,
  supervisedIn,
  type SupervisorRecord,
  type SupervisorSummary,
  supervisorTerms,
  type SupervisorTerms,
  type TaskRecord,
  taskStates,
} from '@ku0/agent-runtime-core'
import type { TaskRow } from '@ku0/agent-runtime-core/transition'
import type { ReadContext } from './read-context.ts'

/** Answers what is asked of supervisors. */
export function prepareSupervisors(
  { db, tables: { load }, now }: ReadContext,
  nameOf: (row: TaskRow) => string,
  recordOf: (row: TaskRow) => TaskRecord,
) {
  // The conditions are those of the indexes `wait_supervisor` and `child_supervised`, word for word, so that both are taken.
  const supervising = db
    .prepare<[number, number], number>(
      `SELECT task FROM wait WHERE name = '$ku0/supervisor' AND task < ? ORDER BY task DESC LIMIT ? + 0`,
    )
    .pluck()
  // From one parent to the next: a supervisor with a thousand children costs as much as one with a single one.
  const parents = db
    .prepare<[number, number], number>(
      `WITH RECURSIVE parents (task, place) AS (
         SELECT max(parent), 1 FROM child WHERE ${SUPERVISED} AND parent < ?
         UNION ALL
         SELECT (SELECT max(parent) FROM child WHERE ${SUPERVISED} AND parent < parents.task), place + 1
           FROM parents WHERE task IS NOT NULL AND place < ?
       )
       SELECT task FROM parents WHERE task IS NOT NULL`,
    )
    .pluck()
  const counts = db.prepare<[number], { state: number; temporary: number; count: number }>(
    `SELECT task.state AS state, ${TEMPORARY} AS temporary, count(*) AS count
       FROM child JOIN task ON task.id = child.task
       WHERE child.parent = ? AND ${SUPERVISED} GROUP BY task.state, ${TEMPORARY}`,
  )

  const termsOf = (row: TaskRow): SupervisorTerms | undefined =>
    load
      .waits(row.id)
      .map(({ key }) => supervisorTerms(key))
      .find((found) => found !== undefined)
  /** Those that count now. */
  const restartsOf = (row: TaskRow, terms: SupervisorTerms | undefined): readonly number[] => {
    if (terms === undefined) return []
    const from = now().at - terms.periodMs
    return load.signals(row.id).flatMap(({ name, at }) => (name === RESTART_NAME && at >= from ? [at] : []))
  }

  function summary(row: TaskRow): SupervisorSummary {
    const terms = termsOf(row)
    const children = { total: 0, open: 0, running: 0 }
    for (const { state, temporary, count } of counts.all(row.id)) {
      const name = taskStates[state]
      if (name === undefined || (temporary === 1 && isFinal(name))) continue
      children.total += count
      if (!isFinal(name)) children.open += count
      if (name === 'running') children.running += count
    }
    return {
      taskId: nameOf(row),
      type: recordOf(row).type,
      state: row.state,
      ...(terms === undefined ? {} : { terms }),
      children,
      restarts: restartsOf(row, terms).length,
    }
  }

  return {
    /** The supervisor that a task is; undefined for a task that never was one. */
    of(row: TaskRow): SupervisorRecord | undefined {
      const terms = termsOf(row)
      const children = load.children(row.id).flatMap(({ key, task, position }) => {
        const seat = supervisedIn(key)
        const child = seat === undefined ? undefined : load.task(task)
        return seat === undefined || child === undefined ? [] : [{ ...seat, position, child }]
      })
      if (terms === undefined && children.length === 0) return undefined
      const parentId = nameOf(row)
      return {
        taskId: parentId,
        ...(terms === undefined ? {} : { terms }),
        restartedAt: restartsOf(row, terms),
        children: children
          .filter(({ restart, child }) => restart !== 'temporary' || !isFinal(child.state))
          .toSorted((a, b) => a.position - b.position || a.child.id - b.child.id)
          .map(({ id, restart, child }) => {
            const { type, labels } = recordOf(child)
            const shutdownMs = shutdownIn({ parentId, labels })
            return {
              id,
              restart,
              taskId: nameOf(child),
              type,
              state: child.state,
              attempt: child.attempt,
              ...(shutdownMs === undefined ? {} : { shutdownMs }),
            }
          }),
      }
    },
    /** Newest first. */
    page({
      limit,
      before = Number.MAX_SAFE_INTEGER,
      supervising: only = false,
    }: Reads['supervisors']['fields']): Reads['supervisors']['answer'] {
      const ids = [
        ...new Set([...supervising.all(before, limit + 1), ...(only ? [] : parents.all(before, limit + 1))]),
      ].toSorted((a, b) => b - a)
      const page = ids.slice(0, limit)
      const cursor = ids.length > limit ? page.at(-1) : undefined
      const supervisors = page.flatMap((id) => {
        const row = load.task(id)
        return row === undefined ? [] : [summary(row)]
      })
      return { supervisors, ...(cursor === undefined ? {} : { cursor }) }
    },
  }
}

const SUPERVISED = `key >= '$ku0/supervised/' AND key < '$ku0/supervised0'`
const TEMPORARY = `CASE WHEN key >= '$ku0/supervised/temporary/' AND key < '$ku0/supervised/temporary0' THEN 1 ELSE 0 END`
