import {
  describeError,
  divergenceOfFault,
  type HandlerEnd,
  type HistoryFault,
  type PastFailure,
  RuntimeError,
  type Divergence,
  workedOnBy,
} from '@ku0/agent-runtime-core'
import { HandlerContext } from '../durable/context.ts'
import { type Memos, noMemos, readMemos } from '../durable/pass/memos.ts'
import { HandlerScope } from '../durable/pass/scope.ts'
import { unreadableBy, unreadableIn } from '../durable/pass/unreadable.ts'
import { readSubmission, type SubmissionData } from '../durable/child/submission-data.ts'
import { tellDropped, unawaitedIn } from '../durable/pass/unawaited.ts'
import { check, describeIssues } from '../terms/schema.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { Attempt } from './attempt.ts'
import type { PassCheck } from './pass-check.ts'
import { insideHandler } from '../lease/inside-handler.ts'
import { holdToLimits } from './limits.ts'
import { ask, passStart, settleBefore } from './pass-start.ts'
import { judgeReturn, settle, threw } from './settle.ts'
import { isThenable } from '../terms/thenable.ts'

/**
 * Runs one claim to its settlement: memos, input, handler, outcome. Returns at once; the attempt's observer
 * is notified of the end. A handler that returns without a promise, and has nothing running, is settled
 * before this returns. Source: `docs/semantics.md 4.5, 8.8`.
 */
export function runClaim(attempt: Attempt, definition: TaskDefinition | undefined): void {
  if (definition === undefined) return end(attempt, definition, unknownType(attempt))
  const { replays, taskId } = attempt.claim
  if (!replays) return begin(attempt, definition, noMemos)
  readMemos(attempt.parts.store, taskId).then(
    (memos) => goOn(attempt, definition, memos),
    (error: unknown) => void unread(attempt, definition, error),
  )
}

/** A task that failed before: what its table asks for comes before its handler. */
function goOn(attempt: Attempt, definition: TaskDefinition, memos: Memos): void {
  attempt.past = memos
  if (attempt.stopped !== undefined) return attempt.endHandler(true)
  const start = passStart(attempt, definition, memos)
  switch (start.as) {
    case 'run':
      return begin(attempt, definition, memos)
    case 'ask':
      return void askFirst(attempt, definition, start.failure)
    case 'fall_back':
    case 'fail':
    case 'refuse':
      settleBefore(attempt, start)
      return attempt.endHandler(true)
  }
}

/** The task waits for a person, or goes on from what was recorded meanwhile. */
async function askFirst(attempt: Attempt, definition: TaskDefinition, failure: PastFailure): Promise<void> {
  try {
    const waits = await ask(attempt, failure)
    if (attempt.stopped !== undefined) attempt.endHandler(true)
    else if (waits) attempt.suspendFirst()
    else runClaim(attempt, definition)
  } catch (error) {
    end(attempt, definition, threw(attempt, definition, error))
  }
}

/**
 * A task whose history was changed is parked: the task itself has done nothing wrong. Source:
 * `docs/semantics.md 6.4`.
 */
async function unread(attempt: Attempt, definition: TaskDefinition, error: unknown): Promise<void> {
  const fault = await readFault(attempt, error)
  if (attempt.stopped !== undefined) attempt.endHandler(true)
  else if (fault === undefined) end(attempt, definition, withoutMemos(attempt, definition, error))
  else attempt.diverge(divergenceOfFault(fault))
}

/** Nothing is known of the failures before, so that a table could not be asked. */
function withoutMemos(attempt: Attempt, definition: TaskDefinition, error: unknown): HandlerEnd {
  if (definition.recovery === undefined) return threw(attempt, definition, error)
  return { as: 'interrupted', error: describeError(error) }
}

/** An error that comes from the store's thread has lost its details. */
async function readFault(attempt: Attempt, error: unknown): Promise<HistoryFault | undefined> {
  if (!(error instanceof RuntimeError) || error.code !== 'store_corrupt') return undefined
  const { store } = attempt.parts
  return store.read({ kind: 'integrity', taskId: attempt.claim.taskId }).catch(() => undefined)
}

/**
 * Runs a handler as {@link runClaim} does, with a given history. The attempt's watch is notified of the end.
 */
export function runReplay(attempt: Attempt, definition: TaskDefinition, history: Memos): void {
  begin(attempt, definition, history)
}

function begin(attempt: Attempt, definition: TaskDefinition, memos: Memos): void {
  if (attempt.stopped !== undefined) return attempt.endHandler(true)
  const found = attempt.parts.strict?.foundEarlier(attempt.claim)
  if (found !== undefined) return end(attempt, definition, threw(attempt, definition, found))
  let submission: SubmissionData
  let checked: ReturnType<typeof check>
  try {
    submission = readSubmission(attempt.claim.submission, attempt.parts.values)
    checked = check(definition.input, submission.input)
  } catch (error) {
    const missing = unreadableBy(error, { key: '', position: 0 })
    if (missing !== undefined) return park(attempt, missing)
    return end(attempt, definition, mismatch(attempt, messageOf(error)))
  }
  const unreadable = unreadableIn(attempt.parts.values, memos, attempt.claim.checkpoint)
  if (unreadable !== undefined) return park(attempt, unreadable)
  if (!(checked instanceof Promise)) return enter(attempt, definition, memos, submission, checked)
  void checked.then(
    (later) => enter(attempt, definition, memos, submission, later),
    (error: unknown) => end(attempt, definition, mismatch(attempt, messageOf(error))),
  )
}

/** Before the handler begins: what was recorded stays for a process that can read it. */
function park(attempt: Attempt, divergence: Divergence): void {
  if (attempt.replay !== undefined) return attempt.replay.diverged(divergence)
  attempt.diverge(divergence)
  attempt.endHandler(true)
}

function enter(
  attempt: Attempt,
  definition: TaskDefinition,
  memos: Memos,
  submission: SubmissionData,
  checked: Awaited<ReturnType<typeof check>>,
): void {
  if (attempt.stopped !== undefined) return attempt.endHandler(true)
  if (checked.issues !== undefined) {
    return end(attempt, definition, mismatch(attempt, describeIssues('input', checked.issues)))
  }
  const { guard } = attempt.parts
  guard?.entered()
  const isFree = attempt.replay !== undefined || guard !== undefined
  const limit = isFree ? undefined : holdToLimits(attempt, definition, submission)
  const scope = new HandlerScope(attempt)
  const context = new HandlerContext(scope, submission, memos, definition)
  const run: Run = { attempt, definition, scope, context }
  const returned = (value: unknown) => {
    limit?.cancel()
    // `await` subscribes to a promise only after the current turn: a handler without a promise may have
    // returned in that turn.
    if (scope.members.size + scope.failures.length === 0) leave(run, value)
    else void Promise.resolve().then(() => leave(run, value))
  }
  const failed = (error: unknown) => {
    limit?.cancel()
    end(attempt, definition, threw(attempt, definition, error), context)
  }
  try {
    const other = workedOnBy(memos)
    const handler = () =>
      other === undefined ? definition.handler(context, checked.value as never) : context.callOther(other)
    const result = insideHandler(attempt, handler)
    if (isThenable(result)) Promise.resolve(result).then(returned, failed)
    else returned(result)
  } catch (error) {
    failed(error)
  }
}

/** A pass through a handler. */
interface Run {
  readonly attempt: Attempt
  readonly definition: TaskDefinition
  readonly scope: HandlerScope
  readonly context: HandlerContext
}

function leave(run: Run, value: unknown): void {
  const { attempt, definition, scope, context } = run
  if (attempt.stopped !== undefined) return attempt.endHandler(true)
  if (attempt.replay === undefined && context.returned()) return
  const unawaited = unawaitedIn(scope)
  if (unawaited !== undefined) return end(attempt, definition, threw(attempt, definition, unawaited), context)
  tellDropped(scope)
  const judged = judgeReturn(attempt, definition, value)
  if (judged instanceof Promise) void judged.then((later) => conclude(run, later))
  else conclude(run, judged)
}

/** Strict mode replays what has made calls before it counts. */
function conclude(run: Run, how: HandlerEnd): void {
  const { attempt, definition, context } = run
  const { strict } = attempt.parts
  if (strict === undefined || how.as !== 'returned' || !context.hasCalls)
    end(attempt, definition, how, context)
  else void concludeStrictly(run, how, strict)
}

async function concludeStrictly(
  { attempt, definition, context }: Run,
  how: Extract<HandlerEnd, { as: 'returned' }>,
  strict: PassCheck,
): Promise<void> {
  const error = await strict.returned(attempt.claim, how.output)
  end(attempt, definition, error === undefined ? how : threw(attempt, definition, error), context)
}

/** The slot is given back in the same turn as the settlement, so that both reach the store together. */
function end(
  attempt: Attempt,
  definition: TaskDefinition | undefined,
  how: HandlerEnd,
  context?: HandlerContext,
): void {
  if (attempt.replay !== undefined) return attempt.replay.ended(how, context?.replayTrail)
  if (attempt.stopped === undefined) settle(attempt, definition, how)
  attempt.endHandler(how.as !== 'returned')
}

function mismatch(attempt: Attempt, issues: string): HandlerEnd {
  const message = `the stored input no longer fits the schema of task '${attempt.claim.type}': ${issues}`
  return {
    as: 'stopped',
    kind: 'schema_mismatch',
    error: describeError(new RuntimeError('schema_mismatch', message)),
  }
}

function unknownType(attempt: Attempt): HandlerEnd {
  const message = `this process does not define the task type '${attempt.claim.type}'`
  return { as: 'threw', error: describeError(new RuntimeError('unknown_task_type', message)) }
}

function messageOf(error: unknown): string {
  return describeError(error).message
}
