import {
  decideAtDecision,
  decideDivergence,
  type Divergence,
  goesBeyond,
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

/**
 * How far a pass has followed its task's history. As long as nothing but the history has answered it, a call that the history
 * holds and that should have come by now tells that code and history part. Source: `docs/semantics.md 6.4`.
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

  wentLive(): void {
    this.#isLive = true
  }

  /**
   * The handler itself calls something. One that does so while an answer is on its way does several things side by side: in which
   * order they come from there on is no sign of anything.
   */
  called(position: number, isAnswered: boolean): void {
    if (this.#isLive) return
    if (this.#arriving > 0) this.#certainBelow = Math.min(this.#certainBelow, this.#arrivingFrom)
    if (!isAnswered) return
    if (this.#arriving === 0) this.#arrivingFrom = position
    this.#arriving += 1
    queueMicrotask(() => {
      this.#arriving -= 1
    })
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
    return decideDivergence({
      call: call && { ...call, isOpen: this.#memos.open.has(call.key) },
      recorded: this.#recorded(),
      used: this.#used,
      branchesAt: this.#branchesAt,
      certainBelow: certainly ? this.#certainBelow : Number.POSITIVE_INFINITY,
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
