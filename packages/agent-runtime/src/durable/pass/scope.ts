import type { Host } from '../host.ts'
import { linkedController } from '../linked-controller.ts'

/** The part of a pass that a context acts for: the handler, or one branch of a race or an all. */
export interface Scope {
  /** Its name in messages: `the handler`. */
  readonly name: string
  readonly attempt: Host
  /** The surrounding scope; the handler's scope has none. */
  readonly parent: Scope | undefined
  /** The position of every call in it; undefined if each call has its own. */
  readonly position: number | undefined
  /** Aborts when the code in the scope has to stop. */
  readonly signal: AbortSignal
  /** Why no call may be made in it any more; undefined while calls may be made. */
  readonly closedBy: Error | undefined
  /** True if its time is over: calls that the history does not answer are not started any more. */
  readonly isLate: boolean
  /** The calls that run in it. */
  readonly members: ReadonlySet<Member>
  /** Calls that failed before anybody had looked at their promises. */
  readonly failures: readonly Call[]
  /** `member` is abandoned if the scope closes before it was dropped. */
  keep(member: Member): void
  drop(member: Member): void
  noteFailure(call: Call): void
  /** A call got its answer: from the memo at `seq`, or by {@link LIVE} work. */
  answered(seq: number): void
}

/** A call of the context, for the check whether anybody looks at its result. */
export interface Call {
  /** Its name in messages: `step 'a'`. */
  readonly name: string
  readonly key: string
  /** True if somebody awaits its promise or has attached a handler. */
  readonly isObserved: boolean
  /** The error that it failed with, unless it was stopped. */
  readonly failure: unknown
}

/** Something that runs in a scope: a step, a wait, a nested race. */
export interface Member {
  /** Its caller's view of it; undefined if nothing is lost when nobody waits for it. */
  readonly answer?: Call
  /**
   * The caller's view of a question to a human: a handler that does not wait for the answer would continue as
   * if it had been given.
   */
  readonly question?: Call
  /** Its branches that have not returned and run nothing: they wait for something outside of the context. */
  readonly silent?: readonly string[]
  /** True if memos decide how it ends, which takes one more turn or commit. */
  readonly isSettling?: boolean
  abandon(reason: Error): void
}

/** The place in the history of something that is being recorded now: after every memo. */
export const LIVE = Number.POSITIVE_INFINITY

/** The calls of a scope that have not ended. */
class Calls {
  readonly #members = new Set<Member>()
  readonly #failures: Call[] = []

  get members(): ReadonlySet<Member> {
    return this.#members
  }

  get failures(): readonly Call[] {
    return this.#failures
  }

  keep(member: Member): void {
    this.#members.add(member)
  }

  drop(member: Member): void {
    this.#members.delete(member)
  }

  /**
   * Most failures are looked at a moment later and then forgotten, so a handler may catch as many as it
   * likes.
   */
  noteFailure(call: Call): void {
    while (this.#failures.at(-1)?.isObserved === true) this.#failures.pop()
    this.#failures.push(call)
  }

  protected clear(): void {
    this.#members.clear()
  }
}

/** The calls of the handler itself. It ends with the attempt, which stops running work. */
export class HandlerScope extends Calls implements Scope {
  readonly name = 'the handler'
  readonly attempt: Host
  readonly parent = undefined
  readonly position = undefined
  readonly isLate = false

  constructor(attempt: Host) {
    super()
    this.attempt = attempt
  }

  get signal(): AbortSignal {
    return this.attempt.signal
  }

  get closedBy(): Error | undefined {
    return this.attempt.closedBy
  }

  answered(): void {}
}

/** The calls of one branch. It may close before the handler ends, when the others went on without it. */
export class BranchScope extends Calls implements Scope {
  readonly branch: string
  readonly attempt: Host
  readonly parent: Scope
  readonly position: number
  #abort: ReturnType<typeof linkedController> | undefined
  #closed: Error | undefined
  #isLate = false
  #lastSeq = 0

  constructor(branch: string, parent: Scope, position: number) {
    super()
    this.branch = branch
    this.attempt = parent.attempt
    this.parent = parent
    this.position = position
  }

  get name(): string {
    return `branch '${this.branch}'`
  }

  /** The place of its last answer in the history: the branch that ended first has the lowest. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Created on first use. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = linkedController(this.parent.signal)
      if (this.#closed !== undefined) this.#abort.controller.abort(this.#closed)
    }
    return this.#abort.controller.signal
  }

  get closedBy(): Error | undefined {
    return this.parent.closedBy ?? this.#closed
  }

  get isLate(): boolean {
    return this.#isLate || this.parent.isLate
  }

  answered(seq: number): void {
    this.#lastSeq = seq
  }

  /** Its time is over. */
  late(): void {
    this.#isLate = true
  }

  /** Nothing of it counts any more: its signal aborts, and running work is abandoned. */
  close(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#abort?.unlink()
    this.#abort?.controller.abort(reason)
    for (const member of this.members) member.abandon(reason)
    this.clear()
  }
}

/**
 * The branches of running calls that wait for something outside of the context: the end of the pass cuts them
 * off.
 */
export function silentIn({ members }: Scope): readonly string[] {
  return [...members].flatMap(({ silent = [] }) => silent)
}

/** Whether a running call in a scope is about to end by the answers of memos. */
export function isSettlingIn({ members }: Scope): boolean {
  for (const { isSettling } of members) if (isSettling === true) return true
  return false
}

/** Whether a scope is one of `scopes`, or inside one. */
export function isWithin(scope: Scope, scopes: ReadonlySet<Scope>): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (scopes.has(at)) return true
  return false
}
