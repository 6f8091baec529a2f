import {
  isFinal,
  RESTART_NAME,
  supervisedIn,
  type SupervisorRecord,
  supervisorTerms,
  type TaskRecord,
} from '@ku0/agent-runtime-core'
import type { TaskRow } from '@ku0/agent-runtime-core/transition'
import type { ReadContext } from './read-context.ts'

/** Answers what is asked of a supervisor; undefined for a task that never was one. */
export function prepareSupervisors(
  { load }: ReadContext['tables'],
  nameOf: (row: TaskRow) => string,
  recordOf: (row: TaskRow) => TaskRecord,
): (row: TaskRow) => SupervisorRecord | undefined {
  return (row) => {
    const terms = load
      .waits(row.id)
      .map(({ key }) => supervisorTerms(key))
      .find((found) => found !== undefined)
    const children = load.children(row.id).flatMap(({ key, task, position }) => {
      const seat = supervisedIn(key)
      const child = seat === undefined ? undefined : load.task(task)
      return seat === undefined || child === undefined ? [] : [{ ...seat, position, child }]
    })
    if (terms === undefined && children.length === 0) return undefined
    return {
      taskId: nameOf(row),
      ...(terms === undefined ? {} : { terms }),
      restartedAt: load.signals(row.id).flatMap(({ name, at }) => (name === RESTART_NAME ? [at] : [])),
      children: children
        .filter(({ restart, child }) => restart !== 'temporary' || !isFinal(child.state))
        .toSorted((a, b) => a.position - b.position || a.child.id - b.child.id)
        .map(({ id, restart, child }) => ({
          id,
          restart,
          taskId: nameOf(child),
          type: recordOf(child).type,
          state: child.state,
          attempt: child.attempt,
        })),
    }
  }
}
