import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import {
  createRuntime,
  defineTask,
  type Runtime,
  TaskCanceled,
  type TaskDefinition,
} from '@ku0/agent-runtime'
import { z } from 'zod'
import { type SeededRandom, seededRandom } from '../work/random.ts'

/** What a race of a cancel against the end of its task was seen to be. */
export interface Race {
  readonly taskId: string
  /** When the handler returned its value, and when the cancel was asked and answered; ms of one clock. */
  readonly returnedAt: number
  readonly askedAt: number
  readonly answeredAt: number
  /** What the cancel was answered. */
  readonly answer: boolean
  /** When the waiting caller heard of the end, and what. */
  readonly heardAt: number
  readonly heard: 'completed' | 'canceled' | 'other'
  /** Why the clean-up hook was called, each time. */
  readonly cleanedUp: readonly string[]
  /** What the task's signal was aborted with, if it was. */
  readonly told: unknown
  /** As it stands in the store. */
  readonly state: string
  readonly acknowledged: boolean
  readonly events: readonly string[]
  readonly leases: readonly (string | undefined)[]
}

/** What came of many races. */
export interface CancelRaces {
  readonly faults: readonly string[]
  readonly races: number
  readonly completed: number
  readonly canceled: number
  /** Those in which cancel and end were both under way before either was known to have won. */
  readonly close: number
  /** Those whose cancel came from another runtime than the one that ran the task. */
  readonly fromElsewhere: number
}

/** Races that are under way at the same time. */
const atOnce = 25

/**
 * Runs tasks to their end and cancels each of them at about that moment, drawn from the seed: from the runtime that runs it, or from another one on
 * the same file. Both have a store in a thread of its own, so that it is the file's lock that decides. Source: `docs/semantics.md`
 * 5.3, `docs/reliability.md` E03.
 */
export async function raceCancels(races: number, seed: number, signal: AbortSignal): Promise<CancelRaces> {
  const random = seededRandom(seed, 'cancels')
  const folder = mkdtempSync(join(tmpdir(), 'gym-cancels-'))
  const runners = new Map<string, Runner>()
  const task = racingTask(runners)
  const options = { store: `sqlite:${folder}/runtime.db`, tasks: [task], logger: false } as const
  const seen: { race: Race; isElsewhere: boolean }[] = []
  try {
    await using here = await createRuntime({ ...options, strict: false, workers: { count: 7, capacity: 4 } })
    await using elsewhere = await createRuntime({ ...options, workers: 0 })
    const lane = async () => {
      while (started < races) {
        signal.throwIfAborted()
        started += 1
        const isElsewhere = random.next() < 0.5
        const race = await runRace({ here, canceler: isElsewhere ? elsewhere : here, task, runners, random })
        seen.push({ race, isElsewhere })
      }
    }
    let started = 0
    await Promise.all(Array.from({ length: atOnce }, lane))
    return {
      faults: seen.flatMap(({ race }) => faultsOf(race)),
      races: seen.length,
      completed: seen.filter(({ race }) => race.state === 'completed').length,
      canceled: seen.filter(({ race }) => race.state === 'canceled').length,
      close: seen.filter(({ race }) => isClose(race)).length,
      fromElsewhere: seen.filter(({ isElsewhere }) => isElsewhere).length,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What is wrong with the end of a race, in words. Source: `docs/semantics.md` 5.1, 5.3. */
export function faultsOf(race: Race): readonly string[] {
  const { taskId, answer, heard, state, cleanedUp, told, acknowledged, events, leases } = race
  const end = answer ? 'canceled' : 'completed'
  const wrong = (what: string, is: unknown, ought: unknown) =>
    JSON.stringify(is) === JSON.stringify(ought)
      ? []
      : [`${taskId}: ${what} ${JSON.stringify(is)}, not ${JSON.stringify(ought)}`]
  return [
    ...wrong(`the cancel was answered ${answer} and the state is`, state, end),
    ...wrong('who waited heard', heard, end),
    ...wrong('the events are', events, ['task.queued', 'task.started', `task.${end}`]),
    ...wrong('the leases ended as', leases, [end]),
    ...wrong('the hook was called for', cleanedUp, answer ? ['canceled'] : []),
    ...wrong('the handler was told', told instanceof TaskCanceled, answer),
    ...wrong('the stop of the handler is known:', acknowledged, answer),
  ]
}

/** Whether each side had begun before the other was known to have won. */
function isClose({ askedAt, answeredAt, returnedAt, heardAt }: Race): boolean {
  return askedAt < heardAt && returnedAt < answeredAt
}

/** A handler that waits at its last line, as seen from outside. */
class Runner {
  readonly started = Promise.withResolvers<void>()
  readonly door = Promise.withResolvers<void>()
  readonly cleanedUp: string[] = []
  signal: AbortSignal | undefined
  /** Never, so far. */
  returnedAt = Infinity
}

function racingTask(runners: Map<string, Runner>): TaskDefinition {
  return defineTask({ type: 'racing', input: z.null() }, async (ctx) => {
    const runner = runners.get(ctx.taskId)
    if (runner === undefined) throw new Error('a race that was not announced')
    runner.signal = ctx.signal
    ctx.onCleanup((reason) => {
      runner.cleanedUp.push(reason)
    })
    runner.started.resolve()
    await runner.door.promise
    runner.returnedAt = performance.now()
    return 'value'
  })
}

let named = 0

async function runRace({
  here,
  canceler,
  task,
  runners,
  random,
}: {
  readonly here: Runtime
  readonly canceler: Runtime
  readonly task: TaskDefinition
  readonly runners: Map<string, Runner>
  readonly random: SeededRandom
}): Promise<Race> {
  named += 1
  const taskId = `race-${named}`
  const runner = new Runner()
  runners.set(taskId, runner)
  const end = heardEnd(here, taskId, here.submit(task, null, { taskId }))
  await runner.started.promise
  // Whoever is first has a start of so many turns, or of a moment of real time.
  const isDoorFirst = random.next() < 0.5
  const hops = random.int(0, 12)
  if (isDoorFirst) runner.door.resolve()
  if (isDoorFirst) await hopsOf(hops)
  const askedAt = performance.now()
  const canceling = canceler.cancel(taskId)
  if (!isDoorFirst) await hopsOf(hops)
  runner.door.resolve()
  const answer = await canceling
  const answeredAt = performance.now()
  const { heard, heardAt } = await end
  const status = await settled(here, runner, taskId, answer)
  const events: string[] = []
  for await (const { type } of here.events(taskId)) events.push(type)
  const leases = await here.leases(taskId)
  runners.delete(taskId)
  return {
    taskId,
    returnedAt: runner.returnedAt,
    askedAt,
    answeredAt,
    answer,
    heardAt,
    heard,
    cleanedUp: runner.cleanedUp,
    told: runner.signal?.reason,
    state: status?.state ?? 'absent',
    acknowledged: status?.state === 'canceled' && status.abort?.acknowledgedAt !== undefined,
    events,
    leases: leases.map(({ endReason }) => endReason),
  }
}

/** The task once its handler is known to have stopped and its hook was called, where it was canceled; as it is after two seconds. */
async function settled(runtime: Runtime, { cleanedUp }: Runner, taskId: string, isCanceled: boolean) {
  const until = performance.now() + 2_000
  for (;;) {
    const status = await runtime.status(taskId)
    const isKnown = status?.state === 'canceled' && status.abort?.acknowledgedAt !== undefined
    if (!isCanceled || (isKnown && cleanedUp.length > 0) || performance.now() > until) return status
    await turn()
  }
}

async function heardEnd(runtime: Runtime, taskId: string, submitted: Promise<unknown>) {
  let heard: Race['heard'] = 'other'
  try {
    await submitted
    heard = (await runtime.result(taskId)) === 'value' ? 'completed' : 'other'
  } catch (error) {
    if (error instanceof TaskCanceled) heard = 'canceled'
  }
  return { heard, heardAt: performance.now() }
}

async function hopsOf(count: number): Promise<void> {
  for (let hop = 0; hop < count; hop += 1) await turn()
}
