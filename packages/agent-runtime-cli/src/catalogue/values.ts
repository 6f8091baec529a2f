import { MAX_SHUTDOWN_MS, suggestionFor } from '@ku0/agent-runtime-core'

/** A text on the command line that is not what is allowed there. */
export class ValueError extends Error {}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration in ms: `500ms`, `30s`, `5m`, `2h`, `1d`. */
export function readDuration(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? []
  const ms = Number(amount) * (units[unit ?? ''] ?? Number.NaN)
  if (Number.isFinite(ms) && ms <= 31_536_000_000) return ms
  throw new ValueError('a duration of up to a year, such as 500ms, 30s, 5m, 2h or 1d')
}

/** How long a child of a supervisor may take to stop. */
export function readShutdown(text: string): number {
  const ms = readDuration(text)
  if (Number.isInteger(ms) && ms >= 1 && ms <= MAX_SHUTDOWN_MS) return ms
  throw new ValueError('a duration from 1ms to 1d in whole ms, such as 30s')
}

/** For how long something is kept: a duration, and not none. */
export function readKept(text: string): number {
  const ms = readDuration(text)
  if (ms >= 1) return ms
  throw new ValueError('a duration of 1ms or more, such as 2h or 7d')
}

/** An age: a duration of up to 100 years, and not none. */
export function readAge(text: string): number {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? []
  if (days === undefined || Number(days) === 0) return readKept(text)
  if (Number(days) <= 36_500) return Number(days) * 86_400_000
  throw new ValueError('an age of up to 36500d, such as 400d')
}

/** A whole number within bounds. */
export function readWhole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new ValueError(`a whole number from ${least} to ${most}`)
  }
}

/** A number, 0 or more. */
export function readAmount(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isFinite(value) && value >= 0) return value
  throw new ValueError('a number, 0 or more')
}

/** Words that are separated by commas; several options add up. */
export function readList(text: string, before: unknown, known?: readonly string[]): readonly string[] {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  if (words.length === 0) throw new ValueError('one word or more, separated by commas')
  for (const word of words) {
    if (known === undefined || known.includes(word)) continue
    const meant = suggestionFor(word, known)
    throw new ValueError(
      `${known.join(', ')}${meant === undefined ? '' : `; did you mean ${meant} instead of ${word}?`}`,
    )
  }
  return [...((before as readonly string[] | undefined) ?? []), ...words]
}

/** `key=value`; several options add up. */
export function readLabel(text: string, before: unknown): Readonly<Record<string, string>> {
  const at = text.indexOf('=')
  if (at < 1) throw new ValueError('KEY=VALUE')
  return { ...(before as Record<string, string> | undefined), [text.slice(0, at)]: text.slice(at + 1) }
}

/** `key=JSON`; several options add up. */
export function readEdit(text: string, before: unknown): Readonly<Record<string, unknown>> {
  const at = text.indexOf('=')
  if (at < 1) throw new ValueError('KEY=JSON')
  return {
    ...(before as Record<string, unknown> | undefined),
    [text.slice(0, at)]: readJson(text.slice(at + 1)),
  }
}

/** `field=amount`; several options add up. */
export function readRaise(text: string, before: unknown): Readonly<Record<string, number>> {
  const at = text.indexOf('=')
  if (at < 1) throw new ValueError('FIELD=AMOUNT, such as tokens=5000')
  return {
    ...(before as Record<string, number> | undefined),
    [text.slice(0, at)]: readAmount(text.slice(at + 1)),
  }
}

/** A time: ISO 8601, or epoch ms. */
export function readTime(text: string): number {
  const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  if (Number.isFinite(at) && at <= 8.64e15) return at
  throw new ValueError('a time such as 2027-01-31T09:00:00Z')
}

/** A value in JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new ValueError(`JSON, such as {"name":"Ada"} or "a text"; ${(error as Error).message}`, {
      cause: error,
    })
  }
}
