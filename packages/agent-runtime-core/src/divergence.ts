import { z } from 'zod'
import { keyText } from './key-text.ts'

/**
 * How a handler's calls can differ from those that its task's history holds; `history_edited`: the history is not the one that was
 * written. The names are frozen. Source: `docs/semantics.md 6.4`.
 */
export const divergenceKinds = [
  'unexpected_step',
  'missing_step',
  'input_changed',
  'order_changed',
  'history_edited',
] as const
export type DivergenceKind = (typeof divergenceKinds)[number]

/** The first place at which a handler's code and its task's history part. Source: `docs/semantics.md 6.4`. */
export const Divergence = z.strictObject({
  kind: z.enum(divergenceKinds),
  /** The key of the call; of a `missing_step` that of the call that was recorded and did not come; empty of `history_edited`. */
  key: z.string(),
  /** The place of the call in its pass, from 0; of a `missing_step` its place in the history. */
  position: z.int().min(0),
  /**
   * What the history has: the key there, the kind of call of that key (`step`, `timer`, `signal`), the hash of the input, the position. Of
   * `history_edited`: which event should be there, by the start of its hash; `actual` says which is.
   */
  expected: z.string(),
  /** What the code has in its place, in the same terms; absent when the handler returned instead. */
  actual: z.string().optional(),
})
export type Divergence = z.infer<typeof Divergence>

/** One sentence for a person. */
export function describeDivergence({ kind, key, position, expected, actual }: Divergence): string {
  const call = keyText(key)
  switch (kind) {
    case 'unexpected_step':
      return actual === key
        ? `call ${position} is ${call} where the history has ${keyText(expected)}`
        : `${call} was recorded as a ${expected} and is called as a ${actual} now`
    case 'missing_step':
      return (
        `${call} was recorded as call ${position} and does not come: ` +
        (actual === undefined ? 'the handler returns' : `the code goes on with ${keyText(actual)}`)
      )
    case 'input_changed':
      return `step '${key}' was recorded with another input (hash ${expected}, now ${actual})`
    case 'order_changed':
      return `${call} was recorded as call ${expected} and is call ${actual} now`
    case 'history_edited':
      return `its history in the database was changed: ${expected} was written, there is ${actual}`
  }
}
