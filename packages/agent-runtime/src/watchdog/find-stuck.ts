import {
  assertOptions,
  differencesAmong,
  isRecord,
  type Rules,
  settingsAmong,
  type WaitHistogram,
} from '@ku0/agent-runtime-core'
import type { Client, ListFilter } from '../api/client.ts'
import { systemEnvironment } from '../system.ts'
import type { TaskStatus } from '../api/status.ts'
import type { StuckLimits, StuckReport, StuckSettings, StuckTask, WatchdogSettings } from '../api/watchdog.ts'

/** The calls of a client that the watchdog makes; it only reads. */
export type StuckView = Pick<
  Client,
  'events' | 'explain' | 'explainQueue' | 'list' | 'output' | 'stats' | 'status' | 'workers'
>

/** So many tasks of a state are looked at one by one; of a longer queue only the oldest for each reason. */
const MOST = 2_000

/**
 * Finds the tasks that are stuck: queued, running without a sign or waiting for longer than their limits, and types that no worker runs. It
 * reads a bounded number of tasks, however many there are, and changes nothing. `now`: epoch ms, by default the time of this machine. Throws
 * `invalid_argument` for limits that are none, and what the calls of the client throw. Source: `docs/semantics.md 8.6`.
 *
 *     const { ok, found } = await findStuck(runtime, { runningMs: 60_000 })
 */
export async function findStuck(
  client: StuckView,
  limits: StuckSettings = {},
  now: number = systemEnvironment.clock.now(),
): Promise<StuckReport> {
  assertLimits(limits)
  const limitOf = (type: string, field: keyof StuckLimits) =>
    limits.types?.[type]?.[field] ?? limits[field] ?? defaults[field]
  const histogram = await client.explainQueue()
  const queued = await lateInQueue(client, histogram, (type) => limitOf(type, 'queuedMs'), now)
  const running = await silent(client, (type) => limitOf(type, 'runningMs'), now)
  const waiting = await some(client, { states: ['waiting'] }, histogram.waiting === 0 ? 0 : MOST)
  const overdue = await overdueIn(client, waiting, (type) => limitOf(type, 'overdueMs'), now)
  const found = [...queued, ...running, ...overdue]
  const differing = differencesAmong(await client.workers())
  const { configurations = [] } = await client.stats()
  const settings = settingsAmong(configurations)
  return {
    ok: found.length + differing.length + settings.length === 0,
    found,
    differing,
    settings,
    looked: { waiting: waiting.length, ofWaiting: Math.max(waiting.length, histogram.waiting) },
  }
}

/** Due tasks that have waited for too long, and those that no worker runs: the oldest of each type. */
async function lateInQueue(
  client: StuckView,
  { queued, reasons }: WaitHistogram,
  limitOf: (type: string) => number,
  now: number,
): Promise<readonly StuckTask[]> {
  const due = reasons.filter(({ state, reason }) => state === 'queued' && reason !== 'delay')
  if (due.length === 0) return []
  if (queued <= MOST) return lateOf(client, await some(client, { states: ['queued'] }, MOST), limitOf, now)
  const found: StuckTask[] = []
  for (const { count, oldest } of due) {
    const task = await client.status(oldest.taskId)
    if (task !== undefined) found.push(...(await lateOf(client, [task], limitOf, now, count)))
  }
  return found
}

/** `count`: of how many tasks they are the oldest, if others are not among them. */
async function lateOf(
  client: StuckView,
  tasks: readonly TaskStatus[],
  limitOf: (type: string) => number,
  now: number,
  count?: number,
): Promise<readonly StuckTask[]> {
  const since = (task: TaskStatus) =>
    Math.max(task.submittedAt, task.state === 'queued' ? (task.dueAt ?? 0) : 0)
  const due = tasks.filter((task) => task.state === 'queued' && since(task) <= now)
  const live = new Set((await client.workers()).flatMap(({ types }) => types))
  const found: StuckTask[] = []
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

/** Running tasks that have recorded, emitted and reported nothing for too long. */
async function silent(
  client: StuckView,
  limitOf: (type: string) => number,
  now: number,
): Promise<readonly StuckTask[]> {
  const found: StuckTask[] = []
  for (const task of await some(client, { states: ['running'] }, MOST)) {
    if (task.state !== 'running' || now - task.startedAt <= limitOf(task.type)) continue
    const { taskId, type } = task
    let lastAt = task.lease.progressAt ?? task.lease.acquiredAt
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

/** A list does not name all that a task waits for. */
async function firstDueOf(client: StuckView, task: Waiting): Promise<number> {
  const whole = task.moreWaits === undefined ? task : await client.status(task.taskId)
  const waits = whole?.state === 'waiting' ? whole.waits : []
  return waits.reduce((first, { dueAt = Infinity }) => Math.min(first, dueAt), Infinity)
}

type Waiting = Extract<TaskStatus, { state: 'waiting' }>

/** Waits whose time has passed: no process on the store has woken them. */
async function overdueIn(
  client: StuckView,
  tasks: readonly TaskStatus[],
  limitOf: (type: string) => number,
  now: number,
): Promise<readonly StuckTask[]> {
  const found: StuckTask[] = []
  for (const task of tasks) {
    if (task.state !== 'waiting') continue
    const dueAt = await firstDueOf(client, task)
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
async function some(client: StuckView, filter: ListFilter, most: number): Promise<readonly TaskStatus[]> {
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

const defaults: Readonly<Record<keyof StuckLimits, number>> = {
  queuedMs: 300_000,
  runningMs: 900_000,
  overdueMs: 60_000,
}

const limit = [
  'a number of ms, 0 or more',
  (value: unknown) => typeof value === 'number' && value >= 0,
] as const
const limitRules: Rules<StuckLimits> = { queuedMs: limit, runningMs: limit, overdueMs: limit }
const settingRules: Rules<StuckSettings> = {
  ...limitRules,
  types: ['an object with limits by task type', isRecord],
}

function assertLimits({ types, ...limits }: StuckSettings): void {
  assertOptions('findStuck', { types, ...limits }, settingRules)
  for (const [type, own] of Object.entries(types ?? {}))
    assertOptions(`findStuck type '${type}'`, own, limitRules)
}

/** Throws `invalid_argument` for settings of a watchdog that are none. */
export function assertWatchdog({ everyMs, ...limits }: WatchdogSettings): void {
  assertOptions(
    'watchdog',
    { everyMs },
    { everyMs: ['a number of ms, 1 or more', (value) => typeof value === 'number' && value >= 1] },
  )
  assertLimits(limits)
}
