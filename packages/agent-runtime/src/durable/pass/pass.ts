import {
  decideReplay,
  type Divergence,
  DuplicateStepKey,
  isName,
  PATCH_KEY,
  RESERVED,
  RuntimeError,
  show,
  type StepRecord,
  type WaitRecord,
} from '@ku0/agent-runtime-core'
import { unreadableBy } from './unreadable.ts'
import type { Host } from '../host.ts'
import type { HistoryEnd } from '../../api/replay.ts'
import type { ReplayTrail } from './replay-watch.ts'
import type { TaskDefinition } from '../../api/task-definition.ts'
import { type Answer, parted } from './answer.ts'
import { Gate } from './gate.ts'
import { assertOwnContext } from '../branch/inside-branch.ts'
import { assertOutsideSteps } from '../step/inside-step.ts'
import type { Memos } from './memos.ts'
import { Output } from '../output.ts'
import { nameOfPlace, type Place, placeOf } from './place.ts'
import { Rooms } from '../wait/room.ts'
import { isWithin, type Scope } from './scope.ts'
import { Stage } from '../pipeline/stage.ts'
import { recordedError } from '../step/recorded-error.ts'
import { type NewCall, Trail } from './trail.ts'
import { Waits } from '../wait/waits.ts'
import { type KeyUse, type Use } from './key-use.ts'

/** The options of a task type for its passes. */
export type PassRules = Pick<
  TaskDefinition,
  'type' | 'replay' | 'errors' | 'oversight' | 'rateLimited' | 'recovery' | 'signals' | 'approvals' | 'emits'
>

/**
 * The state of one pass through a handler: the keys it has used and the positions of its calls, compared with
 * the history; its gate, and its waits. Source: `docs/semantics.md 3.6, 7, 12`.
 */
export class Pass {
  readonly attempt: Host
  readonly memos: Memos
  readonly gate = new Gate(this)
  readonly waits: Waits
  readonly rooms = new Rooms(this)
  readonly output = new Output(this)
  readonly stage = new Stage(this)
  /** The answer to `ctx.ready`, once it was called. */
  isReady: Promise<void> | undefined
  /** The scope in which each child of this pass was spawned, by key. */
  readonly children = new Map<string, Scope>()
  readonly #used = new Map<string, Place>()
  /** The keys that branches have used so far, with their branch. */
  readonly #branchKeys = new Map<string, Scope>()
  /** The positions of calls that gave their key back, by key. */
  readonly #returned = new Map<string, number>()
  /** Number of calls of the handler itself so far. */
  #calls = 0
  #approvedSeq = 0
  #isFromSnapshot = false
  readonly #rules: PassRules
  readonly #trail: Trail
  /** Calls that show that code and history differ, unless the missing calls still come in this turn. */
  readonly #held: NewCall[] = []
  /** The first place where code and history differ: the pass ends when running work has ended. */
  #parting: Divergence | undefined
  /** Races of the handler itself that the history has no decision of, by position. */
  readonly #undecided = new Map<number, string>()
  readonly #patches = new Map<string, Promise<boolean>>()

  constructor(attempt: Host, memos: Memos, rules: PassRules) {
    this.attempt = attempt
    this.memos = memos
    this.#rules = rules
    this.#trail = new Trail(memos, this.#used)
    this.waits = new Waits(attempt, this, memos.open)
  }

  /** The task type's rule for errors that are refusals of a provider. */
  get rateLimited(): PassRules['rateLimited'] {
    return this.#rules.rateLimited
  }

  /** The seq of the last approval that the handler has reached; 0 before the first. */
  get approvedSeq(): number {
    return this.#approvedSeq
  }

  approved(seq: number): void {
    this.#approvedSeq = Math.max(this.#approvedSeq, seq)
  }

  get isHeld(): boolean {
    return this.#held.length > 0 || this.#parting !== undefined
  }

  wentLive(): void {
    this.#trail.wentLive()
  }

  /** A step or a child has started, and has not answered yet. */
  begun(): void {
    this.#trail.begun()
  }

  /** True once the handler has read a snapshot of an earlier pass. */
  get isFromSnapshot(): boolean {
    return this.#isFromSnapshot
  }

  /** A handler that starts from a snapshot may leave out earlier work. */
  startsFromSnapshot(): void {
    this.#isFromSnapshot = true
    this.wentLive()
  }

  /**
   * Takes a key for a call and returns the call's position: the number of the handler's calls before it, or
   * the position of the surrounding race. Throws if the key is taken, and {@link parted} if the pass stops
   * here.
   */
  use(call: KeyUse): Use {
    const { key, as, inputHash, scope, callee } = call
    assertOutsideSteps(this, call)
    assertOwnContext(scope, call)
    const verdict = decideReplay({ key, inputHash, memos: this.memos.steps, used: this.#used })
    if (verdict.as === 'duplicate') {
      throw new DuplicateStepKey({
        key,
        firstPlace: nameOfPlace(verdict.firstPlace),
        secondPlace: nameOfPlace(placeOf(callee)),
      })
    }
    const position = this.#returned.get(key) ?? this.placeIn(scope)
    const place = placeOf(callee)
    this.#used.set(key, place)
    if (scope.parent !== undefined) this.#branchKeys.set(key, scope)
    const recorded = this.#recordedAs(key)
    if (recorded !== undefined && recorded.as !== as)
      this.part({ kind: 'unexpected_step', key, position, expected: recorded.as, actual: as })
    if (verdict.as === 'input_changed') {
      const { expected, actual } = verdict
      this.part({ kind: 'input_changed', key, position, expected, actual })
    }
    const memo = verdict.as === 'memo' ? verdict.memo : undefined
    if (memo !== undefined && call.branches !== undefined) this.#useUp(memo, scope, place)
    const wait = this.waitMemo(key)
    const answered = memo ?? wait ?? this.memos.children.get(key)
    const failure = answered === undefined ? this.memos.settled.get(key) : undefined
    this.#follow(call, position, recorded?.position, (answered ?? failure) !== undefined)
    if (failure !== undefined) {
      scope.answered(failure.seq)
      throw recordedError(failure.error, this.#rules.errors)
    }
    // Branches have no effect by themselves: the answers that memos give in them count.
    if (answered === undefined && scope.isLate && call.branches === undefined) throw parted
    if (answered !== undefined) this.attempt.replay?.answered(wait === undefined ? 'step' : 'wait')
    else if (this.attempt.replay !== undefined) this.#answerReplay(call, position)
    return { position, memo, wait }
  }

  /**
   * The branches of a decided call do not run again, but their keys stay used. Source: `docs/semantics.md
   * 7.3`.
   */
  #useUp({ position, branchKeys }: StepRecord, scope: Scope, place: Place): void {
    // An earlier version did not record the keys of branches: everything at the position of a handler's own
    // call was recorded in its branches.
    const keys = branchKeys ?? (scope.parent === undefined ? this.#trail.keysAt(position) : [])
    for (const key of keys) {
      if (this.#used.has(key)) continue
      this.#used.set(key, place)
      if (scope.parent !== undefined) this.#branchKeys.set(key, scope)
    }
  }

  /** The keys that calls within these decided branches have used. */
  keysIn(branches: ReadonlySet<Scope>): readonly string[] {
    // Nothing around the branches of the handler's own calls asks again.
    const isOutermost = [...branches].every(({ parent }) => parent?.parent === undefined)
    const keys: string[] = []
    for (const [key, scope] of this.#branchKeys) {
      if (!isWithin(scope, branches)) continue
      keys.push(key)
      if (isOutermost) this.#branchKeys.delete(key)
    }
    return keys.toSorted()
  }

  /** Compares a call with the history; nothing has been started for it yet. */
  #follow(call: KeyUse, position: number, recordedAt: number | undefined, isAnswered: boolean): void {
    const { key, scope, branches } = call
    const trail = this.#trail
    if (!trail.isJudging) return
    if (scope.parent !== undefined || branches !== undefined) trail.branchesAt(recordedAt ?? position)
    if (scope.parent !== undefined)
      return isAnswered || trail.isLive ? undefined : this.#startInBranch(position)
    trail.called(position, isAnswered, recordedAt)
    if (
      this.#rules.replay === 'strict' &&
      !trail.isLive &&
      recordedAt !== undefined &&
      recordedAt !== position
    ) {
      const places = { expected: String(recordedAt), actual: String(position) }
      this.part({ kind: 'order_changed', key, position, ...places })
    }
    if (branches !== undefined && !isAnswered) this.#undecided.set(position, key)
    if (isAnswered || this.attempt.replay !== undefined) return
    const fresh = { key, position, branches: branches !== undefined }
    if (trail.suspects(fresh)) this.#hold(fresh)
  }

  /** In a replay, a call without a memo fails as it did before, or is where the history ends. */
  #answerReplay({ key, as, branches, signal }: KeyUse, position: number): void {
    const failure = this.attempt.replay?.failureOf(key)
    if (failure !== undefined) {
      this.attempt.replay?.answered('failure')
      throw recordedError(failure, this.#rules.errors)
    }
    if (branches !== undefined) return
    if (key.startsWith(PATCH_KEY))
      this.endsHere({ call: 'patched', key: key.slice(PATCH_KEY.length), position })
    else this.endsHere({ call: as, key, position }, signal)
    throw parted
  }

  /** True in a replay, which stops here. */
  endsHere(end: HistoryEnd, signal?: string): boolean {
    const { replay } = this.attempt
    if (replay === undefined) return false
    const { key, position = -1, call } = end
    const branches = call === 'race' || call === 'all'
    const outermost = this.#undecided.get(position)
    const at =
      outermost === undefined ? { key, position, branches } : { key: outermost, position, branches: true }
    replay.reached(end, this.#replayTrail(at), signal)
    return true
  }

  #replayTrail(call: NewCall | undefined): ReplayTrail {
    const trail = this.#trail
    return {
      get unused() {
        return trail.unused
      },
      get pending() {
        return trail.pending
      },
      divergence: (certainly) => {
        if (trail.isLive) return undefined
        return (
          trail.divergenceAt(call, certainly) ??
          (call?.branches === true && !certainly ? trail.divergenceAtDecision(call) : undefined)
        )
      },
    }
  }

  /**
   * The handler has returned. Returns true if its task does not end that way, because code and history differ
   * and the task is parked. A replay is notified, and decides itself.
   */
  returned(): boolean {
    const divergence =
      this.#parting ?? (this.#trail.isLive ? undefined : this.#trail.divergenceAt(undefined, true))
    if (divergence === undefined) return false
    this.attempt.diverge(divergence)
    return true
  }

  /** True if a race or all that is about to be decided is not the one that the history has at its place. */
  partsAtDecision(key: string, position: number): boolean {
    if (this.#trail.isLive) return false
    const divergence = this.#trail.divergenceAtDecision({ key, position, branches: true })
    if (divergence === undefined) return false
    if (this.attempt.replay !== undefined) this.attempt.replay.diverged(divergence)
    else this.#partNow(divergence)
    return true
  }

  /** The facts that a replay needs when the handler has ended. */
  get replayTrail(): ReplayTrail {
    return this.#replayTrail(undefined)
  }

  /** Source: `docs/semantics.md 6.4`. */
  patched(id: string, mark: (key: string) => Promise<boolean>): Promise<boolean> {
    const known = this.#patches.get(id)
    if (known !== undefined) return known
    const key = PATCH_KEY + id
    const isNew = this.memos.steps.has(key) || !this.#trail.goesBeyond(this.#calls)
    const answer = isNew ? mark(key) : Promise.resolve(false)
    this.#patches.set(id, answer)
    return answer
  }

  /** The pass ends here, as soon as nothing runs any more. Throws {@link parted}. */
  part(divergence: Divergence): never {
    this.#parting ??= divergence
    if (this.attempt.replay !== undefined) this.attempt.replay.diverged(divergence)
    else if (!this.gate.isBusy) this.endWhereParted()
    throw parted
  }

  /**
   * Answers a call with a stored value. If this process cannot read it, for want of a codec or a key, the task is parked, and the answer never
   * settles.
   */
  answer<T>(answer: Answer<T>, at: { readonly key: string; readonly position: number }, read: () => T): void {
    try {
      answer.resolve(read())
    } catch (error) {
      const unread = unreadableBy(error, at)
      if (unread === undefined) {
        this.attempt.replay?.erred()
        return answer.reject(error)
      }
      this.#parting ??= unread
      if (this.attempt.replay !== undefined) this.attempt.replay.diverged(unread)
      else if (!this.gate.isBusy) this.endWhereParted()
    }
  }

  endWhereParted(): boolean {
    if (this.#parting === undefined) return false
    this.#partNow(this.#parting)
    return true
  }

  #partNow(divergence: Divergence): void {
    this.attempt.diverge(divergence)
    this.gate.refuseAll()
  }

  /**
   * If the history has decided another race or all at this place, nothing new starts in the branches of this
   * one.
   */
  #startInBranch(position: number): void {
    const key = this.#undecided.get(position)
    if (key === undefined || this.attempt.replay !== undefined) return
    const other = this.#trail.decidedAt(position)
    if (other !== undefined && other !== key)
      this.part({ kind: 'unexpected_step', key, position, expected: other, actual: key })
  }

  /** One turn later, every call that memos alone lead to has been made. */
  #hold(call: NewCall): void {
    if (this.#held.length > 0 && !this.#trail.isTogether(call)) return
    if (this.#held.push(call) > 1) return
    this.attempt.parts.deadlines.after(0, () => {
      const held = this.#held.splice(0)
      const divergence = this.attempt.closedBy === undefined ? this.#divergenceIn(held) : undefined
      if (divergence !== undefined) return this.#partAfterSteps(divergence)
      this.gate.resume()
      this.waits.idle()
    })
  }

  #divergenceIn(held: readonly NewCall[]): Divergence | undefined {
    for (const call of held) {
      if (this.#trail.isLive && !this.#trail.isTogether(call)) continue
      const divergence = this.#trail.divergenceAt(call, true)
      if (divergence !== undefined) return divergence
    }
    return undefined
  }

  /** If nothing has started, the pass ends at once, whatever it still writes. */
  #partAfterSteps(divergence: Divergence): void {
    this.#parting ??= divergence
    if (!this.#trail.isLive || !this.gate.isBusy) this.endWhereParted()
  }

  /** How a wait ended, in an earlier pass or before the handler reached it in this one. */
  waitMemo(key: string): WaitRecord | undefined {
    return this.memos.waits.get(key) ?? this.waits.early(key)
  }

  /** The position of a call that uses no key of its own. */
  placeIn(scope: Scope): number {
    return scope.position ?? this.#calls++
  }

  /** A call had no result, and may be made again. */
  giveBack(key: string, position: number): void {
    this.#used.delete(key)
    this.#branchKeys.delete(key)
    this.#returned.set(key, position)
  }

  #recordedAs(key: string): { readonly as: KeyUse['as']; readonly position: number } | undefined {
    const step = this.memos.steps.get(key)
    if (step !== undefined) return { as: 'step', position: step.position }
    const child = this.memos.children.get(key)
    if (child !== undefined) return { as: 'child', position: child.position }
    const wait = this.memos.waits.get(key) ?? this.memos.open.get(key)
    return wait && { as: wait.kind, position: wait.position }
  }
}

/** Throws `invalid_argument` for an invalid key. */
export function checkKey(key: unknown, what: string): asserts key is string {
  if (!isName(key)) {
    const unpaired = typeof key === 'string' && !key.isWellFormed() ? ' without lone surrogates' : ''
    throw new RuntimeError(
      'invalid_argument',
      `a ${what} key must be a string of 1 to 255 characters${unpaired}, not ${show(key)}`,
    )
  }
  if (key.startsWith(RESERVED)) {
    const message = `a ${what} key must not begin with '${RESERVED}', which is reserved for the runtime; given ${show(key)}`
    throw new RuntimeError('invalid_argument', message)
  }
}
