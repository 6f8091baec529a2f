import {
  assertOptions,
  decode,
  describeError,
  encode,
  limitKey,
  type OutcomeOf,
  type Rules,
  RuntimeError,
  show,
  type StepRecord,
} from '@ku0/agent-runtime-core'
import type { BranchesOptions, TaskContext } from '../task-context.ts'
import { endOfWait } from '../execution/ended-waits.ts'
import { TimeoutError } from '../task-errors.ts'
import { Answer, refused } from './answer.ts'
import { insideBranch } from './inside-branch.ts'
import { type Callee, checkKey, type Pass, type Start } from './pass.ts'
import { BranchScope, isSettlingIn, isWithin, LIVE, type Member, type Scope, silentIn } from './scope.ts'
import { unawaitedIn } from './unawaited.ts'
import { isWait } from './wait-calls.ts'

/** `race` is decided by the first branch that settles, `all` by the first that fails or by the last. */
type Kind = 'race' | 'all'

/** Who runs branches: the pass, on whose behalf, the method that was called, and what gives a branch its context. */
export interface BranchCaller {
  readonly pass: Pass
  readonly scope: Scope
  readonly callee: Callee
  readonly contextOf: (scope: Scope) => TaskContext
}

/** One call of `ctx.race` or `ctx.all`. Source: `docs/semantics.md 12.3, 12.4`. */
export function runBranches(
  kind: Kind,
  caller: BranchCaller,
  key: unknown,
  branches: unknown,
  options: unknown,
): Promise<never> {
  const { pass, scope, callee } = caller
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    checkKey(key, kind)
    const functions = readBranches(kind, key, branches)
    assertOptions(`${kind} '${key}'`, options, branchesRules)
    const { timeoutMs } = (options ?? {}) as BranchesOptions
    const { position, memo } = pass.use({ key, as: 'step', branches: kind, scope, callee })
    if (memo !== undefined) return Promise.resolve(replayed(caller, memo, position) as never)
    return new Contest(kind, caller, { key, position, timeoutMs }).run(functions) as Promise<never>
  } catch (error) {
    return refused(scope, kind, key, error)
  }
}

const branchesRules: Rules<BranchesOptions> = { timeoutMs: isWait }

/** Which call it is, and how long it may take. */
interface Terms {
  readonly key: string
  readonly position: number
  readonly timeoutMs: number | undefined
}

type Branch = (ctx: TaskContext) => unknown

function readBranches(kind: Kind, key: string, branches: unknown): readonly (readonly [string, Branch])[] {
  const entries: [string, unknown][] =
    typeof branches === 'object' && branches !== null && !Array.isArray(branches)
      ? Object.entries(branches)
      : []
  if (entries.length === 0) {
    throw new RuntimeError(
      'invalid_argument',
      `${kind} '${key}' needs an object of branches by name, one at least, not ${show(branches)}`,
    )
  }
  for (const [name, branch] of entries) {
    if (typeof branch !== 'function') {
      throw new RuntimeError(
        'invalid_argument',
        `branch '${name}' of ${kind} '${key}' is a function, not ${show(branch)}`,
      )
    }
  }
  return entries as [string, Branch][]
}

function replayed({ pass, scope }: BranchCaller, memo: StepRecord, position: number): unknown {
  const { claim, parts } = pass.attempt
  parts.announce('step.replayed', claim.taskId, memo.seq, { key: memo.key, position })
  scope.answered(memo.seq)
  return decode(memo.result)
}

/** What goes with a decision: open waits and children, by key. */
interface Drops {
  readonly drops: readonly string[]
  readonly dropsChildren: readonly string[]
}

/** How a branch settled. */
interface Result {
  readonly branch: BranchScope
  readonly outcome:
    | { readonly as: 'returned'; readonly value: unknown }
    | { readonly as: 'threw'; readonly error: unknown }
  /** Where in the history its last answer stands. */
  readonly seq: number
}

/**
 * Branches that run side by side until it is decided how they end. The decision is a memo like a step's: later passes get it
 * and run no branch. With it everything closes that is still under way in a branch: its signal aborts, its waits are dropped
 * in the same commit, what its steps still do is not recorded, and its context refuses further calls.
 *
 * A limit of time is a timer of the task's beside the waits of the branches. Once it is over that stands in the history: what the
 * branches were answered before it counts in every pass, and nothing else is begun in them.
 */
class Contest implements Start, Member {
  readonly #kind: Kind
  readonly #pass: Pass
  readonly #scope: Scope
  readonly #contextOf: BranchCaller['contextOf']
  readonly #key: string
  readonly #position: number
  readonly answer: Answer
  readonly #begunAt: number
  readonly #timeoutMs: number | undefined
  /** What the timer of its limit belongs to, where it has one. */
  readonly #limit: BranchScope | undefined
  /** Its time is over: since when in the history, and how many results had come by then. */
  #late: { readonly seq: number; readonly results: number } | undefined
  readonly #results: Result[] = []
  #branches: readonly BranchScope[] = []
  /** The first result that can decide has come. */
  #deciding = false
  /** The decision is under way, which keeps the pass alive. */
  #counted = false
  #ended = false
  /** It is decided for the race or the all around it alone, whose time is over: nothing of it is recorded. */
  #decidedLate = false
  /** Where in the history the result that decided it stands. */
  #decidedAt = LIVE

  constructor(kind: Kind, { pass, scope, contextOf }: BranchCaller, { key, position, timeoutMs }: Terms) {
    this.#kind = kind
    this.#pass = pass
    this.#scope = scope
    this.answer = new Answer(scope, kind, key)
    this.#contextOf = contextOf
    this.#key = key
    this.#position = position
    this.#timeoutMs = timeoutMs
    this.#limit = timeoutMs === undefined ? undefined : new BranchScope('time', scope, position)
    this.#begunAt = pass.attempt.parts.environment.clock.monotonic()
  }

  get silent(): readonly string[] {
    const returned = new Set(this.#results.map(({ branch }) => branch))
    return this.#branches
      .filter((branch) => !returned.has(branch))
      .flatMap((branch) =>
        branch.members.size === 0 ? [`${this.#kind} '${this.#key}' ${branch.name}`] : silentIn(branch),
      )
  }

  get isSettling(): boolean {
    if (this.#ended || this.#decidedLate) return false
    const isUnderWay = this.#counted || (this.#deciding && this.#scope.isLate)
    if (isUnderWay && (this.#late !== undefined || this.#results.at(-1)?.seq !== LIVE)) return true
    return this.#branches.some(isSettlingIn)
  }

  run(functions: readonly (readonly [string, Branch])[]): Promise<unknown> {
    this.#scope.keep(this)
    this.#branches = functions.map(([name]) => new BranchScope(name, this.#scope, this.#position))
    const late = this.#limit && this.#pass.waitMemo(limitKey(this.#key))
    if (late !== undefined) this.#closeDoors(late.seq)
    functions.forEach(([, branch], index) => this.#enter(this.#branches[index] as BranchScope, branch))
    if (late !== undefined) this.#toDecide()
    else if (this.#limit !== undefined && !this.#scope.isLate) this.#limitTime(this.#limit)
    return this.answer.promise
  }

  /** Two branches that are answered by memos settle in whatever order: one turn later both have. */
  start(): void {
    if (this.#ended) return
    if (
      this.#scope.parent === undefined &&
      !this.#mayGoOn &&
      this.#pass.partsAtDecision(this.#key, this.#position)
    )
      return
    if (this.#pass.endsHere({ call: this.#kind, key: this.#key, position: this.#position })) return
    this.#pass.begin()
    this.#pass.wentLive()
    this.#counted = true
    if (this.#late === undefined && this.#results.at(-1)?.seq === LIVE) this.#decide()
    else this.#decideWhenStill(false)
  }

  /** A branch is busy with something of its own, such as `emit`: what it calls next may be what the history has. */
  get #mayGoOn(): boolean {
    return this.silent.length > 0
  }

  /** What is inside may have to be decided by memos first, and its branch to hear of it. */
  #decideWhenStill(wasStill: boolean): void {
    this.#pass.attempt.parts.deadlines.after(0, () => {
      const isStill = !this.#branches.some(isSettlingIn)
      if (this.#ended || this.#scope.closedBy !== undefined || (isStill && wasStill)) this.#decide()
      else this.#decideWhenStill(isStill)
    })
  }

  /** The handler has to stop, or has ended without waiting. */
  refuse(): void {
    this.#end(this.#scope.closedBy)
  }

  /** The branch around it has lost. */
  abandon(reason: Error): void {
    if (this.#ended) return
    this.#close(() => reason)
    this.#end(reason)
  }

  #enter(branch: BranchScope, run: Branch): void {
    const settled = (outcome: Result['outcome']) => this.#settled({ branch, outcome, seq: branch.lastSeq })
    new Promise((resolve) => resolve(insideBranch(branch, () => run(this.#contextOf(branch))))).then(
      (value) => settled({ as: 'returned', value }),
      (error: unknown) => settled({ as: 'threw', error }),
    )
  }

  #settled(result: Result): void {
    if (this.#ended || this.#decidedLate || branchIsClosed(result.branch, this.#scope)) return
    if (this.#scope.closedBy !== undefined) return this.refuse()
    this.#results.push(judged(result))
    if (this.#decides(this.#results)) this.#toDecide()
  }

  #toDecide(): void {
    if (this.#deciding) return
    this.#deciding = true
    if (this.#scope.isLate) this.#decideWhenStill(false)
    else this.#pass.admit(this)
  }

  /** A replay waits for nothing. */
  #limitTime(scope: BranchScope): void {
    const { attempt, waits } = this.#pass
    if (attempt.replay !== undefined) return
    const key = limitKey(this.#key)
    try {
      waits.add({
        request: { key, position: this.#position, kind: 'timer', delayMs: this.#timeoutMs ?? 0 },
        scope,
        over: ({ seq }) => this.#timeIsOver(seq),
        refuse: (reason) => {
          if (scope.closedBy === undefined) this.abandon(reason)
        },
      })
    } catch (error) {
      this.abandon(error as Error)
    }
  }

  #timeIsOver(seq: number): void {
    if (this.#ended) return
    if (this.#scope.closedBy !== undefined) return this.refuse()
    this.#closeDoors(seq)
    this.#toDecide()
  }

  #closeDoors(seq: number): void {
    this.#late = { seq, results: this.#results.length }
    for (const branch of this.#branches) branch.late()
  }

  #decide(): void {
    if (this.#ended) return
    if (this.#scope.closedBy !== undefined) return this.refuse()
    const decisive = this.#decisive()
    this.#decidedAt = decisive.seq
    if (this.#scope.isLate) return this.#decideLate(decisive)
    const drops = { drops: this.#leftOver(), dropsChildren: this.#orphans(decisive) }
    this.#close((branch) => this.#reasonFor(branch, decisive))
    const { outcome } = decisive
    if (outcome.as === 'threw') return this.#fail(outcome.error, drops)
    const { config } = this.#pass.attempt.parts
    let result: string
    try {
      result = encode(this.#valueOf(decisive.branch.branch, outcome.value), {
        what: `the result of ${this.#kind} '${this.#key}'`,
        maxBytes: config.maxPayloadBytes,
      })
    } catch (error) {
      return this.#fail(error, drops)
    }
    this.#pass.attempt
      .write({
        kind: 'recordStep',
        ...this.#fields(drops),
        branches: this.#kind,
        branchKeys: this.#pass.keysIn(new Set(this.#branches)),
        ...(this.#scope.parent === undefined ? {} : { nested: true }),
        result,
      })
      .then(
        (recorded) => this.#recorded(recorded, result),
        (error: unknown) => this.#end(error),
      )
  }

  /** It stays where it is until that around it is decided, which drops what is open in both. */
  #decideLate({ branch, outcome, seq }: Result): void {
    this.#decidedLate = true
    this.#scope.answered(seq)
    if (outcome.as === 'threw') this.answer.reject(outcome.error)
    else {
      try {
        const what = `the result of ${this.#kind} '${this.#key}'`
        const { maxPayloadBytes: maxBytes } = this.#pass.attempt.parts.config
        this.answer.resolve(decode(encode(this.#valueOf(branch.branch, outcome.value), { what, maxBytes })))
      } catch (error) {
        this.answer.reject(error)
      }
    }
    if (!this.#counted) return
    this.#counted = false
    this.#pass.end()
  }

  /** The result that counts: of those that came in time and decide, the one that stands first in the history. */
  #decisive(): Result {
    const inTime = this.#resultsInTime()
    const failed = inTime.filter(({ outcome }) => outcome.as === 'threw')
    if (this.#late !== undefined && this.#limit !== undefined && !this.#decides(inTime))
      return this.#tooLate(this.#limit, this.#late.seq)
    const candidates = this.#kind === 'race' || failed.length === 0 ? inTime : failed
    return candidates.reduce((first, next) => (next.seq < first.seq ? next : first))
  }

  #resultsInTime(): readonly Result[] {
    const late = this.#late
    if (late === undefined) return this.#results
    return this.#results.filter(({ seq }, index) => index < late.results || seq < late.seq)
  }

  #decides(results: readonly Result[]): boolean {
    if (this.#kind === 'race') return results.length > 0
    return results.length === this.#branches.length || results.some(({ outcome }) => outcome.as === 'threw')
  }

  #tooLate(branch: BranchScope, seq: number): Result {
    const what = new TimeoutError(`${this.#kind} '${this.#key}'`, this.#timeoutMs ?? 0)
    const error = endOfWait(limitKey(this.#key), what)
    return { branch, outcome: { as: 'threw', error }, seq }
  }

  #valueOf(winner: string, value: unknown): unknown {
    if (this.#kind === 'race') return { winner, value }
    const values = new Map(
      this.#results.map(({ branch, outcome }) => [
        branch.branch,
        outcome.as === 'returned' ? outcome.value : undefined,
      ]),
    )
    return Object.fromEntries(this.#branches.map(({ branch }) => [branch, values.get(branch)]))
  }

  /** The branches, and the limit of their time. */
  get #scopes(): readonly BranchScope[] {
    return this.#limit === undefined ? this.#branches : [...this.#branches, this.#limit]
  }

  /** The keys of waits that nobody waits for once it is decided, those that this pass has not come to included. */
  #leftOver(): readonly string[] {
    const { waits, memos } = this.#pass
    const keys = new Set(waits.keysWithin(new Set(this.#scopes)))
    // Of an earlier version of the code, which had a limit.
    if (memos.open.has(limitKey(this.#key))) keys.add(limitKey(this.#key))
    if (this.#scope.position === undefined) {
      for (const { key, position } of memos.open.values()) if (position === this.#position) keys.add(key)
    }
    for (const key of keys) memos.open.delete(key)
    return [...keys]
  }

  /**
   * The keys of the children that belong to branches that lost, those that this pass has not come to included. A branch that returned
   * leaves its children to the task, unless the whole call is to be made again.
   */
  #orphans({ branch: winner, outcome }: Result): readonly string[] {
    const { children, memos } = this.#pass
    const won = outcome.as === 'threw' ? [] : this.#kind === 'race' ? [winner] : this.#branches
    const stay = new Set<Scope>(won)
    const lost = new Set<Scope>(this.#branches.filter((branch) => !stay.has(branch)))
    const keys = new Set([...children].flatMap(([key, scope]) => (isWithin(scope, lost) ? [key] : [])))
    const isKept = (key: string) => {
      const scope = children.get(key)
      return scope !== undefined && isWithin(scope, stay)
    }
    if (this.#scope.position === undefined && lost.size > 0) {
      for (const { key, position } of memos.children.values())
        if (position === this.#position && !isKept(key)) keys.add(key)
    }
    return [...keys]
  }

  #close(reasonFor: (branch: BranchScope) => Error): void {
    for (const branch of this.#scopes) branch.close(reasonFor(branch))
  }

  #reasonFor(branch: BranchScope, { branch: first, outcome }: Result): Error {
    const name = `${branch.name} of ${this.#kind} '${this.#key}'`
    if (
      this.#results.some((result) => result.branch === branch) &&
      (branch === first || this.#kind === 'all')
    )
      return new RuntimeError('step_outside_handler', `${name} has ended: await what it starts`)
    const won = this.#kind === 'race' ? `lost to '${first.branch}'` : `was given up: '${first.branch}' failed`
    const why = first === this.#limit ? `was given up after ${this.#timeoutMs} ms` : won
    return new RuntimeError('step_outside_handler', `${name} ${why}; it can do nothing more`, {
      details: { branch: branch.branch, key: this.#key },
      ...(outcome.as === 'threw' ? { cause: outcome.error } : {}),
    })
  }

  #recorded(outcome: OutcomeOf<'recordStep'>, result: string): void {
    const { attempt } = this.#pass
    if (outcome.fenced === 'stale') attempt.lose()
    if (this.#ended) return
    if (outcome.fenced === 'stale' || this.#scope.closedBy !== undefined) return this.refuse()
    if (!this.#leave()) this.answer.resolve(decode(outcome.memo ?? result))
  }

  /** An error is no memo: a later pass runs the branches again, but what they were answered is. */
  #fail(reason: unknown, drops: Drops): void {
    const { attempt } = this.#pass
    const error = encode(describeError(reason), { what: 'an error' })
    attempt
      .write({ kind: 'failStep', ...this.#fields(drops), error })
      .then((fenced) => (fenced === 'stale' ? attempt.lose() : undefined))
      .catch((cause: unknown) =>
        attempt.log('warn', 'the store did not take a failed step', {
          key: this.#key,
          error: describeError(cause),
        }),
      )
    this.#end(reason)
  }

  #fields({ drops, dropsChildren }: Drops) {
    const { claim, parts } = this.#pass.attempt
    const durationMs = Math.round((parts.environment.clock.monotonic() - this.#begunAt) * 1_000) / 1_000
    return {
      leaseId: claim.leaseId,
      key: this.#key,
      position: this.#position,
      durationMs,
      ...this.#pass.attempt.takeOwed(),
      ...(drops.length === 0 ? {} : { drops }),
      ...(dropsChildren.length === 0 ? {} : { dropsChildren }),
    }
  }

  #end(error: unknown): void {
    if (this.#ended) return
    this.#leave()
    this.answer.reject(error)
  }

  /** True when the task has yielded here. */
  #leave(): boolean {
    this.#ended = true
    this.#scope.drop(this)
    if (!this.#decidedLate) this.#scope.answered(this.#decidedAt)
    if (!this.#counted) return false
    this.#counted = false
    return this.#pass.end()
  }
}

/** A branch that returned before what it had started was over has failed. */
function judged(result: Result): Result {
  if (result.outcome.as === 'threw') return result
  const error = unawaitedIn(result.branch)
  return error === undefined ? result : { ...result, outcome: { as: 'threw', error } }
}

/** By the decision, not by the end of whatever is around it. */
function branchIsClosed(branch: BranchScope, around: Scope): boolean {
  return around.closedBy === undefined && branch.closedBy !== undefined
}
