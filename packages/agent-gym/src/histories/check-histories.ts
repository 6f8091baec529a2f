import { linearize } from './linearize.ts'
import type { Operation } from './operation.ts'
import type { Followed, Recorded } from './recorder.ts'

/** What the store says when all is over. */
export interface StoreAtEnd {
  readonly tasks: readonly TaskAtEnd[]
}

interface TaskAtEnd {
  readonly taskId: string
  /** The idempotency key that it was submitted under, or undefined for one with an id of its caller's. */
  readonly key: string | undefined
  /** Each as `seq type hash`. */
  readonly events: readonly string[]
  /** Every lease that it ever had. */
  readonly leases: readonly { readonly token: number; readonly attempt: number; readonly lapsed: boolean }[]
}

/** What was found, and on how much. */
export interface HistoriesCheck {
  /** Each a fault in words; none in a sound store. */
  readonly faults: readonly string[]
  readonly tasks: number
  readonly operations: number
  /** Those that were answered, and did what they were meant to. */
  readonly ok: number
  /** Those whose outcome is not known. */
  readonly unknown: number
  /** Leases that were handed to a process that did not live to tell. */
  readonly unheard: number
  readonly lapsed: number
  /** Operations on the task that has most. */
  readonly most: number
  readonly followed: number
}

/**
 * Judges what processes recorded of one store. Every submission that was acknowledged is one task, and every task was asked for; each task's
 * operations have an order that explains all answers; each reader of a task's events was given the beginning of its history. Source:
 * `docs/reliability.md` 3.6.
 */
export function checkHistories(
  calls: readonly Recorded[],
  followed: readonly Followed[],
  end: StoreAtEnd,
): HistoriesCheck {
  const faults: string[] = []
  const asked = calls.map((call) => ({ ...call, taskId: call.task.taskId ?? '' }))
  const ids = idsByKey(asked, end, faults)
  const operations = asked.flatMap(({ task, ...op }) => {
    const taskId = op.taskId || ids.get(task.key ?? '') || ''
    // A submission that nobody heard of again, and that made no task, never took effect.
    return taskId === '' ? [] : [{ ...op, taskId }]
  })
  const byTask = Map.groupBy(operations, ({ taskId }) => taskId)
  faults.push(...submissionFaults(byTask, end))

  const leases = end.tasks.flatMap((task) => toldByStore(task, byTask.get(task.taskId) ?? []))
  for (const [taskId, own] of byTask) {
    const verdict = linearize([...own, ...leases.filter((it) => it.taskId === taskId)])
    if (!verdict.found)
      faults.push(`${taskId}: no order explains its ${own.length} operations: ${explain(verdict)}`)
  }
  faults.push(...streamFaults(followed, end))
  return {
    faults,
    tasks: end.tasks.length,
    operations: operations.length,
    ok: operations.filter(({ returnedAt, deed }) => returnedAt !== undefined && didIt(deed.answer)).length,
    unknown: operations.filter(({ returnedAt }) => returnedAt === undefined).length,
    unheard: leases.filter(({ deed }) => deed.call === 'claim').length,
    lapsed: leases.filter(({ deed }) => deed.call === 'lapse').length,
    most: Math.max(0, ...[...byTask.values()].map(({ length }) => length)),
    followed: followed.reduce((sum, { events }) => sum + events.length, 0),
  }
}

function idsByKey(
  calls: readonly (Recorded & { readonly taskId: string })[],
  end: StoreAtEnd,
  faults: string[],
): ReadonlyMap<string, string> {
  const ids = new Map<string, string>()
  const know = (key: string | undefined, taskId: string) => {
    if (key === undefined || taskId === '') return
    const known = ids.get(key) ?? taskId
    if (known !== taskId) faults.push(`the key ${key} has two tasks, ${known} and ${taskId}`)
    ids.set(key, known)
  }
  for (const { task, taskId } of calls) know(task.key, taskId)
  for (const { key, taskId } of end.tasks) know(key, taskId)
  return ids
}

/** As of a set: what was acknowledged is there, what is there was asked for. */
function submissionFaults(
  byTask: ReadonlyMap<string, readonly Operation[]>,
  { tasks }: StoreAtEnd,
): readonly string[] {
  const there = new Set(tasks.map(({ taskId }) => taskId))
  const submits = (taskId: string) =>
    (byTask.get(taskId) ?? []).filter(({ deed }) => deed.call === 'submit').map(({ deed }) => deed.answer)
  return [
    ...[...byTask.keys()]
      .filter(
        (taskId) => !there.has(taskId) && submits(taskId).some((it) => it === 'accepted' || it === 'again'),
      )
      .map((taskId) => `${taskId} was acknowledged, and is lost`),
    ...[...there]
      .filter((taskId) => submits(taskId).length === 0)
      .map((taskId) => `${taskId} is there, and nobody submitted it`),
    ...(there.size === tasks.length ? [] : ['a task is listed twice']),
  ]
}

/** Leases that no process told of, since it died before it heard of them, and those that were taken away. When, nobody knows. */
function toldByStore({ taskId, leases }: TaskAtEnd, own: readonly Operation[]): readonly Operation[] {
  const heard = new Set(own.flatMap(({ deed }) => (deed.call === 'claim' ? [deed.token] : [])))
  const told = { process: 'store', taskId, invokedAt: 0 }
  return leases.flatMap(({ token, attempt, lapsed }) => [
    ...(heard.has(token) ? [] : [{ ...told, deed: { call: 'claim', token, attempt } } as const]),
    ...(lapsed ? [{ ...told, deed: { call: 'lapse', token } } as const] : []),
  ])
}

/** A reader sees the beginning of the one history, whatever moment it stopped at. */
function streamFaults(followed: readonly Followed[], { tasks }: StoreAtEnd): readonly string[] {
  const events = new Map(tasks.map((task) => [task.taskId, task.events]))
  return followed.flatMap((reader) => {
    const whole = events.get(reader.taskId) ?? []
    const at = reader.events.findIndex((event, i) => event !== whole[i])
    return at === -1
      ? []
      : [`${reader.process} was given ${reader.events[at]} of ${reader.taskId}, whose event is ${whole[at]}`]
  })
}

function didIt(answer: unknown): boolean {
  return answer !== 'stale' && answer !== 'refused' && answer !== false
}

function explain({ longest, stuck }: Extract<ReturnType<typeof linearize>, { found: false }>): string {
  const show = ({ process, invokedAt, returnedAt, deed }: Operation) =>
    `${process} ${JSON.stringify(deed)} ${invokedAt.toFixed(2)}..${returnedAt?.toFixed(2) ?? ''}`
  return [
    ...longest.map((op) => `\n  then ${show(op)}`),
    ...stuck.map((op) => `\n  and none of ${show(op)}`),
  ].join('')
}
