import { differencesAmong } from '@ku0/agent-runtime-core'
import type { ListFilter, TaskStatus, WaitHistogram } from '@ku0/agent-runtime'
import type { CliConfig } from './settings/define-config.ts'
import type { Connection } from './remote.ts'

/** Something that does not go on by itself. */
interface Stuck {
  readonly what: 'no worker' | 'queued' | 'running' | 'overdue'
  readonly type: string
  /** The number of tasks; the one that is named is the oldest of them. */
  readonly tasks: number
  readonly taskId: string
  readonly forMs: number
  /** The reason, as `explain` gives it. */
  readonly why: string
}

export interface StuckReport {
  readonly ok: boolean
  readonly found: readonly Stuck[]
  /** Settings of task types that the registered workers know differently. */
  readonly differing: ReturnType<typeof differencesAmong>
  /** The number of waiting tasks whose waits were looked at, and of all waiting tasks. */
  readonly looked: { readonly waiting: number; readonly ofWaiting: number }
}

type Watchdog = NonNullable<CliConfig['watchdog']>

/** So many tasks of a state are looked at one by one; of a longer queue only the oldest for each reason. */
const MOST = 2_000

/**
 * Looks for tasks that are stuck: queued, running without a sign or waiting for longer than their limits, and types that no worker runs. It
 * reads a bounded number of tasks, however many there are.
 */
export async function findStuck(client: Connection, limits: Watchdog, now: number): Promise<StuckReport> {
  const limitOf = (type: string, field: 'queuedMs' | 'runningMs' | 'overdueMs') =>
    limits.types?.[type]?.[field] ?? limits[field] ?? Infinity
  const histogram = await client.explainQueue()
  const queued = await lateInQueue(client, histogram, (type) => limitOf(type, 'queuedMs'), now)
  const running = await silent(client, (type) => limitOf(type, 'runningMs'), now)
  const waiting = await some(client, { states: ['waiting'] }, histogram.waiting === 0 ? 0 : MOST)
  const overdue = await overdueIn(client, waiting, (type) => limitOf(type, 'overdueMs'), now)
  const found = [...queued, ...running, ...overdue]
  const differing = differencesAmong(await client.workers())
  return {
    ok: found.length + differing.length === 0,
    found,
    differing,
    looked: { waiting: waiting.length, ofWaiting: Math.max(waiting.length, histogram.waiting) },
  }
}

/** Due tasks that have waited for too long, and those that no worker runs: the oldest of each type. */
async function lateInQueue(
  client: Connection,
  { queued, reasons }: WaitHistogram,
  limitOf: (type: string) => number,
  now: number,
): Promise<readonly Stuck[]> {
  const due = reasons.filter(({ state, reason }) => state === 'queued' && reason !== 'delay')
  if (due.length === 0) return []
  if (queued <= MOST) return lateOf(client, await some(client, { states: ['queued'] }, MOST), limitOf, now)
  const found: Stuck[] = []
  for (const { count, oldest } of due) {
    const task = await client.status(oldest.taskId)
    if (task !== undefined) found.push(...(await lateOf(client, [task], limitOf, now, count)))
  }
  return found
}

/** `count`: of how many tasks they are the oldest, if others are not among them. */
async function lateOf(
  client: Connection,
  tasks: readonly TaskStatus[],
  limitOf: (type: string) => number,
  now: number,
  count?: number,
): Promise<readonly Stuck[]> {
  const since = (task: TaskStatus) =>
    Math.max(task.submittedAt, task.state === 'queued' ? (task.dueAt ?? 0) : 0)
  const due = tasks.filter((task) => task.state === 'queued' && since(task) <= now)
  const live = new Set((await client.workers()).flatMap(({ types }) => types))
  const found: Stuck[] = []
  for (const [type, group] of Map.groupBy(due, (task) => task.type)) {
    const isRun = live.has(type) || live.has('*')
    const late = isRun ? group.filter((task) => now - since(task) > limitOf(type)) : group
    const oldest = late.toSorted((a, b) => since(a) - since(b)).slice(0, EXPLAINED)
    for (const task of oldest) {
      const { taskId } = task
      const told = await client.explain(taskId)
      if (told?.state !== 'queued') continue
      // One that came back from a try or a wait is queued since then.
      const forMs = Math.max(0, now - (told.place?.queuedAt ?? since(task)))
      const what = told.waitsFor === 'worker' ? 'no worker' : 'queued'
      if (what === 'queued' && forMs <= limitOf(type)) continue
      found.push({ what, type, tasks: count ?? late.length, taskId, forMs, why: told.summary })
      break
    }
  }
  return found
}

/** So many tasks of one type are explained until one is found that is really late. */
const EXPLAINED = 20

/** Running tasks that have recorded and emitted nothing for too long. */
async function silent(
  client: Connection,
  limitOf: (type: string) => number,
  now: number,
): Promise<readonly Stuck[]> {
  const found: Stuck[] = []
  for (const task of await some(client, { states: ['running'] }, MOST)) {
    if (task.state !== 'running' || now - task.startedAt <= limitOf(task.type)) continue
    const { taskId, type } = task
    let lastAt = task.lease.acquiredAt
    for await (const { at } of client.events(taskId, { live: false })) lastAt = Math.max(lastAt, at)
    for await (const item of client.output(taskId, { live: false }))
      if (item.type === 'chunk') lastAt = Math.max(lastAt, item.at)
    const forMs = now - lastAt
    if (forMs <= limitOf(type)) continue
    const told = await client.explain(taskId)
    found.push({ what: 'running', type, tasks: 1, taskId, forMs, why: told?.summary ?? '' })
  }
  return found
}

/** Waits whose time has passed: no process on the store has woken them. */
async function overdueIn(
  client: Connection,
  tasks: readonly TaskStatus[],
  limitOf: (type: string) => number,
  now: number,
): Promise<readonly Stuck[]> {
  const found: Stuck[] = []
  for (const task of tasks) {
    if (task.state !== 'waiting') continue
    const dueAt = Math.min(...task.waits.map((wait) => wait.dueAt ?? Infinity))
    if (now - dueAt <= limitOf(task.type)) continue
    const told = await client.explain(task.taskId)
    if (told?.state !== 'waiting') continue
    found.push({
      what: 'overdue',
      type: task.type,
      tasks: 1,
      taskId: task.taskId,
      forMs: now - dueAt,
      why: told.summary,
    })
  }
  return found
}

/** The newest tasks that a filter selects. */
async function some(client: Connection, filter: ListFilter, most: number): Promise<readonly TaskStatus[]> {
  const tasks: TaskStatus[] = []
  let cursor: number | undefined
  do {
    if (tasks.length >= most) break
    const page = await client.list({
      ...filter,
      limit: Math.min(1_000, most),
      ...(cursor === undefined ? {} : { cursor }),
    })
    tasks.push(...page.tasks)
    ;({ cursor } = page)
  } while (cursor !== undefined)
  return tasks
}
