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

/** A call that the history has no answer for, as far as the history is concerned. */
export interface NewCall {
  readonly key: string
  readonly position: number
  /** It is a race or an all, whose branches share its position. */
  readonly branches: boolean
}

/** Calls of the handler itself in one turn: no answer reaches it between them. */
interface Turn {
  readonly from: number
  below: number
  calls: number
  /** One of them has a memo; one stands where it was recorded. */
  isAnswered: boolean
  isInPlace: boolean
  /** What came before it stands where it was recorded. */
  readonly follows: boolean
}

/**
 * How far a pass has followed its task's history. As long as nothing but the history has answered it, a call that the history
 * holds and that should have come by now tells that code and history differ. Source: `docs/semantics.md 6.4`.
 */
export class Trail {
  readonly #memos: Memos
  readonly #used: ReadonlyMap<string, unknown>
  readonly #branchesAt = new Set<number>()
  #sorted: readonly RecordedCall[] | undefined
  /** What stands before it in `#sorted` has come, or need not. */
  #next = 0
  #isLive: boolean
  /** Answers on their way to the handler, and the position of the first of them. */
  #arriving = 0
  #arrivingFrom = 0
  #certainBelow = Number.POSITIVE_INFINITY
  /** The last call that was answered stands where it was recorded. */
  #isInPlace = true
  #turn: Turn | undefined
  /** The first turn that has several calls: what comes after them may come in any order, they themselves do not. */
  #first: Turn | undefined

  /** `used`: the keys of the pass so far, kept by it. */
  constructor(memos: Memos, used: ReadonlyMap<string, unknown>) {
    this.#memos = memos
    this.#used = used
    this.#isLive = memos.steps.size + memos.waits.size + memos.open.size + memos.children.size === 0
  }

  /** Something was answered by more than the history: what follows may differ from it. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** Something is begun, which has not answered anything before the turn is over. */
  begun(): void {
    this.#isLive = true
  }

  wentLive(): void {
    this.#isLive = true
    this.#turn = undefined
  }

  /** Whether a call that is made now can tell that code and history differ. */
  get isJudging(): boolean {
    return !this.#isLive || this.#turn !== undefined
  }

  /**
   * The handler itself calls something. One that does so while an answer is on its way does several things side by side: in which
   * order they come from there on is no sign of anything. Only what it calls in the first such turn is certain, since nothing but its code
   * decides that.
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

  /** The calls that the handler makes in one go in every pass, if any are known to be. */
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

  /** The race or all of the handler itself that the history has decided at a position; undefined where it does not say so. */
  decidedAt(position: number): string | undefined {
    for (const step of this.#memos.steps.values())
      if (step.position === position && step.branchKeys !== undefined && step.nested !== true) return step.key
    return undefined
  }

  /** Whether it is worth while to ask for {@link divergenceAt}. */
  suspects({ position }: NewCall): boolean {
    const sorted = this.#recorded()
    while (this.#isSettled(sorted[this.#next])) this.#next += 1
    const first = sorted[this.#next]
    return first !== undefined && first.position <= position
  }

  /** `certainly`: what may still come from what runs side by side does not count. */
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

  /** Of a race or an all of the handler itself, when its branches have come as far as they come. */
  divergenceAtDecision(call: NewCall): Divergence | undefined {
    // What a branch did about a step that had failed may be left over.
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

  /** Calls of the history that have not come. */
  get unused(): number {
    let count = 0
    for (const call of this.#recorded()) if (!this.#isSettled(call)) count += 1
    return count
  }

  /** Those of them that a pass would come to: a wait that outlived a rejection is kept, whether or not it is asked for again. */
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

  /** By position. Made on first use: most passes have nothing behind them. */
  #recorded(): readonly RecordedCall[] {
    if (this.#sorted !== undefined) return this.#sorted
    const { steps, waits, open, children, lastFailure } = this.#memos
    // Where a step has failed, an open wait may be from what was done about it.
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
