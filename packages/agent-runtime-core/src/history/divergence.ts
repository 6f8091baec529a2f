import { keyText } from '../step/key-text.ts'
import type { Divergence } from './divergence-schema.ts'

export type { Divergence } from './divergence-schema.ts'

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
