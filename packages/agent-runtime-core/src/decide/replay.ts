import type { StepRecord } from '../step.ts'

/** A call of `ctx.step`, and what is known of its pass and of the passes before. */
export interface ReplayCase<Place> {
  readonly key: string
  /** sha256 of the input that the call declares, if it declares one. */
  readonly inputHash?: string | undefined
  /** What earlier passes recorded, by key. */
  readonly memos: ReadonlyMap<string, StepRecord>
  /** The keys of this pass so far, each with the place of its call. */
  readonly used: ReadonlyMap<string, Place>
}

/** What a call of `ctx.step` does. */
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
