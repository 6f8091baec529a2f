import type { Attempt } from '../execution/attempt.ts'
import { linkedController } from '../execution/cancellation.ts'

/** On whose behalf a context acts: the handler's, or that of one branch of a race or an all. */
export interface Scope {
  readonly attempt: Attempt
  /** The scope around it; the handler's has none. */
  readonly parent: Scope | undefined
  /** The position of everything that is called in it; undefined where each call has its own. */
  readonly position: number | undefined
  /** Aborts when whatever acts in it has to stop. */
  readonly signal: AbortSignal
  /** Why nothing may be called in it any more; undefined while it may. */
  readonly closedBy: Error | undefined
  /** `member` is given up when the scope closes before it was dropped. */
  keep(member: Member): void
  drop(member: Member): void
  /** A call got its answer: from the memo at `seq`, or by {@link LIVE} work. */
  answered(seq: number): void
}

/** Something under way in a scope: a step, a wait, a race of its own. */
export interface Member {
  abandon(reason: Error): void
}

/** The place in the history of what is only just becoming part of it: after every memo. */
export const LIVE = Number.POSITIVE_INFINITY

/** What the handler itself calls; it ends with the attempt, which stops what is under way. */
export class HandlerScope implements Scope {
  readonly attempt: Attempt
  readonly parent = undefined
  readonly position = undefined

  constructor(attempt: Attempt) {
    this.attempt = attempt
  }

  get signal(): AbortSignal {
    return this.attempt.signal
  }

  get closedBy(): Error | undefined {
    return this.attempt.closedBy
  }

  keep(): void {}
  drop(): void {}
  answered(): void {}
}

/** What one branch calls. It may close before the handler ends: the others went on without it. */
export class BranchScope implements Scope {
  readonly name: string
  readonly attempt: Attempt
  readonly parent: Scope
  readonly position: number
  readonly #members = new Set<Member>()
  #abort: ReturnType<typeof linkedController> | undefined
  #closed: Error | undefined
  #lastSeq = 0

  constructor(name: string, parent: Scope, position: number) {
    this.name = name
    this.attempt = parent.attempt
    this.parent = parent
    this.position = position
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

  keep(member: Member): void {
    this.#members.add(member)
  }

  drop(member: Member): void {
    this.#members.delete(member)
  }

  answered(seq: number): void {
    this.#lastSeq = seq
  }

  /** Nothing of it counts any more: its signal aborts, and what it has under way is given up. */
  close(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#abort?.unlink()
    this.#abort?.controller.abort(reason)
    for (const member of this.#members) member.abandon(reason)
    this.#members.clear()
  }
}

/** Whether a scope is one of `scopes`, or inside one. */
export function isWithin(scope: Scope, scopes: ReadonlySet<Scope>): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (scopes.has(at)) return true
  return false
}
