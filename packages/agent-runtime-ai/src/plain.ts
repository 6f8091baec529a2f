/**
 * A copy of what an SDK returned that can be stored: plain objects and arrays, texts, numbers, dates and bytes. Functions, symbols and
 * properties that are undefined are left out, a URL becomes its text, an instance of a class its own properties, and bytes of any kind a `Uint8Array`.
 */
export function plain<T>(value: T): T {
  return copy(value, 0) as T
}

function copy(value: unknown, depth: number): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  // What is nested deeper is refused by the store, which says where it stands.
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (value instanceof Date) return new Date(value)
  if (value instanceof URL) return value.href
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0))
  if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1) ?? null)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return copy(toJSON.call(value), depth + 1)
  const entries = Object.entries(value).map(([key, item]) => [key, copy(item, depth + 1)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}

const MAX_DEPTH = 64
