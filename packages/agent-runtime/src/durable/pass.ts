import {
  decideReplay,
  DuplicateStepKey,
  type Replay,
  RESERVED,
  RuntimeError,
  show,
  type StepRecord,
  type WaitKind,
} from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import { isName } from '../rules.ts'
import { assertOutsideSteps } from './inside-step.ts'
import type { Memos } from './memos.ts'
import { nameOfPlace, type Place, placeOf } from './place.ts'
import type { Scope } from './scope.ts'
import { Waits } from './waits.ts'

/** A method of the context: what stands above it on the stack is the place of its call. */
export type Callee = (...args: never[]) => unknown

/** A call that uses up a key. */
export interface KeyUse {
  readonly key: string
  readonly as: 'step' | WaitKind
  /** Of the input that a step declares. */
  readonly inputHash?: string | undefined
  readonly scope: Scope
  readonly callee: Callee
}

/** Something that may have to wait before it starts, and may be refused instead. */
export interface Start {
  start(): void
  refuse(): void
}

/**
 * What one pass through a handler keeps: the keys it has used, the positions of its calls, what is under way, and what it waits
 * for. Source: `docs/semantics.md 3.6, 7, 12`.
 */
export class Pass {
  readonly attempt: Attempt
  readonly memos: Memos
  readonly waits: Waits
  readonly #used = new Map<string, Place>()
  /** Calls of the handler itself so far. */
  #calls = 0
  /** Steps and decisions under way: while there are any, the task neither yields nor waits. */
  #busy = 0
  #parked: Start[] = []
  #approvedSeq = 0

  constructor(attempt: Attempt, memos: Memos) {
    this.attempt = attempt
    this.memos = memos
    this.waits = new Waits(attempt, this, memos.open)
  }

  /** The seq of the last approval that the handler has come to; 0 before the first. */
  get approvedSeq(): number {
    return this.#approvedSeq
  }

  approved(seq: number): void {
    this.#approvedSeq = Math.max(this.#approvedSeq, seq)
  }

  get isBusy(): boolean {
    return this.#busy > 0
  }

  /**
   * Takes a key for a call, and gives the call its position: the number of the handler's calls before it, or that of the
   * race around it. Throws when the key is taken, or the memo is another call's.
   */
  use(call: KeyUse): { readonly position: number; readonly memo: StepRecord | undefined } {
    const { key, as, inputHash, scope, callee } = call
    assertOutsideSteps(this, `${as} '${key}'`)
    const recorded = this.#recordedAs(key)
    if (recorded !== undefined && recorded !== as) throw recordedOtherwise(key, recorded, as)
    const verdict = decideReplay({ key, inputHash, memos: this.memos.steps, used: this.#used })
    if (verdict.as !== 'run' && verdict.as !== 'memo') throw refusal(verdict, key, callee)
    const position = scope.position ?? this.#calls++
    this.#used.set(key, placeOf(callee))
    return { position, memo: verdict.as === 'memo' ? verdict.memo : undefined }
  }

  /** Starts something now, or when it is known that the pass goes on; nothing starts once the task is to yield. */
  admit(call: Start): void {
    if (!this.attempt.yieldAsked && !this.waits.isEnding) return call.start()
    this.#parked.push(call)
    this.#yieldIfIdle()
  }

  /** The same for what answers with a promise, and does not wait for a yield. */
  hold<T>(run: () => Promise<T>): Promise<T> {
    if (!this.waits.isEnding) return run()
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
    if (this.attempt.yieldAsked) this.#yield()
    else this.waits.idle()
    return this.attempt.stopped !== undefined
  }

  /** It is over and no boundary at which the task may yield, such as where a wait follows. */
  endInWait(): void {
    this.#busy -= 1
    this.#yieldIfIdle()
    this.waits.idle()
  }

  /** The store has answered whether the pass ends. */
  resume(): void {
    for (const call of this.#parked.splice(0)) {
      if (this.attempt.closedBy === undefined) this.admit(call)
      else call.refuse()
    }
  }

  #yieldIfIdle(): void {
    if (this.attempt.yieldAsked && this.#parked.length > 0 && this.#busy === 0 && !this.waits.isEnding)
      this.#yield()
  }

  /** Those that run are never cut. Source: `docs/semantics.md 3.6`. */
  #yield(): void {
    this.waits.keepOpen()
    this.attempt.yield()
    for (const call of this.#parked.splice(0)) call.refuse()
  }

  #recordedAs(key: string): KeyUse['as'] | undefined {
    return this.memos.steps.has(key) ? 'step' : this.memos.waits.get(key)?.kind
  }
}

/** Throws `invalid_argument` for what is no key. */
export function checkKey(key: unknown, what: string): asserts key is string {
  if (!isName(key)) {
    const unpaired = typeof key === 'string' && !key.isWellFormed() ? ' without lone surrogates' : ''
    throw new RuntimeError(
      'invalid_argument',
      `a ${what} key is a string of 1 to 255 characters${unpaired}, not ${show(key)}`,
    )
  }
  if (key.startsWith(RESERVED)) {
    const message = `a ${what} key does not begin with '${RESERVED}', which is the runtime's own; given ${show(key)}`
    throw new RuntimeError('invalid_argument', message)
  }
}

function recordedOtherwise(key: string, recorded: KeyUse['as'], as: KeyUse['as']): RuntimeError {
  return new RuntimeError(
    'invalid_argument',
    `'${key}' was recorded as a ${recorded} and is called as a ${as} now: give it another key`,
    { details: { key, recorded, as } },
  )
}

function refusal(
  verdict: Exclude<Replay<Place>, { as: 'run' | 'memo' }>,
  key: string,
  callee: Callee,
): Error {
  switch (verdict.as) {
    case 'duplicate':
      return new DuplicateStepKey({
        key,
        firstPlace: nameOfPlace(verdict.firstPlace),
        secondPlace: nameOfPlace(placeOf(callee)),
      })
    case 'input_changed':
      return new RuntimeError(
        'invalid_argument',
        `step '${key}' was recorded with another input (hash ${verdict.expected}, now ${verdict.actual}): ` +
          'give the step another key, or the input that it had',
        { details: { key, expected: verdict.expected, actual: verdict.actual } },
      )
  }
}
