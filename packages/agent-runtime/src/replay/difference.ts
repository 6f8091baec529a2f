import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '@ku0/agent-runtime-core'

/**
 * Where two decoded values differ first: the names on the way, such as `lines.0.at`; empty if nothing smaller than the whole value can be named.
 */
export function placeOfDifference(one: unknown, other: unknown): string {
  const names: string[] = []
  let [a, b] = [one, other]
  while (isPlain(a) && isPlain(b) && names.length < DEEPEST) {
    const [left, right] = [a, b]
    const name = [...new Set([...Object.keys(left), ...Object.keys(right)])].find(
      (key) => !isDeepStrictEqual(left[key], right[key]),
    )
    if (name === undefined) break
    names.push(name)
    ;[a, b] = [left[name], right[name]]
  }
  return names.join('.')
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return Array.isArray(value) || (isRecord(value) && Object.getPrototypeOf(value) === Object.prototype)
}

/** A message names no more. */
const DEEPEST = 20
