/** Any value as one short line, for messages. Never throws. */
export function show(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : textOf(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

/** Lines for a message that is to stay readable whatever was given: the first twenty, cut where they are long, and how many more there are. */
export function firstLines(lines: readonly string[]): string[] {
  const told = lines.slice(0, 20).map((line) => (line.length > 1_000 ? `${line.slice(0, 999)}…` : line))
  return lines.length > told.length ? [...told, `and ${lines.length - told.length} more`] : told
}

/** Any value as text: strings as they are, data as JSON, other values by name. Never throws. */
export function textOf(value: unknown): string {
  try {
    if (typeof value === 'function') return 'a function'
    if (typeof value === 'bigint') return `${value}n`
    if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date'
    // oxlint-disable-next-line no-restricted-globals -- Asks whether it is one; makes none.
    if (value instanceof Promise) return 'a promise'
    if (typeof value !== 'object' || value === null) return String(value)
    return JSON.stringify(value) ?? Object.prototype.toString.call(value)
  } catch {
    return 'something unreadable'
  }
}
