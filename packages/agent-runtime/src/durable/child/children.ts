import {
  assertOptions,
  budgetAmount,
  childPolicies,
  type ChildPolicy,
  type ChildRecord,
  invalid,
  isOneOf,
  isRecord,
  type Rules,
  RuntimeError,
  show,
  type Sibling,
  type Submission,
} from '@ku0/agent-runtime-core'
import type { SubmitItem, SubmitOptions } from '../../api/submissions.ts'
import { familiarToSubmission } from '../../terms/familiar-names.ts'
import { submitRules } from '../../terms/submit-rules.ts'
import type { SubmissionData } from './submission-data.ts'
import { openReceipt } from '../../terms/receipts.ts'
import type { ChildTask, SpawnOptions } from '../../api/task-context.ts'
import { TaskRejected } from '../../api/errors.ts'
import { Answer, refused } from '../pass/answer.ts'
import { Child } from './child.ts'
import { checkKey, type Pass } from '../pass/pass.ts'
import type { Callee } from '../pass/key-use.ts'
import type { Start } from '../pass/gate.ts'
import type { Taken } from '../host.ts'
import type { Room, Seeker } from '../wait/room.ts'
import { LIVE, type Member, type Scope } from '../pass/scope.ts'

/**
 * The caller of a spawn: the pass, the scope, the method that was called, and the submission of the parent.
 */
export interface ChildCaller {
  readonly pass: Pass
  readonly scope: Scope
  readonly callee: Callee
  readonly submission: SubmissionData
}

/** `ctx.spawn`. Source: `docs/semantics.md 5.5`. */
export function spawnChild(
  caller: ChildCaller,
  key: unknown,
  task: unknown,
  input: unknown,
  options: unknown,
): Promise<ChildTask> {
  return begin<ChildTask>('spawn', caller, [key, task, input, options], (answer, child) =>
    answer.resolve(child),
  )
}

/** `ctx.call`, and with `ownKey` the call of a child under a key of the runtime's own. Source: `docs/semantics.md 5.5`. */
export function callChild(
  caller: ChildCaller,
  key: unknown,
  task: unknown,
  input: unknown,
  options: unknown,
  ownKey?: string,
): Promise<unknown> {
  return begin<unknown>(
    'call',
    caller,
    [key, task, input, options],
    (answer, child) => void child.answer(answer),
    ownKey === undefined ? undefined : { key: ownKey, after: [] },
  )
}

/**
 * A child of a supervisor, a pipeline or a marketplace, under a key of the runtime's own. `after`: children of a supervisor that have to be as far;
 * throws {@link NotYet} while they are not.
 */
export function superviseChild(
  caller: ChildCaller,
  key: string,
  task: unknown,
  input: unknown,
  options: unknown,
  after: readonly Sibling[] = [],
): Promise<unknown> {
  return begin<unknown>(
    'spawn',
    caller,
    [key, task, input, options],
    (answer, child) => answer.resolve(child),
    { key, after },
  )
}

/** A child cannot start yet: another one is not as far. Nothing was stored. */
export class NotYet extends Error {}

/** Called once the child exists. */
type Spawned<T> = (answer: Answer<T>, child: Child) => void

function begin<T>(
  name: 'spawn' | 'call',
  { pass, scope, callee, submission }: ChildCaller,
  [key, task, input, given]: readonly unknown[],
  spawned: Spawned<T>,
  /** Of a child under a key of the runtime's own. */
  own?: { readonly key: string; readonly after: readonly Sibling[] },
): Promise<T> {
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    if (own === undefined || key !== own.key) checkKey(key, name)
    const { options, policy, whenFull } = readOptions(`${name} '${key}'`, given)
    const lane = options.lane ?? pass.attempt.claim.lane
    const item = { task, input, options: { ...options, lane } } as SubmitItem
    const { position } = pass.use({ key, as: 'child', scope, callee })
    // The wait for the child has its own place, the same in every pass.
    const resultAt = name === 'call' ? pass.placeIn(scope) : undefined
    pass.children.set(key, scope)
    const answer = new Answer<T>(scope, name, key)
    const memo = pass.memos.children.get(key)
    if (memo !== undefined) {
      assertSameType(pass, memo, task, position)
      scope.answered(memo.seq)
      spawned(answer, new Child(pass, scope, memo, resultAt))
      return answer.promise
    }
    const spawn = new Spawn<T>(
      {
        name,
        pass,
        scope,
        key,
        position,
        resultAt,
        policy,
        whenFull,
        item,
        parent: submission,
        after: own?.after ?? [],
      },
      answer,
      spawned,
    )
    return spawn.begin()
  } catch (error) {
    return refused(scope, name, key, error)
  }
}

/** A child has the label `agreement` of its parent. */
function underAgreement(
  { labels: { agreement } = {} }: Pick<Submission, 'labels'>,
  { labels }: Pick<Submission, 'labels'>,
): Pick<Submission, 'labels'> {
  return agreement === undefined ? {} : { labels: { ...labels, agreement } }
}

function readOptions(
  call: string,
  given: unknown,
): { readonly options: SubmitOptions; readonly policy: ChildPolicy; readonly whenFull: 'wait' | 'throw' } {
  if (given === undefined) return { options: {}, policy: 'cancel', whenFull: 'wait' }
  for (const name of ['idempotencyKey', 'client', 'agreement'])
    if (isRecord(given) && name in given)
      throw invalid(
        `${call} option ${name}: not for a child, which has its parent's client and agreement and is identified by its key`,
      )
  assertOptions(call, given, spawnRules, { familiar: familiarToSubmission })
  const { onParentEnd = 'cancel', whenFull = 'wait', ...options } = given as SpawnOptions
  return { options, policy: onParentEnd, whenFull }
}

const { idempotencyKey: _, client: __, agreement: ___, onReject: ____, ...rest } = submitRules
const spawnRules: Rules<SpawnOptions> = {
  ...rest,
  onParentEnd: isOneOf(childPolicies),
  whenFull: isOneOf(['wait', 'throw']),
}

/**
 * If the key was recorded with another task type, the code is different: the task is parked. Source:
 * `docs/semantics.md 6.4`.
 */
function assertSameType(pass: Pass, { key, type }: ChildRecord, task: unknown, position: number): void {
  const given = typeof task === 'string' ? task : (task as { type?: unknown } | undefined)?.type
  if (given !== type)
    pass.part({
      kind: 'unexpected_step',
      key,
      position,
      expected: `child ${type}`,
      actual: `child ${String(given)}`,
    })
}

interface SpawnFacts {
  readonly name: 'spawn' | 'call'
  readonly pass: Pass
  readonly scope: Scope
  readonly key: string
  readonly position: number
  readonly resultAt: number | undefined
  readonly policy: ChildPolicy
  readonly whenFull: 'wait' | 'throw'
  readonly item: SubmitItem
  /** The submission of the parent. */
  readonly parent: SubmissionData
  readonly after: readonly Sibling[]
}

/**
 * A call that no memo answers: the child's input is checked, and the child and the memo are committed
 * together.
 */
class Spawn<T> implements Start, Member, Seeker {
  readonly answer: Answer<T>
  readonly #it: SpawnFacts
  readonly #spawned: Spawned<T>
  /** It is running, which keeps the pass alive. */
  #counted = false
  #ended = false
  /** Its place in the queue of calls that wait for room; undefined if a full store refuses it. */
  readonly #room: Room | undefined
  #prepared: Submission | undefined

  constructor(it: SpawnFacts, answer: Answer<T>, spawned: Spawned<T>) {
    this.#it = it
    this.answer = answer
    this.#spawned = spawned
    this.#room = it.whenFull === 'wait' ? it.pass.rooms.of(kindOf(it.item)) : undefined
  }

  get key(): string {
    return this.#it.key
  }
  get position(): number {
    return this.#it.position
  }
  get scope(): Scope {
    return this.#it.scope
  }

  begin(): Promise<T> {
    this.#it.scope.keep(this)
    if (this.#room === undefined) this.seek()
    else this.#room.enter(this)
    return this.answer.promise
  }

  seek(): void {
    if (this.#it.pass.gate.admits(this)) this.start()
  }

  start(): void {
    if (this.#ended) return
    const { name, pass, scope, key, item } = this.#it
    if (scope.closedBy !== undefined) return this.refuse()
    pass.begun()
    pass.gate.begin()
    this.#counted = true
    if (this.#prepared !== undefined) return this.#hand(this.#prepared)
    try {
      const { parts, claim } = pass.attempt
      const prepared = parts.prepareChild(item, `${name} '${key}'`, claim.type)
      if (prepared instanceof Promise)
        prepared.then(
          (later) => this.#hand(later),
          (error: unknown) => this.#end(error),
        )
      else this.#hand(prepared)
    } catch (error) {
      this.#end(error)
    }
  }

  /** The handler has to stop, or has ended without waiting. */
  refuse(reason: unknown = this.#it.scope.closedBy): void {
    this.#end(reason)
  }

  abandon(reason: Error): void {
    this.#end(reason)
  }

  #hand(prepared: Submission): void {
    if (this.#ended) return
    const { pass, scope, key, position, policy, parent, after } = this.#it
    if (scope.closedBy !== undefined) return this.refuse()
    const { leaseId } = pass.attempt.claim
    this.#prepared = prepared
    const submission = {
      ...(parent.client === undefined ? {} : { client: parent.client }),
      ...(parent.oversight === undefined ? {} : { oversight: parent.oversight }),
      ...(parent.outOfCredits === undefined ? {} : { outOfCredits: parent.outOfCredits }),
      ...(parent.trace === undefined ? {} : { trace: parent.trace }),
      ...prepared,
      ...underAgreement(parent, prepared),
    }
    const retryOf = parent.asRetry === true && parent.forkOf !== undefined ? { retryOf: parent.forkOf } : {}
    const drops = this.#room?.openWait(this)
    const inLine = this.#room === undefined ? {} : { inLine: true, ...(drops === undefined ? {} : { drops }) }
    const spawn = {
      kind: 'spawn',
      leaseId,
      key,
      position,
      policy,
      submission,
      ...retryOf,
      ...inLine,
      ...(after.length === 0 ? {} : { after }),
    } as const
    pass.attempt.lease.write(spawn).then(
      (outcome) => this.#answered(outcome),
      (error: unknown) => this.#end(error),
    )
  }

  #answered(outcome: Taken<'spawn'> | undefined): void {
    const { pass, scope, resultAt } = this.#it
    if (this.#ended) return
    if (outcome === undefined || scope.closedBy !== undefined) return this.refuse()
    if (outcome.as === 'no_room') {
      this.#counted = false
      this.#room?.refused(this)
      return pass.gate.endInWait()
    }
    if (outcome.as !== 'spawned') return this.#end(this.#refusal(outcome))
    this.#room?.accepted(this)
    if (!this.#leave()) this.#spawned(this.answer, new Child(pass, scope, outcome.child, resultAt))
  }

  #refusal(outcome: Exclude<Taken<'spawn'>, { as: 'spawned' | 'no_room' }>): unknown {
    const { pass, key } = this.#it
    if (outcome.as === 'not_yet') return new NotYet()
    if (outcome.as === 'full') {
      const { maxChildren } = pass.attempt.parts.config
      const message = `child '${key}': a task has at most maxChildren ${maxChildren} children that have not ended`
      return new RuntimeError('limit_exceeded', message, { details: { key, maxChildren } })
    }
    if (outcome.as === 'over_budget') {
      const { field, taskId } = outcome
      const left = budgetAmount(field, outcome.left)
      return invalid(
        `child '${key}' budget.${field}: more than the ${left} that are left of the budget of task ${taskId}`,
      )
    }
    try {
      const { taskId, ...receipt } = openReceipt(outcome.receipt)
      if (receipt.accepted) throw new RuntimeError('internal', `child '${key}' was refused and accepted`)
      return new TaskRejected(taskId, receipt.reason, receipt.message, receipt.forGood)
    } catch (error) {
      return spawnedAgain(error, key, this.#it.item) ?? error
    }
  }

  /** Nothing was stored: the key may be used again. */
  #end(error: unknown): void {
    if (this.#ended) return
    const { pass, key, position } = this.#it
    pass.giveBack(key, position)
    this.#ended = true
    this.#room?.gone(this)
    this.#leave()
    this.answer.reject(error)
  }

  /** True if the task has yielded here. */
  #leave(): boolean {
    const { pass, scope } = this.#it
    this.#ended = true
    scope.drop(this)
    scope.answered(LIVE)
    if (!this.#counted) return false
    this.#counted = false
    return pass.gate.end()
  }
}

/**
 * The submissions that find room together: the quotas of a submission depend on its model, tools and labels.
 */
function kindOf({ task, options }: SubmitItem): string {
  const type: unknown = typeof task === 'string' ? task : (task as { type?: unknown } | undefined)?.type
  const { lane, model, tools, labels, dueAt, delayMs } = options ?? {}
  return JSON.stringify([type, lane, model, tools, labels, dueAt !== undefined || delayMs !== undefined])
}

/**
 * The error for a child's own id that is taken, usually by an earlier child of this call or by the child of
 * the task that this one was forked from.
 */
function spawnedAgain(error: unknown, key: string, { options }: SubmitItem): RuntimeError | undefined {
  const taskId = options?.taskId
  if (taskId === undefined || !(error instanceof RuntimeError) || error.code !== 'already_exists')
    return undefined
  return new RuntimeError(
    'already_exists',
    `child '${key}': the task id ${show(taskId)} is taken. A child that is spawned again after a rejection, or by retry or fork, is a new task: leave ` +
      'taskId out, or build it from values that differ then, such as ctx.taskId and ctx.feedback.length',
    { details: { ...error.details, key } },
  )
}
