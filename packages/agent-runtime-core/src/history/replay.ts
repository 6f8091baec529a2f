import { childKeyOf, isChildName } from '../child/child.ts'
import { isEscalation } from '../recovery/escalation.ts'
import { isHandOver } from '../recovery/hand-over.ts'
import type { Divergence } from './divergence-schema.ts'
import type { StepRecord } from '../step/schema.ts'
import { RESERVED, type WaitKind } from '../wait/wait.ts'

/** A call of `ctx.step`, and what is known of its pass and of the passes before. */
export interface ReplayCase<Place> {
  readonly key: string
  /** sha256 of the input that the call declares, if it declares one. */
  readonly inputHash?: string | undefined
  /** The records of earlier passes, by key. */
  readonly memos: ReadonlyMap<string, StepRecord>
  /** The keys of this pass so far, each with the place of its call. */
  readonly used: ReadonlyMap<string, Place>
}

/** The action of a call of `ctx.step`. */
export type Replay<Place> =
  | { readonly as: 'run' }
  | { readonly as: 'memo'; readonly memo: StepRecord }
  | { readonly as: 'duplicate'; readonly firstPlace: Place }
  /** The memo was made from another input: to return it would be a silent lie, to run the step would do it twice. */
  | { readonly as: 'input_changed'; readonly expected: string; readonly actual: string }

const run: Replay<never> = { as: 'run' }

/**
 * Whether a step runs or its memo answers. A second use of a key in one pass is a mistake, whether or not there is a memo; a
 * key counts as recorded whatever its result was. A step that declares no input, then or now, is not compared.
 * Source: `docs/semantics.md 7.1-7.3` and C14, C18.
 */
export function decideReplay<Place>({ key, inputHash, memos, used }: ReplayCase<Place>): Replay<Place> {
  if (used.has(key)) return { as: 'duplicate', firstPlace: used.get(key) as Place }
  const memo = memos.get(key)
  if (memo === undefined) return run
  if (inputHash !== undefined && memo.inputHash !== undefined && inputHash !== memo.inputHash) {
    return { as: 'input_changed', expected: memo.inputHash, actual: inputHash }
  }
  return { as: 'memo', memo }
}

/** The kind of call that a key was recorded for. */
export type CallKind = 'step' | WaitKind

/** A call that earlier passes left in the history: its memo, or a wait that is open. */
export interface RecordedCall {
  readonly key: string
  readonly as: CallKind
  readonly position: number
  /**
   * The seq of the event that is the memo; for an open wait a seq after all of them, or 0 if it is not known.
   */
  readonly seq: number
}

/** Where a pass stands that nothing but the history has answered so far. */
export interface FrontierCase {
  /** The call that the history has no answer for; undefined: the handler has returned. */
  readonly call:
    | {
        readonly key: string
        readonly position: number
        /** The history has it as a wait that is open. */
        readonly isOpen: boolean
        /** A race or an all: what is recorded at its position may be its branches'. */
        readonly branches: boolean
      }
    | undefined
  readonly recorded: Iterable<RecordedCall>
  /** The keys of this pass so far, that of the call included. */
  readonly used: { has(key: string): boolean }
  /** Recorded positions whose calls belong to branches: the memo of their race represents them. */
  readonly branchesAt: { has(position: number): boolean }
  /** Calls recorded from this position on may still come, from what runs side by side. */
  readonly certainBelow: number
  /** Calls that the handler makes in one go, which have the same positions in every pass. */
  readonly together?: Together | undefined
}

/** The positions of calls that a handler makes in one go, before any answer can reach it: `from` the first, `below` the last and one. */
export interface Together {
  readonly from: number
  readonly below: number
}

/**
 * Whether a pass that stands at the first call that is not in the history, or has returned, shows that a
 * recorded call is missing. A call that was recorded before another call of a lower position had its memo
 * proves nothing: the other call ran beside it, or failed first and was handled. The calls that are made in
 * one turn are not calls that handled the failure of one of them. Source: `docs/semantics.md 6.4`.
 */
export function decideDivergence({
  call,
  recorded,
  used,
  branchesAt,
  certainBelow,
  together,
}: FrontierCase): Divergence | undefined {
  const limit = call === undefined ? Number.POSITIVE_INFINITY : call.position
  const answered: RecordedCall[] = []
  const left: RecordedCall[] = []
  for (const it of recorded) {
    if (isInternal(it.key)) continue
    if (used.has(it.key)) answered.push(it)
    else if (it.position <= limit && it.position < certainBelow && !branchesAt.has(it.position)) left.push(it)
  }
  const [first] = left
    .filter(({ position }) => call?.branches !== true || position < call.position)
    .filter(({ seq, position }) => {
      const before = together !== undefined && isAmong(position, together) ? together.from : position
      return !answered.some((it) => it.position < before && it.seq > seq && Number.isFinite(it.seq))
    })
    .toSorted((a, b) => a.position - b.position || a.seq - b.seq)
  if (first === undefined) return undefined
  const { key, position } = first
  if (call === undefined) return { kind: 'missing_step', key, position, expected: key }
  if (position === call.position && !call.isOpen)
    return { kind: 'unexpected_step', key: call.key, position, expected: key, actual: call.key }
  return { kind: 'missing_step', key, position, expected: key, actual: call.key }
}

/** Whether a position is that of one of the calls. */
export function isAmong(position: number, { from, below }: Together): boolean {
  return position >= from && position < below
}

/**
 * The same for a race or an all whose branches have reached its decision, or have advanced as far as the
 * history alone leads: what is recorded at its place after all that they called belongs to no branch of it,
 * but is the decision of another one, or another call. Source: `docs/semantics.md 6.4`.
 */
export function decideAtDecision(
  { key, position }: { readonly key: string; readonly position: number },
  { recorded, used }: Pick<FrontierCase, 'recorded' | 'used'>,
): Divergence | undefined {
  let last: RecordedCall | undefined
  for (const it of recorded) {
    if (it.position !== position || !Number.isFinite(it.seq)) continue
    // Its time was over: it stands there, however far its branches come.
    if (it.key === branchLimitKey(key)) return undefined
    if (!isInternal(it.key) && it.seq > (last?.seq ?? 0)) last = it
  }
  if (last === undefined || used.has(last.key)) return undefined
  return { kind: 'unexpected_step', key, position, expected: last.key, actual: key }
}

/** Calls that the runtime makes for itself: they come and go with others. */
export function isInternal(key: string): boolean {
  return key.startsWith(RESERVED)
}

/**
 * Whether a task's history goes beyond a place in the handler: some call that it holds, back-offs of a step included, has not come
 * yet and was no earlier. Source: `docs/semantics.md 6.4`.
 */
export function goesBeyond(
  position: number,
  { recorded, used, branchesAt }: Pick<FrontierCase, 'recorded' | 'used' | 'branchesAt'>,
): boolean {
  for (const { key, position: at } of recorded)
    if (at >= position && !branchesAt.has(at) && isOfHandler(key) && !used.has(callOf(key))) return true
  return false
}

/** Whether a call is part of the handler's path: a mark is none, nor a question about a failure, nor a task that it was handed over to. */
function isOfHandler(key: string): boolean {
  const child = isChildName(key) ? childKeyOf(key) : key
  return !key.startsWith(PATCH_KEY) && !isEscalation(key) && !isHandOver(child)
}

/** The key of the call that a wait belongs to: a back-off is part of its step's, a time limit part of its race's. */
export function callOf(key: string): string {
  if (isLimit(key)) return limitedBy(key)
  return key.startsWith(RETRY_KEY) ? key.slice(key.indexOf('/', RETRY_KEY.length) + 1) : key
}

/** Whether a wait is one between the tries of a step. */
export function isRetryWait(key: string): boolean {
  return key.startsWith(RETRY_KEY)
}

/**
 * The prefix of the keys of waits between the tries of a step; the number of the retry and the step's key
 * follow.
 */
export const RETRY_KEY = `${RESERVED}retry/`

/** The key of the timer that limits the time of a race or an all. */
export function branchLimitKey(key: string): string {
  return LIMIT_KEY + key
}

/** Whether a wait is the time limit of a race or an all. */
export function isLimit(key: string): boolean {
  return key.startsWith(LIMIT_KEY)
}

/** The race or all whose time such a timer limits. */
export function limitedBy(key: string): string {
  return key.slice(LIMIT_KEY.length)
}

const LIMIT_KEY = `${RESERVED}limit/`

/** The prefix of the keys of marks that `ctx.patched` records. */
export const PATCH_KEY = `${RESERVED}patched/`
