import { isFinal } from '@ku0/agent-runtime-core'
import { isDeepStrictEqual } from 'node:util'
import type { Run, TaskFact } from './measurements.ts'

/** Tasks whose submission was acknowledged and that are not in the store, or not in a final state, and children that are not. By id. */
export function lostTasks(run: Run): readonly string[] {
  const found = new Map(run.tasks.map((task) => [task.taskId, task]))
  const acknowledged = new Set(
    run.submissions.filter(({ accepted }) => accepted).map(({ taskId }) => taskId ?? '?'),
  )
  const children = run.tasks.filter(({ parent, state }) => parent !== null && !isFinal(state))
  const missing = [...acknowledged].filter((taskId) => {
    const task = found.get(taskId)
    return task === undefined || !isFinal(task.state) || task.state === 'rejected'
  })
  return [...missing, ...children.map(({ taskId }) => taskId)]
}

/** Rows that stem from no submission, call or parent, or the second row of one. A refused submission leaves a row without its label. */
export function inventedTasks(run: Run): readonly TaskFact[] {
  const planned = new Set(run.workload.map(({ n }) => n))
  const refused = new Set(run.submissions.filter(({ accepted }) => !accepted).map(({ taskId }) => taskId))
  const seen = new Set<number>()
  const granted = new Set(run.calls.map(({ taskId }) => taskId))
  const known = new Set(run.tasks.map(({ taskId }) => taskId))
  return run.tasks.filter(({ taskId, state, n, parent }) => {
    if (parent !== null) return !known.has(parent)
    if (granted.has(taskId)) return false
    if (state === 'rejected') return !refused.has(taskId)
    if (n === null || !planned.has(n) || seen.has(n)) return true
    seen.add(n)
    return false
  })
}

/** Completed tasks whose output, or the file they wrote, is not what the generated tree makes it. */
export function wrongResults(run: Run): readonly TaskFact[] {
  const results = new Map(run.results.map((result) => [result.n, result]))
  return run.tasks.filter((task) => {
    if (task.state !== 'completed') return false
    const result = results.get(task.n ?? 0)
    if (result === undefined) return false
    const { output } = task
    // A job returns its contract and what it has cost as well.
    const given = task.type.startsWith('market-') ? (output as { result: unknown }).result : output
    if (!isDeepStrictEqual(given, result.expected)) return true
    return result.written !== undefined && !isDeepStrictEqual(result.written, result.expected)
  })
}

/** Breaks in the numbering of events, starts without a rising fencing token, and ends written by another than the holder. */
export function historyFaults(run: Pick<Run, 'tasks'>): readonly string[] {
  return run.tasks.flatMap((task) => {
    const faults: string[] = []
    let token = 0
    let lease: unknown
    for (const [i, { seq, type, data }] of task.events.entries()) {
      if (seq !== i + 1) faults.push(`${task.taskId}: event ${seq} stands at place ${i + 1}`)
      if (type === 'task.started') {
        if (data['fencingToken'] !== token + 1)
          faults.push(`${task.taskId}: token ${String(data['fencingToken'])} after ${token}`)
        token = Number(data['fencingToken'])
        lease = data['leaseId']
      } else if (type === 'task.completed' && data['leaseId'] !== lease) {
        faults.push(`${task.taskId}: completed by ${String(data['leaseId'])}, held by ${String(lease)}`)
      }
    }
    return faults
  })
}

/** Tasks that started although their cancellation had been acknowledged, by the store's order of events. */
export function startedAfterCancel(run: Run): readonly TaskFact[] {
  return run.tasks.filter((task) => {
    const canceled = task.events.find(({ type }) => type === 'task.canceled')
    return (
      canceled !== undefined &&
      task.events.some(({ type, seq }) => type === 'task.started' && seq > canceled.seq)
    )
  })
}
