import { isFinal } from '@ku0/agent-runtime-core'
import type { SuperviseInput } from '../work/plan.ts'
import type { EventFact, Run, TaskFact } from './measurements.ts'

/** The restarts that supervisors did, by their events. */
export function restartsOf(tasks: readonly TaskFact[]): readonly EventFact[] {
  return tasks.flatMap(({ events }) => events.filter(({ type }) => type === 'supervisor.restarted'))
}

/** Handlers of supervised agents that threw of themselves. */
export function agentCrashes(run: Run, supervisors: readonly TaskFact[]): readonly string[] {
  const above = new Set(supervisors.map(({ taskId }) => taskId))
  const agents = new Set(run.tasks.flatMap(({ taskId, parent }) => (above.has(parent ?? '') ? [taskId] : [])))
  return run.passes.flatMap(({ taskId, how, abortedAt }) =>
    agents.has(taskId) && how === 'threw' && abortedAt === null ? [taskId] : [],
  )
}

/**
 * Where supervisors did something else than a model of them: each failure of a child is one restart or the end of the supervisor, the
 * others that its strategy names are stopped in reverse, a restart counts for a period, and no more than the maximum are done.
 */
export function restartFaults(run: Run): readonly string[] {
  const terms = new Map(
    run.workload.flatMap(({ n, type, input }) =>
      type === 'supervise' ? [[n, input as SuperviseInput] as const] : [],
    ),
  )
  const children = Map.groupBy(run.tasks, ({ parent }) => parent ?? '')
  return run.tasks.flatMap((supervisor) => {
    const given = terms.get(supervisor.n ?? 0)
    if (given === undefined) return []
    const seats = inOrder(supervisor, children.get(supervisor.taskId) ?? [])
    return [...seatFaults(supervisor, seats, given), ...countFaults(supervisor, seats, given)]
  })
}

/** A child of a supervisor, by its id, and the supervisor's event that tells of its first start. */
interface Seat {
  readonly id: string
  readonly task: TaskFact
  readonly seq: number
}

/** The children in the order in which they were started first. */
function inOrder({ events }: TaskFact, children: readonly TaskFact[]): readonly Seat[] {
  const found = new Map(children.map((task) => [task.taskId, task]))
  return events.flatMap(({ seq, type, data }) => {
    const task = type === 'child.spawned' ? found.get(String(data['taskId'])) : undefined
    return task === undefined ? [] : [{ id: String(data['key']).split('/').at(-1) ?? '', task, seq }]
  })
}

/** All agents are there, each went back to the queue as often as it was started again, and what is over has ended well. */
function seatFaults(supervisor: TaskFact, seats: readonly Seat[], { agents }: SuperviseInput): string[] {
  const faults: string[] = []
  const said = restartsOf([supervisor])
  const at = supervisor.taskId
  if (seats.length !== agents) faults.push(`${at}: ${seats.length} agents of ${agents}`)
  for (const { id, task } of seats) {
    const back = task.events.filter(
      ({ type, data }) =>
        type === 'task.requeued' && data['restartedBy'] === at && data['reason'] !== 'restarted',
    ).length
    const restarts = said.filter(({ data }) => data['child'] === id).length
    if (back !== restarts)
      faults.push(`${at}: ${id} came back ${back} times, and was restarted ${restarts} times`)
    const isLost = supervisor.state === 'completed' ? task.state !== 'completed' : !isFinal(task.state)
    if (isLost) faults.push(`${at}: ${id} is ${task.state}, its supervisor ${supervisor.state}`)
  }
  return faults
}

function countFaults(
  supervisor: TaskFact,
  seats: readonly Seat[],
  { strategy, maxRestarts, periodMs }: SuperviseInput,
): string[] {
  const faults: string[] = []
  const ids = seats.map(({ id }) => id)
  let times: number[] = []
  for (const { seq, type, at, data } of supervisor.events) {
    if (type === 'supervisor.escalated' || type === 'supervisor.renewed') times = []
    if (type !== 'supervisor.restarted') continue
    const [child, stopped] = [String(data['child']), data['stopped'] as readonly string[]]
    const said = `${supervisor.taskId}: the restart of ${child} at ${at}`
    times = [...times.filter((then) => at <= then + periodMs), at]
    if (data['count'] !== times.length)
      faults.push(`${said} counts ${String(data['count'])}, not ${times.length}`)
    if (times.length > maxRestarts) faults.push(`${said} is number ${times.length} of ${maxRestarts}`)
    const from = { one_for_one: ids.length, one_for_all: 0, rest_for_one: ids.indexOf(child) }[strategy]
    // An agent may crash before the last of them is there.
    const others = seats
      .filter((seat, place) => place >= from && seat.id !== child && seat.seq < seq)
      .toReversed()
    // What ended in the very ms may have ended before it or after it.
    const must = others.filter(({ task }) => (task.finishedAt ?? Infinity) > at).map(({ id }) => id)
    const may = others.filter(({ task }) => (task.finishedAt ?? Infinity) >= at).map(({ id }) => id)
    const isRight =
      must.every((id) => stopped.includes(id)) &&
      may.filter((id) => stopped.includes(id)).join() === stopped.join()
    if (!isRight) faults.push(`${said} stopped ${stopped.join()}, not ${must.join()}`)
  }
  const isOver = supervisor.state === 'failed' && supervisor.reason === 'escalated'
  if (isOver && times.length < maxRestarts)
    faults.push(`${supervisor.taskId}: escalated after ${times.length} of ${maxRestarts} restarts`)
  return faults
}
