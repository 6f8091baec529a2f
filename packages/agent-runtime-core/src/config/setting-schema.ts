import { z } from 'zod'
import { MAX_COUNT, MAX_DURATION_MS } from './setting.ts'

/** The schema of a whole number within bounds. It raises one issue at most, which says what is allowed. */
export function wholeNumber(least: number, most: number, unit: string) {
  const allowed = { error: `a whole number of ${unit} from ${least} to ${most}`, abort: true }
  return z.int(allowed).min(least, allowed).max(most, allowed)
}

/** A duration in ms, 1 or more. */
export function duration() {
  return wholeNumber(1, MAX_DURATION_MS, 'ms')
}

/** A number of things, 1 or more; `unit` names them. */
export function count(unit: string) {
  return wholeNumber(1, MAX_COUNT, unit)
}

/** A number above 0, whole or not, with the text for people. */
export function amount(allowed: string) {
  const error = { error: `${allowed}, at most ${MAX_COUNT}` }
  return z.number(error).gt(0, error).max(MAX_COUNT, error)
}
