import type { Host } from '../host.ts'

/** A call that may have to wait before it starts, and may be refused instead. */
export interface Start {
  start(): void
  refuse(): void
}

/** What a gate needs from its pass. */
export interface GatedPass {
  readonly attempt: Host
  readonly waits: { readonly isEnding: boolean; keepOpen(): void; idle(): void }
  /** It is being found out whether code and history differ, or they do: nothing starts. */
  readonly isHeld: boolean
  /**
   * Called when nothing runs any more: if code and history differ, the pass ends. Returns true if it does.
   */
  endWhereParted(): boolean
}

/**
 * The gate of a pass. Everything that a handler starts passes it, and running work is counted. A task yields,
 * or waits without a slot, when the count is 0; running work is never cut off. Source: `docs/semantics.md
 * 3.6, 12.3`.
 */
export class Gate {
  readonly #pass: GatedPass
  /**
   * Number of steps, decisions and writes that are running. While there are any, the task neither yields nor
   * waits.
   */
  #busy = 0
  #parked: Start[] = []

  constructor(pass: GatedPass) {
    this.#pass = pass
  }

  get isBusy(): boolean {
    return this.#busy > 0
  }

  /**
   * Whether a call may start now. One that may not waits here: it is started when it is known that the pass
   * goes on, or refused. Nothing starts once the task has to yield.
   */
  admits(call: Start): boolean {
    const { attempt, waits, isHeld } = this.#pass
    if (!attempt.yieldAsked && !waits.isEnding && !isHeld) return true
    this.#parked.push(call)
    this.#yieldIfIdle()
    return false
  }

  /** The same for a call that returns a promise; it does not wait for a yield. */
  hold<T>(run: () => Promise<T>): Promise<T> {
    if (!this.#pass.waits.isEnding && !this.#pass.isHeld) return run()
    const held = Promise.withResolvers<T>()
    const go = () => held.resolve(run())
    this.#parked.push({ start: go, refuse: go })
    return held.promise
  }

  /** Runs a write without an answer: the pass does not end at its waits before the store has the write. */
  during<T>(write: () => Promise<T>): Promise<T> {
    this.begin()
    const written = this.hold(write)
    const over = () => this.endInWait()
    written.then(over, over)
    return written
  }

  /** Something runs that keeps the pass alive until {@link end}. */
  begin(): void {
    this.#busy += 1
  }

  /** It has ended: this is the boundary at which the task may yield. Returns true if it does. */
  end(): boolean {
    this.#busy -= 1
    if (this.#busy > 0) return false
    const { attempt, waits } = this.#pass
    if (!this.#pass.endWhereParted()) {
      if (attempt.yieldAsked) this.#yield()
      else waits.idle()
    }
    return attempt.stopped !== undefined
  }

  /**
   * It has ended, but this is not a boundary at which the task may yield, for example because a wait follows.
   */
  endInWait(): void {
    this.#busy -= 1
    if (this.#busy === 0 && this.#pass.endWhereParted()) return
    this.#yieldIfIdle()
    this.#pass.waits.idle()
  }

  /** It is known now whether the pass ends: calls that wait at the gate start or are refused. */
  resume(): void {
    for (const call of this.#parked.splice(0)) {
      if (this.#pass.attempt.closedBy !== undefined) call.refuse()
      else if (this.admits(call)) call.start()
    }
  }

  /** The pass ends: calls that wait at the gate never start. */
  refuseAll(): void {
    for (const call of this.#parked.splice(0)) call.refuse()
  }

  #yieldIfIdle(): void {
    const { attempt, waits, isHeld } = this.#pass
    const isIdle = this.#busy === 0 && !waits.isEnding && !isHeld
    if (attempt.yieldAsked && this.#parked.length > 0 && isIdle) this.#yield()
  }

  #yield(): void {
    this.#pass.waits.keepOpen()
    this.#pass.attempt.yield()
    this.refuseAll()
  }
}
