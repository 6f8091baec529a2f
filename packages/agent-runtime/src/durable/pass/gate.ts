import type { Host } from '../host.ts'

/** Something that may have to wait before it starts, and may be refused instead. */
export interface Start {
  start(): void
  refuse(): void
}

/** What a gate needs to know of its pass. */
export interface GatedPass {
  readonly attempt: Host
  readonly waits: { readonly isEnding: boolean; keepOpen(): void; idle(): void }
  /** It is being found out whether code and history differ, or they have: nothing starts. */
  readonly isHeld: boolean
  /** Nothing runs any more: where code and history have parted the pass ends. True when it does. */
  endWhereParted(): boolean
}

/**
 * The gate of a pass: what a handler starts goes through it, and what runs is counted. A task yields, or waits without a slot, when the
 * count is 0; what runs is never cut. Source: `docs/semantics.md 3.6, 12.3`.
 */
export class Gate {
  readonly #pass: GatedPass
  /** How many steps, decisions and writes are under way: while there are any, the task neither yields nor waits. */
  #busy = 0
  #parked: Start[] = []

  constructor(pass: GatedPass) {
    this.#pass = pass
  }

  get isBusy(): boolean {
    return this.#busy > 0
  }

  /** Starts something now, or when it is known that the pass goes on; nothing starts once the task is to yield. */
  admit(call: Start): void {
    const { attempt, waits, isHeld } = this.#pass
    if (!attempt.yieldAsked && !waits.isEnding && !isHeld) return call.start()
    this.#parked.push(call)
    this.#yieldIfIdle()
  }

  /** The same for what answers with a promise, and does not wait for a yield. */
  hold<T>(run: () => Promise<T>): Promise<T> {
    if (!this.#pass.waits.isEnding && !this.#pass.isHeld) return run()
    const held = Promise.withResolvers<T>()
    const go = () => held.resolve(run())
    this.#parked.push({ start: go, refuse: go })
    return held.promise
  }

  /** A write that answers nothing: the pass does not end at its waits before the store has it. */
  during<T>(write: () => Promise<T>): Promise<T> {
    this.begin()
    const written = this.hold(write)
    const over = () => this.endInWait()
    written.then(over, over)
    return written
  }

  /** Something is under way that keeps the pass alive until {@link end}. */
  begin(): void {
    this.#busy += 1
  }

  /** It is over: the boundary at which the task may yield. True when it does. */
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

  /** It is over and no boundary at which the task may yield, such as where a wait follows. */
  endInWait(): void {
    this.#busy -= 1
    if (this.#busy === 0 && this.#pass.endWhereParted()) return
    this.#yieldIfIdle()
    this.#pass.waits.idle()
  }

  /** What is parked may go on, or is refused: it is known now whether the pass ends. */
  resume(): void {
    for (const call of this.#parked.splice(0)) {
      if (this.#pass.attempt.closedBy === undefined) this.admit(call)
      else call.refuse()
    }
  }

  /** The pass ends: nothing that is parked starts any more. */
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
