/**
 * A value of a task in JSON. Plain data is itself, as is what has the form of the codec already; a Date, a Map and what else JSON lacks gets this
 * form, so that the handler receives what was given. Throws a TypeError for an instance of any other class, an Error too, a function or a symbol, and for what is nested too deeply.
 */
export function valueToJson(value: unknown, what: string, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new TypeError(`${what}: it is nested too deeply, or in itself`)
  const inner = (item: unknown) => valueToJson(item, what, depth + 1)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : tagged('Number', numberText(value))
    case 'bigint':
      return tagged('BigInt', String(value))
    case 'undefined':
      return { $ku0: ['undefined'] }
    case 'object':
      break
    default:
      throw new TypeError(`${what}: a ${typeof value} cannot be sent`)
  }
  if (value === null) return null
  if (Array.isArray(value)) return Array.from(value, inner)
  if (value instanceof Date) return tagged('Date', Number.isNaN(value.getTime()) ? null : value.getTime())
  if (value instanceof Map) return tagged('Map', Array.from(value, inner))
  if (value instanceof Set) return tagged('Set', Array.from(value, inner))
  if (value instanceof Uint8Array) return tagged('Uint8Array', base64(value))
  const prototype: unknown = Object.getPrototypeOf(value)
  // Objects of another realm have another Object.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new TypeError(`${what}: an instance of ${nameOf(value)} cannot be sent; make it plain data first`)
  const properties = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(properties.map(([name, item]) => [name, inner(item)]))
}

/** As deep as the codec goes, tags included. */
const MAX_DEPTH = 64

function tagged(tag: string, body: unknown): object {
  return { $ku0: [tag, body] }
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

function nameOf(value: object): string {
  const { constructor } = value as { readonly constructor?: { readonly name?: unknown } }
  return typeof constructor?.name === 'string' ? constructor.name : 'a class'
}
