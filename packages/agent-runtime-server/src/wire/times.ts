/**
 * Whether a field of the library's records is a moment. The library has moments as epoch ms; in JSON they are ISO 8601. Durations end
 * in `Ms` and stay numbers.
 */
export function isTimeName(name: string): boolean {
  return name.endsWith('At') || otherTimes.has(name)
}

const otherTimes: ReadonlySet<string> = new Set(['at', 'scheduledFor', 'until', 'blockedUntil', 'since'])

/** Epoch ms as ISO 8601; a number that is no date stays as it is. */
export function isoOf(ms: number): string | number {
  return Math.abs(ms) <= MAX_DATE_MS ? new Date(ms).toISOString() : ms
}

/** The last moment that a Date can hold. */
const MAX_DATE_MS = 8.64e15
