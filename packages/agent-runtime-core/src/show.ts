/** Any value as one short line, for messages. Never throws. */
export function show(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : textOf(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

/** Any value as text: text as it is, data as JSON, the rest by name. Never throws. */
export function textOf(value: unknown): string {
  try {
    if (typeof value === 'function') return 'a function'
    if (typeof value === 'bigint') return `${value}n`
    if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date'
    if (value instanceof Promise) return 'a promise'
    if (typeof value !== 'object' || value === null) return String(value)
    return JSON.stringify(value) ?? Object.prototype.toString.call(value)
  } catch {
    return 'something unreadable'
  }
}
