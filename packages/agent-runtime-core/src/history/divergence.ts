import { keyText } from '../step/key-text.ts'
import type { Divergence } from './divergence-schema.ts'

/** One sentence for a person. */
export function describeDivergence({ kind, key, position, expected, actual }: Divergence): string {
  const call = keyText(key)
  switch (kind) {
    case 'unexpected_step':
      return actual === key
        ? `call ${position} is ${call} where the history has ${keyText(expected)}`
        : `${call} was recorded as a ${expected} and is now called as a ${actual}`
    case 'missing_step':
      return (
        `${call} was recorded as call ${position} and is missing: ` +
        (actual === undefined ? 'the handler returns' : `the code continues with ${keyText(actual)}`)
      )
    case 'input_changed':
      return `step '${key}' was recorded with another input (hash ${expected}, now ${actual})`
    case 'order_changed':
      return `${call} was recorded as call ${expected} and is now call ${actual}`
    case 'value_unreadable':
      return `${key === '' ? 'its input' : `the stored value of ${call}`} cannot be read: ${expected}`
    case 'history_edited':
      return `its history in the database was changed: ${expected} was written, ${actual} was found`
  }
}
