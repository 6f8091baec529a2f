import {
  budgetTerms,
  canonical,
  chainRefusal,
  type ChildEnd,
  childName,
  type Claim,
  decideBackoff,
  decideChain,
  decideOutcome,
  decidePassStart,
  decisionOfPast,
  defaultBackoff,
  describeError,
  encode,
  errorOfPast,
  type ErrorRecord,
  escalationWait,
  type EventData,
  type ExecutionStore,
  type HandedOver,
  handOverKey,
  handOverLabels,
  NonRetryableError,
  type OutcomeOf,
  parseJson,
  type Random,
  type Reads,
  RuntimeError,
  type Settlement,
  type Submission,
  TaskCanceled,
  type TypeSettings,
  workedOnBy,
} from '@ku0/agent-runtime-core'
import { TaskFailed } from '@ku0/agent-runtime'
import { beyondTypes } from './permission.ts'
import type { RequestWorker } from './request-worker.ts'

type Memos = Reads['memos']['answer']

/** A claim of a worker in another language that is not at its beginning. */
interface Begun {
  readonly store: ExecutionStore
  readonly worker: Pick<RequestWorker, 'writeForIt' | 'caller'>
  readonly claim: Claim
  readonly memos: Memos
  readonly random: Random
}

/**
 * Whether the handler has its turn. A worker that knows no tables does nothing before it after a failure: the server calls the task
 * that this one was handed over to, or asks a person, under the worker's lease. Each of its writes may be made again. Source: `docs/semantics.md 14.3`.
 */
export async function hasTurn(begun: Begun): Promise<boolean> {
  const { worker, claim, memos } = begun
  const { leaseId } = claim
  const other = workedOnBy(memos)
  if (other !== undefined) {
    await callOther(begun, other)
    return false
  }
  const start = decidePassStart({ ...memos, policy: undefined, currentModel: () => undefined })
  switch (start.as) {
    case 'ask':
      await worker.writeForIt({
        kind: 'suspend',
        leaseId,
        waits: [escalationWait(start.failure)],
        stay: false,
      })
      return false
    case 'refuse': {
      const { kind } = decisionOfPast(start.failure)
      const error = textOf(errorOfPast(start.failure))
      await settle(begun, { as: 'failed', kind, error, refused: true })
      return false
    }
    default:
      return true
  }
}

/** The pass of a task that was handed over: it calls the other task, waits for it, and ends as it did. */
async function callOther(begun: Begun, other: HandedOver): Promise<void> {
  const { store, worker, claim, memos } = begun
  const { task, nth } = other
  const { leaseId, type } = claim
  const submitted = parseJson(claim.submission) as EventData['task.queued']
  const chain = decideChain(submitted, type, task)
  if (chain.as !== 'goes_on')
    return settle(begun, failureOf(claim, new NonRetryableError(chainRefusal(chain, type, task))))
  const key = handOverKey(nth)
  const name = childName(key)
  let child = memos.children.find((it) => it.key === key)
  if (child === undefined) {
    // A token that may not start the other task has others do it no more than itself.
    const beyond = beyondTypes(worker.caller, task)
    if (beyond !== undefined) return putBack(begun, beyond)
    const settings = await settingsOf(store, task)
    if (settings === undefined) return putBack(begun, nobodyKnows(task))
    const submission = submissionOf(claim, submitted, settings, other, chain.label)
    const { asRetry, forkOf } = submitted
    const spawn = {
      kind: 'spawn',
      leaseId,
      key,
      position: 0,
      policy: 'cancel',
      submission,
      ...(asRetry === true && forkOf !== undefined ? { retryOf: forkOf } : {}),
      inLine: true,
    } as const
    const spawned = await worker.writeForIt(spawn)
    if (spawned.fenced === 'stale') return
    if (spawned.as === 'no_room') return putBack(begun, noRoom(task))
    if (spawned.as !== 'spawned') return settle(begun, failureOf(claim, refusalOf(spawned, task)))
    child = spawned.child
  }
  const wait = { key: name, position: 1, kind: 'child', name } as const
  const over = memos.waits.find((it) => it.key === name) ?? (await waited(begun, wait))
  if (over?.value !== undefined)
    await settle(begun, endAs(claim, child.taskId, parseJson(over.value) as ChildEnd))
}

/** The end of a wait that is over already; undefined where the task waits, or is no longer the worker's. */
async function waited(
  { worker, claim: { leaseId } }: Begun,
  wait: { readonly key: string; readonly position: number; readonly kind: 'child'; readonly name: string },
) {
  const outcome = await worker.writeForIt({ kind: 'suspend', leaseId, waits: [wait], stay: false })
  if (outcome.fenced === 'stale' || outcome.suspended) return undefined
  return outcome.resolved.find(({ key }) => key === wait.key)
}

/** The settings of the other task type, as a worker that runs it says. Others may say nothing about it. */
async function settingsOf(store: ExecutionStore, task: string): Promise<TypeSettings | undefined> {
  const workers = await store.read({ kind: 'workers' })
  return workers.find(({ types, settings }) => types.includes(task) && settings?.[task] !== undefined)
    ?.settings?.[task]
}

/** The other task has the model, the tools and the budget of its type. */
function submissionOf(
  { lane }: Claim,
  { input, labels, client, oversight, outOfCredits, trace }: EventData['task.queued'],
  known: TypeSettings,
  other: HandedOver,
  label: string,
): Submission {
  const { model = known['model'], cost } = other
  const { tools, budget } = known
  const agreement = labels?.['agreement']
  return {
    type: other.task,
    lane,
    input: canonical(input),
    labels: {
      ...handOverLabels(labels, label),
      ...(agreement === undefined ? {} : { agreement }),
    },
    ...(client === undefined ? {} : { client }),
    ...(oversight === undefined ? {} : { oversight }),
    ...(outOfCredits === undefined ? {} : { outOfCredits }),
    ...(trace === undefined ? {} : { trace }),
    ...(model === undefined ? {} : { model }),
    ...(cost === undefined ? {} : { cost }),
    ...(tools === undefined ? {} : { tools: parseJson(tools) as readonly string[] }),
    ...(budget === undefined ? {} : { budget: { ...budgetTerms('budget', parseJson(budget)), cut: true } }),
  }
}

function nobodyKnows(task: string): RuntimeError {
  return new RuntimeError(
    'unknown_task_type',
    `no worker is registered that runs '${task}', which the task was handed over to, and says its model, tools and budget: start one`,
  )
}

function noRoom(task: string): RuntimeError {
  return new RuntimeError(
    'limit_exceeded',
    `the queue has no room for '${task}', which the task was handed over to`,
  )
}

/** Any other refusal is an end. */
function refusalOf(
  spawned: Exclude<OutcomeOf<'spawn'>, { fenced: 'stale' } | { as: 'spawned' | 'no_room' }>,
  task: string,
): NonRetryableError {
  const why = spawned.as === 'refused' ? ` (${spawned.receipt.reason}): ${spawned.receipt.message}` : ''
  return new NonRetryableError(`task '${task}', which the task was handed over to, was refused${why}`)
}

function endAs(claim: Claim, taskId: string, end: ChildEnd): Settlement {
  switch (end.state) {
    case 'completed':
      return { as: 'completed', output: canonical(end.output) }
    case 'failed':
      return failureOf(claim, new TaskFailed(taskId, end.kind, end.error as ErrorRecord))
    case 'canceled':
      return failureOf(claim, new TaskCanceled(taskId, end.reason))
  }
}

/** Nobody here knows the table of the task: its failure is final. */
function failureOf({ attempt, crashes }: Claim, error: Error): Settlement {
  const outcome = decideOutcome({ as: 'threw', error: describeError(error) }, { attempt, crashes, random: 0 })
  const kind = outcome.as === 'failed' ? outcome.kind : 'error'
  return { as: 'failed', kind, error: textOf(describeError(error)) }
}

/** It goes back to the queue, and comes again after a while that grows with its tries: what keeps it may end. Source: `docs/semantics.md 14.3`. */
export async function putBack(
  begun: Pick<Begun, 'worker' | 'claim' | 'random'>,
  error: unknown,
): Promise<void> {
  const { attempt, crashes } = begun.claim
  const delayMs = decideBackoff(defaultBackoff, attempt - crashes, begun.random.next())
  await settle(begun, { as: 'retry', error: textOf(describeError(error)), delayMs, interrupted: true })
}

async function settle(
  { worker, claim: { leaseId } }: Pick<Begun, 'worker' | 'claim'>,
  settlement: Settlement,
): Promise<void> {
  await worker.writeForIt({ kind: 'settle', leaseId, settlement })
}

function textOf(error: ErrorRecord): string {
  return encode(error, { what: 'an error' })
}
