/** Any value as JSON on one line. Values that JSON lacks become the nearest that it has. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, substitute, indent) ?? 'null'
}

function substitute(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map) return [...(value as ReadonlyMap<unknown, unknown>)]
  if (value instanceof Set) return [...(value as ReadonlySet<unknown>)]
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  return value
}

/** A value of a task for people: a text as it is, anything else as JSON. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : toJson(value)
}
