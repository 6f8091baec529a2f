import { setTimeout as sleep } from 'node:timers/promises'
import { defineAgreement, type Receipt, type Runtime, type SubmitOptions } from '@ku0/agent-runtime'
import type { Lane } from '@ku0/agent-runtime-core'
import type { Arrival } from '../scenario/scenario.ts'
import { type PlannedTask, taskTypeOf } from '../work/plan.ts'
import { seededRandom } from '../work/random.ts'
import { type Notebook, type SubmittedNote, wallNow } from './notes.ts'

/** Submits the tasks as the arrival says, and notes every call with its answer. */
export async function submitArrival(
  runtime: Runtime,
  notes: Notebook,
  arrival: Arrival,
  tasks: readonly PlannedTask[],
  seed: number,
): Promise<void> {
  const submit = (task: PlannedTask) => submitOne(runtime, notes, task)
  switch (arrival.how) {
    case 'bulk':
      await submitBulk(runtime, notes, tasks)
      return
    case 'together':
      await Promise.all(tasks.map(submit))
      return
    case 'in-order':
      for (const task of tasks) await submit(task)
      return
    case 'from-idle':
      for (const task of tasks) {
        const note = await submit(task)
        if (note.taskId !== undefined && note.accepted) await runtime.result(note.taskId)
        await sleep(arrival.idleMs)
      }
      return
    case 'rate':
      await submitAt(tasks, drawnTimes(tasks.length, arrival.perSecond, seed), submit)
      return
    case 'trace':
      await submitAt(
        tasks,
        tasks.map(({ afterMs }) => afterMs),
        submit,
      )
      return
    case 'probe':
      await probe(runtime, notes, tasks, arrival)
  }
}

async function submitBulk(runtime: Runtime, notes: Notebook, tasks: readonly PlannedTask[]): Promise<void> {
  const at = wallNow()
  const receipts = await runtime.submitMany(
    tasks.map((task) => ({ task: taskTypeOf(task), input: task.input, options: optionsOf(task) })),
  )
  const answeredAt = wallNow()
  for (const [i, task] of tasks.entries()) {
    const receipt = receipts[i]
    if (receipt !== undefined) notes.add({ ...noteOf(task, receipt), at, answeredAt })
  }
}

async function submitOne(
  runtime: Runtime,
  notes: Notebook,
  task: PlannedTask,
  extra: { readonly lane?: Lane; readonly depth?: number } = {},
): Promise<SubmittedNote> {
  const at = wallNow()
  const options = { ...optionsOf(task), ...(extra.lane && { lane: extra.lane }) }
  const outcome = await runtime.submit(taskTypeOf(task), task.input, options).catch(refusal)
  const answeredAt = wallNow()
  const depth = extra.depth === undefined ? {} : { depth: extra.depth }
  const note: SubmittedNote = { ...noteOf(task, outcome), at, answeredAt, ...depth }
  notes.add(note)
  return note
}

/** At each depth every lane is tried in turn; a task that the try let in leaves again, so that the depth stays. */
async function probe(
  runtime: Runtime,
  notes: Notebook,
  tasks: readonly PlannedTask[],
  arrival: Extract<Arrival, { how: 'probe' }>,
): Promise<void> {
  const supply = tasks.values()
  const next = () => {
    const { value, done } = supply.next()
    if (done === true)
      throw new Error(`the probe of ${arrival.groups.join(', ')} needs more tasks than its groups have`)
    return value
  }
  const depthNow = async () =>
    Object.values((await runtime.stats()).depth).reduce((sum, depth) => sum + depth, 0)
  for (const depth of arrival.depths.toSorted((a, b) => a - b)) {
    const missing = depth - (await depthNow())
    await submitBulk(runtime, notes, Array.from({ length: Math.max(0, missing) }, next))
    for (const lane of arrival.lanes) {
      const note = await submitOne(runtime, notes, next(), { lane, depth: await depthNow() })
      if (note.accepted && note.taskId !== undefined) await runtime.cancel(note.taskId, { reason: 'probe' })
    }
  }
}

async function submitAt(
  tasks: readonly PlannedTask[],
  times: readonly number[],
  submit: (task: PlannedTask) => Promise<SubmittedNote>,
): Promise<void> {
  const began = performance.now()
  const answers: Promise<SubmittedNote>[] = []
  for (const [i, task] of tasks.entries()) {
    const early = (times[i] ?? 0) - (performance.now() - began)
    if (early > 0) await sleep(early)
    answers.push(submit(task))
  }
  await Promise.all(answers)
}

/** Times of independent arrivals: the gaps are exponential. */
function drawnTimes(count: number, perSecond: number, seed: number): readonly number[] {
  const random = seededRandom(seed, 'arrivals')
  let at = 0
  return Array.from({ length: count }, () => {
    at += (-Math.log(1 - random.next()) * 1000) / perSecond
    return at
  })
}

function optionsOf(task: PlannedTask): SubmitOptions {
  const { agreement, ...options } = task.options
  return {
    // A lane of its own wins over that of its agreement.
    ...(agreement?.lane === undefined && { lane: task.lane }),
    labels: { ...task.labels, n: String(task.n) },
    ...options,
    ...(agreement !== undefined && { agreement: defineAgreement(agreement) }),
    ...(task.model !== undefined && { model: task.model }),
    ...(task.tools.length > 0 && { tools: [...task.tools] }),
    ...(task.idempotencyKey !== undefined && { idempotencyKey: task.idempotencyKey }),
  }
}

type Refusal = { readonly accepted: false; readonly reason: string }

/** A submission that was refused before it became a record is thrown; a store that failed is no answer. */
function refusal(error: unknown): Refusal {
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === 'idempotency_conflict' || code === 'already_exists') return { accepted: false, reason: code }
  throw error
}

function noteOf(task: PlannedTask, outcome: Receipt | Refusal): Omit<SubmittedNote, 'at' | 'answeredAt'> {
  const known = 'taskId' in outcome ? { taskId: outcome.taskId } : {}
  return outcome.accepted
    ? { kind: 'submitted', n: task.n, accepted: true, deduplicated: outcome.deduplicated, ...known }
    : { kind: 'submitted', n: task.n, accepted: false, reason: outcome.reason, ...known }
}
