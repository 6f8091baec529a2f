import {
  decideAtDecision,
  decideDivergence,
  type Divergence,
  goesBeyond,
  isAmong,
  isInternal,
  isVoid,
  outlivesRejection,
  type RecordedCall,
} from '@ku0/agent-runtime-core'
import type { Memos } from './memos.ts'

/** A call that the history has no answer for, as the comparison with the history sees it. */
export interface NewCall {
  readonly key: string
  readonly position: number
  /** It is a race or an all, whose branches share its position. */
  readonly branches: boolean
}

/** The calls of the handler itself in one turn: it gets no answer between them. */
interface Turn {
  readonly from: number
  below: number
  calls: number
  /** One of them has a memo; one stands where it was recorded. */
  isAnswered: boolean
  isInPlace: boolean
  /** The calls before it stand where they were recorded. */
  readonly follows: boolean
}

/**
 * How far a pass has followed its task's history. As long as only the history has answered it, a recorded
 * call that should have been made by now and was not shows that code and history differ. Source:
 * `docs/semantics.md 6.4`.
 */
export class Trail {
  readonly #memos: Memos
  readonly #used: ReadonlyMap<string, unknown>
  readonly #branchesAt = new Set<number>()
  #sorted: readonly RecordedCall[] | undefined
  /** The calls before this index in `#sorted` have been made, or need not be. */
  #next = 0
  #isLive: boolean
  /** Number of answers on their way to the handler, and the position of the first of them. */
  #arriving = 0
  #arrivingFrom = 0
  #certainBelow = Number.POSITIVE_INFINITY
  /** True if the last answered call stands where it was recorded. */
  #isInPlace = true
  #turn: Turn | undefined
  /** The first turn with several calls: later calls may come in any order, those of this turn may not. */
  #first: Turn | undefined

  /** `used`: the keys of the pass so far, which the pass maintains. */
  constructor(memos: Memos, used: ReadonlyMap<string, unknown>) {
    this.#memos = memos
    this.#used = used
    this.#isLive = memos.steps.size + memos.waits.size + memos.open.size + memos.children.size === 0
  }

  /** True if something besides the history has answered: what follows may differ from the history. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** Something has started that answers in a later turn. */
  begun(): void {
    this.#isLive = true
  }

  wentLive(): void {
    this.#isLive = true
    this.#turn = undefined
  }

  /** Whether a call that is made now can show that code and history differ. */
  get isJudging(): boolean {
    return !this.#isLive || this.#turn !== undefined
  }

  /**
   * The handler itself makes a call. If it does so while an answer is on its way, it does several things side
   * by side, and from there on the order of its calls shows nothing. Only its calls in the first such turn
   * are certain, because only its code determines them.
   */
  called(position: number, isAnswered: boolean, recordedAt: number | undefined): void {
    if (!this.isJudging) return
    const turn = (this.#turn ??= this.#begin(position))
    turn.below = Math.max(turn.below, position + 1)
    turn.calls += 1
    if (turn.calls > 1 && this.#certainBelow === Number.POSITIVE_INFINITY) this.#first ??= turn
    if (isAnswered) {
      this.#isInPlace = recordedAt === position
      turn.isAnswered = true
      turn.isInPlace ||= this.#isInPlace
    }
    if (this.#arriving > 0) this.#certainBelow = Math.min(this.#certainBelow, this.#arrivingFrom)
    if (!isAnswered) return
    if (this.#arriving === 0) this.#arrivingFrom = position
    this.#arriving += 1
    queueMicrotask(() => {
      this.#arriving -= 1
    })
  }

  #begin(position: number): Turn {
    const follows = position === 0 || this.#isInPlace
    const turn = { from: position, below: position, calls: 0, isAnswered: false, isInPlace: false, follows }
    queueMicrotask(() => {
      if (this.#turn === turn) this.#turn = undefined
    })
    return turn
  }

  /** The calls that the handler makes in one turn in every pass, if any are known. */
  get #together(): Turn | undefined {
    const turn = this.#first
    if (turn === undefined) return undefined
    const isCertain = turn.from === 0 || (turn.isAnswered ? turn.isInPlace : turn.follows)
    return isCertain ? turn : undefined
  }

  /** Whether a call is one of those. */
  isTogether({ position }: NewCall): boolean {
    return this.#together !== undefined && isAmong(position, this.#together)
  }

  /** What is recorded at this position belongs to the branches of one call. */
  branchesAt(position: number): void {
    this.#branchesAt.add(position)
  }

  /** The keys of everything recorded at a position. */
  keysAt(position: number): readonly string[] {
    return this.#recorded().flatMap((it) => (it.position === position && !isInternal(it.key) ? [it.key] : []))
  }

  /**
   * The race or all of the handler itself that the history has decided at a position; undefined if the
   * history does not show one.
   */
  decidedAt(position: number): string | undefined {
    for (const step of this.#memos.steps.values())
      if (step.position === position && step.branchKeys !== undefined && step.nested !== true) return step.key
    return undefined
  }

  /** Whether {@link divergenceAt} should be asked. */
  suspects({ position }: NewCall): boolean {
    const sorted = this.#recorded()
    while (this.#isSettled(sorted[this.#next])) this.#next += 1
    const first = sorted[this.#next]
    return first !== undefined && first.position <= position
  }

  /**
   * `certainly`: recorded calls that may still come from code that runs side by side do not count as missing.
   */
  divergenceAt(call: NewCall | undefined, certainly: boolean): Divergence | undefined {
    const together = this.#together
    const certainBelow = Math.max(this.#certainBelow, together?.below ?? 0)
    return decideDivergence({
      call: call && { ...call, isOpen: this.#memos.open.has(call.key) },
      recorded: this.#recorded(),
      used: this.#used,
      branchesAt: this.#branchesAt,
      certainBelow: certainly ? certainBelow : Number.POSITIVE_INFINITY,
      together,
    })
  }

  /** For a race or an all of the handler itself, when its branches have advanced as far as they can. */
  divergenceAtDecision(call: NewCall): Divergence | undefined {
    // Calls that a branch made after a step had failed may be left over.
    if (this.#memos.lastFailure !== undefined) return undefined
    return decideAtDecision(call, { recorded: this.#recorded(), used: this.#used })
  }

  goesBeyond(position: number): boolean {
    return goesBeyond(position, {
      recorded: this.#recorded(),
      used: this.#used,
      branchesAt: this.#branchesAt,
    })
  }

  /** Number of recorded calls that have not been made. */
  get unused(): number {
    let count = 0
    for (const call of this.#recorded()) if (!this.#isSettled(call)) count += 1
    return count
  }

  /**
   * The number of those that a pass would make: a wait that outlived a rejection is kept, whether or not the
   * handler waits for it again.
   */
  get pending(): number {
    const { rejections } = this.#memos
    if (rejections.length === 0) return this.unused
    let count = 0
    for (const call of this.#recorded()) {
      const { key, as, seq } = call
      const isKept = as !== 'step' && outlivesRejection({ key, kind: as, seq }) && isVoid(seq, rejections)
      if (!isKept && !this.#isSettled(call)) count += 1
    }
    return count
  }

  #isSettled(call: RecordedCall | undefined): boolean {
    return (
      call !== undefined &&
      (this.#used.has(call.key) || isInternal(call.key) || this.#branchesAt.has(call.position))
    )
  }

  /** Sorted by position. Created on first use: most passes have no history. */
  #recorded(): readonly RecordedCall[] {
    if (this.#sorted !== undefined) return this.#sorted
    const { steps, waits, open, children, lastFailure } = this.#memos
    // After a step has failed, an open wait may come from the code that handled the failure.
    const openSeq = lastFailure === undefined ? Number.POSITIVE_INFINITY : 0
    this.#sorted = [
      ...[...steps.values()].map(({ key, position, seq }) => ({ key, as: 'step' as const, position, seq })),
      ...[...children.values()].map(({ key, position, seq }) => ({
        key,
        as: 'child' as const,
        position,
        seq,
      })),
      ...[...waits.values()].map(({ key, kind, position, seq }) => ({ key, as: kind, position, seq })),
      ...[...open.values()].map(({ key, kind, position }) => ({ key, as: kind, position, seq: openSeq })),
    ].toSorted((a, b) => a.position - b.position)
    return this.#sorted
  }
}
