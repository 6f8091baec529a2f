import type { Host } from '../host.ts'
import { linkedController } from '../linked-controller.ts'

/** On whose behalf a context acts: the handler's, or that of one branch of a race or an all. */
export interface Scope {
  /** Who acts in it, for messages: `the handler`. */
  readonly name: string
  readonly attempt: Host
  /** The scope around it; the handler's has none. */
  readonly parent: Scope | undefined
  /** The position of everything that is called in it; undefined where each call has its own. */
  readonly position: number | undefined
  /** Aborts when whatever acts in it has to stop. */
  readonly signal: AbortSignal
  /** Why nothing may be called in it any more; undefined while it may. */
  readonly closedBy: Error | undefined
  /** The time for it is over: what the history does not answer is not begun any more. */
  readonly isLate: boolean
  /** What is under way in it. */
  readonly members: ReadonlySet<Member>
  /** Calls that failed before anybody had looked at them. */
  readonly failures: readonly Call[]
  /** `member` is given up when the scope closes before it was dropped. */
  keep(member: Member): void
  drop(member: Member): void
  noteFailure(call: Call): void
  /** A call got its answer: from the memo at `seq`, or by {@link LIVE} work. */
  answered(seq: number): void
}

/** A call of the context, as far as it matters whether anybody looks at how it ends. */
export interface Call {
  /** For messages: `step 'a'`. */
  readonly name: string
  readonly key: string
  /** Somebody awaits its promise, or has asked to be told how it ends. */
  readonly isObserved: boolean
  /** What it failed with, unless it was told to stop. */
  readonly failure: unknown
}

/** Something under way in a scope: a step, a wait, a race of its own. */
export interface Member {
  /** What whoever called it has of it; undefined where nothing is lost when nobody waits for it. */
  readonly answer?: Call
  /** The same of a question to a human: whoever does not wait for its answer goes on as if it had been given. */
  readonly question?: Call
  /** Branches of it that have not returned and have nothing under way: they wait for something of their own. */
  readonly silent?: readonly string[]
  /** Memos decide how it ends, which a turn or a commit later it will have done. */
  readonly isSettling?: boolean
  abandon(reason: Error): void
}

/** The place in the history of what is only just becoming part of it: after every memo. */
export const LIVE = Number.POSITIVE_INFINITY

/** What was called in a scope and is not over. */
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

  /** Most are looked at a moment later: those are forgotten, so that a handler may catch as many as it likes. */
  noteFailure(call: Call): void {
    while (this.#failures.at(-1)?.isObserved === true) this.#failures.pop()
    this.#failures.push(call)
  }

  protected clear(): void {
    this.#members.clear()
  }
}

/** What the handler itself calls; it ends with the attempt, which stops what is under way. */
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

/** What one branch calls. It may close before the handler ends: the others went on without it. */
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

  /** Where in the history its last answer stands: what ended first has the lowest. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Made on first use. */
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

  /** The time for it is over. */
  late(): void {
    this.#isLate = true
  }

  /** Nothing of it counts any more: its signal aborts, and what it has under way is given up. */
  close(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#abort?.unlink()
    this.#abort?.controller.abort(reason)
    for (const member of this.members) member.abandon(reason)
    this.clear()
  }
}

/** The branches of everything that is under way in a scope that wait for something of their own: a pass that ends cuts them off. */
export function silentIn({ members }: Scope): readonly string[] {
  return [...members].flatMap(({ silent = [] }) => silent)
}

/** Whether anything that is under way in a scope is about to end by what memos answer. */
export function isSettlingIn({ members }: Scope): boolean {
  for (const { isSettling } of members) if (isSettling === true) return true
  return false
}

/** Whether a scope is one of `scopes`, or inside one. */
export function isWithin(scope: Scope, scopes: ReadonlySet<Scope>): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (scopes.has(at)) return true
  return false
}
