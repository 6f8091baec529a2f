import {
  decideReplay,
  DuplicateStepKey,
  type Replay,
  RESERVED,
  RuntimeError,
  show,
  type StepRecord,
  type WaitKind,
  type WaitRecord,
} from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import { isName } from '../rules.ts'
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
  /** Where the children of this pass were spawned, by key. */
  readonly children = new Map<string, Scope>()
  readonly #used = new Map<string, Place>()
  /** The positions of calls that came to nothing, by key. */
  readonly #returned = new Map<string, number>()
  /** Calls of the handler itself so far. */
  #calls = 0
  /** Steps and decisions under way: while there are any, the task neither yields nor waits. */
  #busy = 0
  #parked: Start[] = []

  constructor(attempt: Attempt, memos: Memos) {
    this.attempt = attempt
    this.memos = memos
    this.waits = new Waits(attempt, this, memos.open)
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
    const recorded = this.#recordedAs(key)
    if (recorded !== undefined && recorded !== as) throw recordedOtherwise(key, recorded, as)
    const verdict = decideReplay({ key, inputHash, memos: this.memos.steps, used: this.#used })
    if (verdict.as !== 'run' && verdict.as !== 'memo') throw refusal(verdict, key, callee)
    const position = this.#returned.get(key) ?? this.placeIn(scope)
    this.#used.set(key, placeOf(callee))
    return { position, memo: verdict.as === 'memo' ? verdict.memo : undefined }
  }

  /** How a wait ended, in an earlier pass or before the handler came to it in this one. */
  waitMemo(key: string): WaitRecord | undefined {
    return this.memos.waits.get(key) ?? this.waits.early(key)
  }

  /** The position of a call that uses up no key of its own. */
  placeIn(scope: Scope): number {
    return scope.position ?? this.#calls++
  }

  /** A call came to nothing, and may be made again. */
  giveBack(key: string, position: number): void {
    this.#used.delete(key)
    this.#returned.set(key, position)
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

  /** It is over and what follows it is a wait, for which the handler need not go on. */
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
    if (this.memos.steps.has(key)) return 'step'
    return this.memos.children.has(key) ? 'child' : this.memos.waits.get(key)?.kind
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
