import { isDeepStrictEqual, inspect } from 'node:util'
import { isFinal, isVoid, orderOfHistory, RESERVED } from '@ku0/agent-runtime-core'
import type { RuntimeEvent, TaskStatus } from '../../../src/index.ts'
import { systemEnvironment } from '../../../src/system.ts'
import type { TaskHistory } from '../../../src/testing/index.ts'
import { count, type Life } from './life.ts'
import type { Meaning, MeantChild } from './meaning.ts'
import type { Program } from './program.ts'

/** A run that is over. */
export interface Run {
  readonly life: Life
  readonly outcome: unknown
  readonly history: TaskHistory
  readonly events: readonly RuntimeEvent[]
  /** The program's task, its children and theirs. */
  readonly family: readonly Member[]
}

/** A task of a run. */
export interface Member {
  readonly status: TaskStatus
  readonly history: TaskHistory
  readonly events: readonly RuntimeEvent[]
}

/** What is wrong with a run, one line each. `whole` is the run of the same program that was not crashed. */
export function* problemsOf(run: Run, program: Program, meaning: Meaning, whole: Run): Iterable<string> {
  yield* run.life.problems
  if (!isDeepStrictEqual(run.outcome, meaning.end))
    yield `it came to ${inspect(run.outcome, { depth: 9 })} instead of ${inspect(meaning.end, { depth: 9 })}`
  yield* memoRules(run)
  yield* familyRules(run, meaning)
  yield* generationRules(run)
  if (run === whole) return
  const crash = run.events.findIndex(({ type }) => type === 'task.requeued')
  if (meaning.children.size === 0) yield* orderRules(run, program, whole, crash)
  if (program.straight) yield* countRules(run, crash)
}

/** A key is recorded once in a generation: a second record follows a rejection that made the first void. */
function* memoRules({ events }: Run): Iterable<string> {
  const rejections = rejectionsIn(events)
  const last = new Map<string, number>()
  for (const { type, seq, data } of events) {
    if (type !== 'step.completed') continue
    const { key } = data as { key: string }
    const before = last.get(key)
    if (
      before !== undefined &&
      !isVoid(
        before,
        rejections.filter((it) => it.seq < seq),
      )
    )
      yield `step '${key}' was recorded at ${before} and again at ${seq}`
    last.set(key, seq)
  }
}

/**
 * A key stands for one child until a rejection voids it, or what is around it fails. There is no child but those that were spawned,
 * each comes to what it means, and none outlives its parent.
 */
function* familyRules({ family }: Run, meaning: Meaning): Iterable<string> {
  const stateOf = new Map(family.map(({ status }) => [status.taskId, status.state]))
  const spawned = new Map<string, 'kept' | 'dropped'>()
  for (const { events } of family) {
    const { kept, dropped, twice } = childrenIn(events)
    for (const key of twice) yield `child '${key}' was spawned twice`
    for (const taskId of kept) spawned.set(taskId, 'kept')
    for (const taskId of dropped) spawned.set(taskId, 'dropped')
  }
  for (const { status, history } of family) {
    const { taskId, parent, state } = status
    if (!isFinal(state)) yield `${status.type} ${taskId} is ${state} at the end`
    if (parent === undefined) continue
    for (const { key, runs } of history.steps)
      if (runs > history.attempts)
        yield `step '${key}' of child ${taskId} ran ${runs} times in ${history.attempts} attempts`
    const as = spawned.get(taskId)
    if (as === undefined) yield `child ${taskId} was spawned by nobody`
    count(`child: ${as} and ${state}`)
    const meant = meaning.children.get(status.input as string)
    if (as === 'kept' && meant !== undefined && stateOf.get(parent) !== 'canceled')
      yield* childRules(status, meant)
  }
}

/** A child that its parent has kept, and that its parent's end found as it was to be. */
function* childRules(status: TaskStatus, { node, value }: MeantChild): Iterable<string> {
  const { input: key, state } = status
  if (node.how === 'lost') yield `child '${String(key)}' of a branch that lost was not given up`
  const meant = node.how === 'left' || node.how === 'lost' ? 'canceled' : node.throws ? 'failed' : 'completed'
  if (state !== meant) yield `child '${String(key)}' is ${state}, and was to be ${meant}`
  if (state === 'completed' && !isDeepStrictEqual(status.output, value))
    yield `child '${String(key)}' returned ${inspect(status.output, { depth: 9 })}`
}

/** The children that a task has spawned, by their ids: those that its keys stand for at the end, and those that it has given up. */
function childrenIn(events: readonly RuntimeEvent[]) {
  const current = new Map<string, { readonly taskId: string; readonly seq: number }>()
  const dropped: string[] = []
  const twice: string[] = []
  const drop = (key: string) => {
    dropped.push(current.get(key)?.taskId ?? '')
    current.delete(key)
  }
  for (const { type, seq, data } of events) {
    const { since, droppedChildren = [] } = data as { since?: number; droppedChildren?: readonly string[] }
    for (const key of droppedChildren) drop(key)
    if (since !== undefined) for (const [key, it] of current) if (it.seq > since) drop(key)
    if (type !== 'child.spawned') continue
    const { key, taskId } = data as { key: string; taskId: string }
    if (current.has(key)) twice.push(key)
    current.set(key, { taskId, seq })
  }
  return { kept: [...current.values()].map(({ taskId }) => taskId), dropped, twice }
}

/** A function has one idempotency key in a generation, so never more than there were generations. */
function* generationRules({ events, life }: Run): Iterable<string> {
  const generations = rejectionsIn(events).length + 1
  for (const [key, { size }] of life.idempotencyKeys)
    if (size > generations) yield `step '${key}' had ${size} idempotency keys in ${generations} generations`
}

/**
 * Corollary 12: what was recorded before the crash does not run behind it, and what runs behind it is what was not recorded. What is
 * void by then counts as not recorded.
 */
function* countRules({ events, history, life }: Run, crash: number): Iterable<string> {
  const passes = life.passesOf(history.taskId)
  const pass = passes.findIndex(({ attempt }) => attempt > 1)
  if (crash < 0 || pass < 0) return
  count('Corollary 12: counted')
  const recordedIn = (some: readonly RuntimeEvent[]) =>
    new Set(
      some.flatMap(({ type, data }) => (type === 'step.completed' ? [(data as { key: string }).key] : [])),
    )
  const after = recordedIn(events.slice(crash))
  // Draws run without being told of, and the mark of a patch is no function's.
  const told = [...after].filter((key) => !key.endsWith(' draw') && !key.startsWith(RESERVED))
  const ran = new Set(passes.slice(pass).flatMap((it) => [...it.ran]))
  if (!isDeepStrictEqual(ran, new Set(told)))
    yield `behind the crash ran ${[...ran].join(', ') || 'nothing'}, and was recorded ${told.join(', ') || 'nothing'}`
}

/**
 * Where the order hash has to be that of the run that was not crashed:
 *
 * - Nothing ran at the crash (the task was waiting, queued or over), and it waited for one thing at a time. The history has no trace of
 *   such a crash.
 * - The program is straight, wherever the crash was: then the history differs by the requeue, the start of the pass that follows,
 *   and the attempt that these name, and is the same without them.
 *
 * It need not be the same where a crash may repeat what is no memo (failed steps and tries, intents, checkpoints) or change what ends
 * first (waits side by side, children, a pass that stays because a step runs, signals that come unasked).
 */
function* orderRules(
  { history, events }: Run,
  { straight }: Program,
  whole: Run,
  crash: number,
): Iterable<string> {
  if (!straight) return
  count(`order hash: ${crash < 0 ? 'no trace of the crash' : 'the same but for the crash'}`)
  if (crash < 0 && history.orderHash !== whole.history.orderHash)
    yield `nothing ran at the crash, and the order hash is another than without it`
  const [mine, other] = [withoutCrash(events, crash), withoutCrash(whole.events, -1)]
  if (mine !== other) yield `the order of the history is another than without the crash`
}

function withoutCrash(events: readonly RuntimeEvent[], crash: number): string {
  const plain = events
    .filter((_, index) => crash < 0 || (index !== crash && index !== crash + 1))
    .map((event) => {
      const { seq, type, data } = JSON.parse(JSON.stringify(event)) as {
        seq: number
        type: string
        data: Record<string, unknown>
      }
      return { seq, type, data: type === 'task.started' ? { ...data, attempt: 1 } : data }
    })
  return orderOfHistory(plain, systemEnvironment.digest).hash
}

function rejectionsIn(events: readonly RuntimeEvent[]): { since: number; seq: number }[] {
  return events.flatMap(({ seq, data }) => {
    const { since } = data as { since?: number }
    return since === undefined ? [] : [{ since, seq }]
  })
}
