import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { HostGone } from '../host/host-process.ts'
import { wallNow } from '../host/notes.ts'
import type { CancelNote } from '../host/protocol.ts'
import { drawFaults, type DrawnFault } from '../scenario/drawn-faults.ts'
import type { Arrival, Fault, Scenario, Trigger } from '../scenario/scenario.ts'
import { toolProcesses } from '../work/follow-log.ts'
import type { Cast } from './cast.ts'
import { isRunning } from './liveness.ts'
import { abortable, pause } from './sightings.ts'

/** A cancellation as it was carried out. */
interface Cancellation extends CancelNote {
  readonly toolProcesses: number
  readonly goneAt: number | null
}

/** What has to be known to perform a scenario. */
export interface Stage {
  readonly scenario: Scenario
  readonly seed: number
  readonly cast: Cast
  /** Where tools write down their processes. */
  readonly toolNotes: string
  readonly tasks: number
  readonly signal: AbortSignal
}

/** What was done to the processes and tasks. */
export interface Interventions {
  readonly cancellations: readonly Cancellation[]
  /** Faults that were brought; drawn ones that found no work any more are not. */
  readonly faults: number
}

/** Starts the processes that are there from the beginning. */
export async function openStage({
  scenario,
  cast,
  signal,
}: Omit<Stage, 'seed' | 'toolNotes' | 'tasks'>): Promise<void> {
  const first = scenario.processes.filter(({ standby }) => !standby)
  await abortable(Promise.all(first.map(({ name }) => cast.start(name))), signal)
}

/** Plays a scenario through, from the first submission to the last task. Resolves when no work is left. */
export async function perform(stage: Stage): Promise<Interventions> {
  const { cast, signal } = stage
  const ended = new AbortController()
  const onAbort = () => ended.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const acts = { ...stage, signal: ended.signal }
  try {
    const arrived = arrive(acts)
    const [, interventions] = await Promise.race([
      Promise.all([arrived, bringFaults(acts, arrived)]),
      cast.failed,
    ])
    await Promise.race([untilDone(acts), cast.failed])
    return interventions
  } finally {
    signal.removeEventListener('abort', onAbort)
    ended.abort(new Error('the scenario is over'))
  }
}

/** Arrivals without a trigger come first and one after the other; then workers that waited for them begin. */
async function arrive({ scenario, cast, signal }: Stage): Promise<void> {
  const [first] = scenario.processes
  if (scenario.clients.length > 0 && first !== undefined)
    await abortable(cast.ask(first.name, 'setClients', {}), signal)
  const entries = [...scenario.arrivals.entries()]
  for (const [i, arrival] of entries.filter(([, { when }]) => when === undefined)) {
    await submit(cast, scenario, arrival, i, signal)
  }
  await abortable(cast.startWorkers(), signal)
  for (const [i, arrival] of entries.filter(([, { when }]) => when !== undefined)) {
    if (arrival.when !== undefined) await awaitTrigger(cast, arrival.when, `arrival ${i + 1}`, signal)
    await submit(cast, scenario, arrival, i, signal)
  }
}

async function submit(
  cast: Cast,
  scenario: Scenario,
  arrival: Arrival,
  index: number,
  signal: AbortSignal,
): Promise<void> {
  const by = arrival.by ?? [scenario.processes[0]?.name ?? '']
  const shares = by.map((name, i) =>
    cast.ask(name, 'submit', { arrival: index, share: { index: i, of: by.length } }),
  )
  const outcomes = await abortable(Promise.allSettled(shares), signal)
  for (const outcome of outcomes) {
    // A submitter that was killed on the way has submitted what it has: the report counts what was acknowledged.
    if (outcome.status === 'rejected' && !(outcome.reason instanceof HostGone)) throw outcome.reason
  }
}

async function bringFaults(stage: Stage, arrived: Promise<void>): Promise<Interventions> {
  const { scenario, cast, signal } = stage
  const cancellations: Promise<readonly Cancellation[]>[] = []
  let faults = 0
  for (const [i, fault] of scenario.faults.entries()) {
    const name = `fault ${i + 1} (${fault.do})`
    if ('when' in fault && fault.when !== undefined) await awaitTrigger(cast, fault.when, name, signal)
    switch (fault.do) {
      case 'signal':
        cast.signal(fault.process, fault.signal)
        break
      case 'await':
        break
      case 'start':
        await abortable(cast.start(fault.process), signal)
        break
      case 'open':
        await cast.openGate(fault.gate)
        break
      case 'call':
        await abortable(Promise.all(fault.by.map((each) => cast.ask(each, 'call', { fault: i }))), signal)
        break
      case 'answer-budgets':
        await abortable(cast.ask(fault.by, 'answerBudgets', { answer: fault }), signal)
        break
      case 'cancel':
        cancellations.push(cancelGroup(fault, stage))
        break
      case 'draw':
        faults += (await bringDrawn(fault, stage, arrived)) - 1
    }
    faults += 1
  }
  return { cancellations: (await Promise.all(cancellations)).flat(), faults }
}

/** Brings the drawn faults, each process's one after the other, as long as there is work. Answers with how many there were. */
async function bringDrawn(
  fault: Extract<Fault, { do: 'draw' }>,
  stage: Stage,
  arrived: Promise<void>,
): Promise<number> {
  const { cast, signal, tasks, seed } = stage
  const drawn = drawFaults(fault, tasks, seed)
  const work = new AbortController()
  const end = (reason: unknown) => work.abort(reason)
  const done = arrived.then(() => untilDone(stage)).then(() => end(new Error('no work is left')), end)
  const chains = fault.processes.map(async (process) => {
    let brought = 0
    for (const { kind, afterLeft, freezeMs } of drawn.filter((other) => other.process === process)) {
      const trigger = { on: 'left', count: afterLeft, thenMs: 0 } as const
      await cast.sightings.reached(trigger, work.signal).catch(() => undefined)
      signal.throwIfAborted()
      if (work.signal.aborted) break
      await bringAndMend(kind, process, freezeMs, stage)
      brought += 1
    }
    return brought
  })
  const counts = await Promise.all(chains)
  await done
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Brings a fault and makes it good again. */
async function bringAndMend(
  kind: DrawnFault['kind'],
  process: string,
  freezeMs: number,
  { cast, signal }: Stage,
): Promise<void> {
  switch (kind) {
    case 'freeze':
      cast.signal(process, 'SIGSTOP')
      await pause(freezeMs, signal).finally(() => cast.signal(process, 'SIGCONT'))
      return
    case 'kill':
    case 'terminate':
      cast.signal(process, kind === 'kill' ? 'SIGKILL' : 'SIGTERM')
      await abortable(cast.ended(process), signal)
      await abortable(cast.start(process), signal)
  }
}

/** Cancels every accepted task of a group at once, and watches its tools' processes disappear. */
async function cancelGroup(
  { group, by }: Extract<Fault, { do: 'cancel' }>,
  { cast, scenario, toolNotes, signal }: Stage,
): Promise<readonly Cancellation[]> {
  const taskIds = acceptedOf(cast, scenario, group)
  const tools = await toolsOf(taskIds, toolNotes)
  const watched = Promise.all(taskIds.map((taskId) => whenGone(tools.get(taskId) ?? [], signal)))
  const notes = await abortable(cast.ask(by, 'cancel', { taskIds }), signal)
  const gone = await watched
  return notes.map((note, i) => ({
    ...note,
    toolProcesses: tools.get(note.taskId)?.length ?? 0,
    goneAt: gone[i] ?? null,
  }))
}

function acceptedOf(cast: Cast, scenario: Scenario, group: string): readonly string[] {
  let from = 1
  for (const { name, count } of scenario.workload) {
    if (name === group) {
      const ids = cast.chronicle.submissions.filter(
        ({ n, accepted }) => accepted && n >= from && n < from + count,
      )
      return [...new Set(ids.flatMap(({ taskId }) => taskId ?? []))]
    }
    from += count
  }
  return []
}

async function toolsOf(
  taskIds: readonly string[],
  folder: string,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const files = readdirSync(folder)
  const found = await Promise.all(
    taskIds.map(async (taskId) => {
      const mine = files.filter((file) => file.startsWith(`${taskId}.`))
      const pids = await Promise.all(mine.map((file) => toolProcesses(join(folder, file))))
      return [taskId, pids.flat()] as const
    }),
  )
  return new Map(found)
}

/** When the last of the processes was gone; null when there were none, or the scenario ended before. */
async function whenGone(pids: readonly number[], signal: AbortSignal): Promise<number | null> {
  if (pids.length === 0) return null
  try {
    while (pids.some(isRunning)) await pause(10, signal)
  } catch {
    return null
  }
  return wallNow()
}

async function awaitTrigger(cast: Cast, trigger: Trigger, what: string, signal: AbortSignal): Promise<void> {
  try {
    await cast.sightings.reached(trigger, signal)
  } catch (cause) {
    throw new Error(`${what} never came about: ${cast.sightings.describe(trigger)}`, { cause })
  }
}

/** Resolves when the store has no task left to do. */
async function untilDone({ cast, signal }: Stage): Promise<void> {
  for (;;) {
    // A process that is just going down cannot answer; the next one will.
    const pending = await abortable(
      cast.askAny('pending', {}).catch(() => undefined),
      signal,
    )
    if (pending !== undefined && Object.values(pending).every((count) => count === 0)) return
    await pause(50, signal)
  }
}
