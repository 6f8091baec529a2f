import { branchLimitKey, describeError, encode } from '@ku0/agent-runtime-core'
import type { TaskContext } from '../../api/task-context.ts'
import { Answer } from '../pass/answer.ts'
import {
  type Contest,
  type ContestEffect,
  type ContestEvent,
  type ContestRules,
  isSettling,
  moveContest,
  newContest,
  reasonToClose,
  type Result,
} from './branch-moves.ts'
import type { Start } from '../pass/gate.ts'
import type { Host } from '../host.ts'
import { insideBranch } from './inside-branch.ts'
import { type Drops, leftOver } from '../pass/left-over.ts'
import type { Pass } from '../pass/pass.ts'
import { BranchScope, isSettlingIn, type Member, type Scope, silentIn } from '../pass/scope.ts'
import { unawaitedIn } from '../pass/unawaited.ts'

export type Branch = (ctx: TaskContext) => unknown

/** The call, its branches, and its time limit. */
type Terms = Omit<ContestRules, 'encode'> & { readonly position: number }

/**
 * Branches that run side by side until their race or all is decided. The decision is a memo like a step's:
 * later passes return it and run no branch. The decision closes everything that is still running in a branch:
 * its signal aborts, its waits are dropped in the same commit, results of its steps are not recorded, and its
 * context refuses further calls.
 *
 * A time limit is a timer of the task beside the waits of the branches. Its end is recorded in the history:
 * answers that the branches got before it count in every pass, and nothing else is started in them.
 *
 * The moves decide what comes next; this class does it, and reports the results to the moves. Source:
 * `docs/semantics.md 12.3, 12.4`.
 */
export class ContestRun implements Start, Member {
  readonly answer: Answer
  readonly #pass: Pass
  readonly #attempt: Host
  readonly #scope: Scope
  readonly #position: number
  readonly #rules: ContestRules
  readonly #branches: readonly BranchScope[]
  /** The owner of the timer of its time limit, if it has one. */
  readonly #limit: BranchScope | undefined
  readonly #begunAt: number
  #contest: Contest = newContest(undefined)
  #drops: Drops = {}
  /** The decision is being recorded, which keeps the pass alive. */
  #isCounted = false

  constructor(pass: Pass, scope: Scope, { position, ...terms }: Terms) {
    const { kind, key, branches, timeoutMs } = terms
    const { config, values, environment } = pass.attempt.parts
    this.answer = new Answer(scope, kind, key)
    this.#pass = pass
    this.#attempt = pass.attempt
    this.#scope = scope
    this.#position = position
    const encodeResult = (value: unknown) =>
      values.encodeFields(value as Readonly<Record<string, unknown>>, {
        what: `the result of ${kind} '${key}'`,
        maxBytes: config.maxPayloadBytes,
        open: kind === 'race' ? ['winner'] : [],
      })
    this.#rules = { ...terms, encode: encodeResult }
    this.#branches = branches.map((name) => new BranchScope(name, scope, position))
    this.#limit = timeoutMs === undefined ? undefined : new BranchScope('time', scope, position)
    this.#begunAt = environment.clock.monotonic()
  }

  get silent(): readonly string[] {
    const { kind, key } = this.#rules
    const settled = new Set(this.#contest.results.map(({ branch }) => branch))
    return this.#branches
      .filter(({ branch }) => !settled.has(branch))
      .flatMap((branch) =>
        branch.members.size === 0 ? [`${kind} '${key}' ${branch.name}`] : silentIn(branch),
      )
  }

  get isSettling(): boolean {
    const { as } = this.#contest.state
    if (as === 'ended' || as === 'decidedLate') return false
    return isSettling(this.#contest, this.#scope.isLate) || this.#branches.some(isSettlingIn)
  }

  run(
    functions: readonly (readonly [string, Branch])[],
    contextOf: (scope: Scope) => TaskContext,
  ): Promise<unknown> {
    this.#scope.keep(this)
    const late = this.#limit && this.#pass.waitMemo(branchLimitKey(this.#rules.key))
    if (late !== undefined) {
      this.#contest = newContest(late.seq)
      this.#do({ do: 'closeDoors' })
    }
    functions.forEach(([, branch], index) =>
      this.#enter(this.#branches[index] as BranchScope, branch, contextOf),
    )
    if (late !== undefined) this.#on({ is: 'entered', isLate: this.#scope.isLate })
    else if (this.#limit !== undefined && !this.#scope.isLate) this.#limitTime(this.#limit)
    return this.answer.promise
  }

  /**
   * For a call of the handler itself it is known by now whether the history has decided the same call at its
   * place.
   */
  start(): void {
    if (this.#contest.state.as === 'ended') return
    const { kind, key } = this.#rules
    const isOutermost = this.#scope.parent === undefined
    // A branch may be busy with other work, such as `emit`: its next call may be the one that the history
    // has.
    if (isOutermost && this.silent.length === 0 && this.#pass.partsAtDecision(key, this.#position)) return
    if (this.#pass.endsHere({ call: kind, key, position: this.#position })) return
    this.#hear({ is: 'admitted', isLate: this.#scope.isLate })
  }

  /** The handler has to stop, or has ended without waiting. */
  refuse(): void {
    this.#on({ is: 'stopped', reason: this.#scope.closedBy })
  }

  /** The surrounding branch has lost. */
  abandon(reason: Error): void {
    if (this.#contest.state.as === 'ended') return
    for (const scope of this.#scopes) scope.close(reason)
    this.#on({ is: 'stopped', reason })
  }

  #enter(branch: BranchScope, run: Branch, contextOf: (scope: Scope) => TaskContext): void {
    const settled = (outcome: Result['outcome']) => this.#settled(branch, outcome)
    new Promise((resolve) => resolve(insideBranch(branch, () => run(contextOf(branch))))).then(
      (value) => settled({ as: 'returned', value }),
      (error: unknown) => settled({ as: 'threw', error }),
    )
  }

  #settled(branch: BranchScope, given: Result['outcome']): void {
    const { as } = this.#contest.state
    if (as === 'ended' || as === 'decidedLate' || isDecidedOver(branch, this.#scope)) return
    // A branch that returned before the calls that it started had ended has failed.
    const error = given.as === 'threw' ? undefined : unawaitedIn(branch)
    const outcome = error === undefined ? given : ({ as: 'threw', error } as const)
    const result = { branch: branch.branch, outcome, seq: branch.lastSeq }
    this.#hear({ is: 'settled', result, isLate: this.#scope.isLate })
  }

  /** An effect has produced an event. The caller may have to stop by now. */
  #hear(event: ContestEvent): void {
    if (this.#contest.state.as === 'ended') return
    const reason = this.#scope.closedBy
    this.#on(reason === undefined ? event : { is: 'stopped', reason })
  }

  #on(event: ContestEvent): void {
    const { contest, effects } = moveContest(this.#rules, this.#contest, event)
    this.#contest = contest
    for (const effect of effects) this.#do(effect)
  }

  #do(effect: ContestEffect): void {
    switch (effect.do) {
      case 'admit':
        if (this.#pass.gate.admits(this)) this.start()
        return
      case 'enter':
        this.#pass.gate.begin()
        this.#pass.wentLive()
        this.#isCounted = true
        return
      case 'closeDoors':
        for (const branch of this.#branches) branch.late()
        return
      case 'look':
        return this.#look()
      case 'closeBranches':
        return this.#closeBranches(effect.decisive)
      case 'record':
        return this.#record(effect.result)
      case 'recordFailure':
        return this.#recordFailure(effect.reason)
      case 'answer':
        this.#scope.answered(effect.seq)
        if ('result' in effect.outcome) this.#resolve(effect.outcome.result)
        else this.answer.reject(effect.outcome.reason)
        this.#leave()
        return
      case 'drop':
        return this.#scope.drop(this)
      case 'resolve':
        if (!this.#end()) this.#resolve(effect.result)
        return
      case 'reject':
        this.#end()
        return this.answer.reject(effect.reason)
    }
  }

  #look(): void {
    this.#attempt.parts.deadlines.after(0, () => {
      const isStill = !this.#branches.some(isSettlingIn)
      this.#hear({ is: 'looked', isStill, isLate: this.#scope.isLate })
    })
  }

  /** A replay does not wait. */
  #limitTime(scope: BranchScope): void {
    if (this.#attempt.replay !== undefined) return
    const { key, timeoutMs: delayMs = 0 } = this.#rules
    try {
      this.#pass.waits.add({
        request: { key: branchLimitKey(key), position: this.#position, kind: 'timer', delayMs },
        scope,
        over: ({ seq }) => this.#hear({ is: 'timedOut', seq, isLate: this.#scope.isLate }),
        refuse: (reason) => {
          if (scope.closedBy === undefined) this.abandon(reason)
        },
      })
    } catch (error) {
      this.abandon(error as Error)
    }
  }

  /** The scopes of the branches and of their time limit. */
  get #scopes(): readonly BranchScope[] {
    return this.#limit === undefined ? this.#branches : [...this.#branches, this.#limit]
  }

  /**
   * The children of a branch that returned stay with the task, unless the whole call has to be made again.
   */
  #closeBranches(decisive: Result): void {
    const branches = this.#branches
    const scopes = this.#scopes
    const won = this.#rules.kind === 'all' ? branches : branches.filter((it) => it.branch === decisive.branch)
    const stay = decisive.outcome.as === 'threw' ? [] : won
    const [key, position] = [this.#rules.key, this.#position]
    this.#drops = leftOver(this.#pass, { key, position, around: this.#scope, branches, scopes, stay })
    for (const scope of scopes) scope.close(reasonToClose(this.#rules, this.#contest, decisive, scope.branch))
  }

  #resolve(result: string): void {
    const at = { key: this.#rules.key, position: this.#position }
    this.#pass.answer(this.answer, at, () => this.#attempt.parts.values.decode(result))
  }

  #record(result: string): void {
    this.#attempt.lease
      .write({
        kind: 'recordStep',
        ...this.#fields(),
        branches: this.#rules.kind,
        branchKeys: this.#pass.keysIn(new Set(this.#branches)),
        ...(this.#scope.parent === undefined ? {} : { nested: true }),
        result,
      })
      .then(
        (recorded) => this.#hear({ is: 'recorded', memo: recorded?.memo }),
        (reason: unknown) => this.#on({ is: 'stopped', reason }),
      )
  }

  /** An error is not stored as a memo: a later pass runs the branches again, with the same stored answers. */
  #recordFailure(reason: unknown): void {
    const error = encode(describeError(reason), { what: 'an error' })
    const { key } = this.#rules
    this.#attempt.lease.write({ kind: 'failStep', ...this.#fields(), error }).catch((cause: unknown) =>
      this.#attempt.log('warn', 'the store did not accept a failed step', {
        key,
        error: describeError(cause),
      }),
    )
  }

  #fields() {
    const { claim, parts, usage } = this.#attempt
    const elapsedMs = parts.environment.clock.monotonic() - this.#begunAt
    return {
      leaseId: claim.leaseId,
      key: this.#rules.key,
      position: this.#position,
      durationMs: Math.round(elapsedMs * 1_000) / 1_000,
      ...usage.takeOwed(),
      ...this.#drops,
    }
  }

  /** True if the task has yielded here. */
  #end(): boolean {
    this.#scope.drop(this)
    this.#scope.answered(this.#contest.decidedAt)
    return this.#leave()
  }

  #leave(): boolean {
    if (!this.#isCounted) return false
    this.#isCounted = false
    return this.#pass.gate.end()
  }
}

/** True if it was ended by the decision, not by the end of a surrounding call. */
function isDecidedOver(branch: BranchScope, around: Scope): boolean {
  return around.closedBy === undefined && branch.closedBy !== undefined
}
