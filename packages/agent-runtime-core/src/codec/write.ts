import { toBase64 } from './base64.ts'
import { PayloadTooLarge, StepNotSerializable } from '../error/errors.ts'
import { pathText } from '../check/path.ts'
import type { RegisteredCodec } from './class-codec.ts'

/** Writes one value in a single walk. `path` and `parents` are valid up to `depth` only. */
export class Writer {
  readonly #what: string
  readonly #maxLength: number
  readonly #maxDepth: number
  readonly #tags: boolean
  readonly #codecs: ReadonlyMap<unknown, RegisteredCodec> | undefined
  readonly #path: (string | number)[] = []
  readonly #parents: object[] = []
  #depth = 0
  #out = ''

  /** `codecs` are those of classes, by prototype. */
  constructor(
    what: string,
    maxLength: number,
    maxDepth: number,
    tags: boolean,
    codecs?: ReadonlyMap<unknown, RegisteredCodec>,
  ) {
    this.#what = what
    this.#maxLength = maxLength
    this.#maxDepth = maxDepth
    this.#tags = tags
    this.#codecs = codecs
  }

  text(value: unknown): string {
    try {
      this.#value(value)
    } catch (cause) {
      if (cause instanceof StepNotSerializable || cause instanceof PayloadTooLarge) throw cause
      this.#refuse('unreadable: reading it threw', cause)
    }
    return this.#out
  }

  #value(value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.#room(value.length)
        this.#out += quote(value)
        return
      case 'number':
        this.#number(value)
        return
      case 'boolean':
        this.#out += value ? 'true' : 'false'
        return
      case 'object':
        if (value === null) this.#out += 'null'
        else this.#object(value)
        return
      case 'undefined':
        this.#tag('"undefined"', 'undefined')
        return
      case 'bigint':
        this.#tag(`"BigInt","${value}"`, 'a BigInt')
        return
      case 'function':
        this.#refuse('a function')
      case 'symbol':
        this.#refuse('a symbol')
    }
  }

  #number(value: number): void {
    if (Object.is(value, -0)) {
      if (this.#tags) this.#tag('"Number","-0"', '-0')
      else this.#out += '0'
    } else if (Number.isFinite(value)) this.#out += value
    else this.#tag(`"Number","${value}"`, String(value))
  }

  #object(value: object): void {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Object.prototype) this.#plain(value as Record<string, unknown>)
    else if (Array.isArray(value) && isArrayPrototype(prototype)) this.#array(value)
    else if (isObjectPrototype(prototype)) this.#plain(value as Record<string, unknown>)
    else this.#special(value, prototype)
  }

  #plain(value: Record<string, unknown>): void {
    const symbol = Object.getOwnPropertySymbols(value).find((key) => isEnumerable(value, key))
    if (symbol !== undefined) this.#refuse(`an object with a symbol as a key: ${String(symbol)}`)
    const keys = Object.keys(value)
    if (!this.#tags || !keys.includes(TAG)) this.#entries(value, keys)
    else {
      this.#out += `{"${TAG}":["Object",`
      this.#entries(value, keys)
      this.#out += ']}'
    }
  }

  #entries(value: Record<string, unknown>, keys: string[], self: object = value): void {
    if (!isSorted(keys)) keys.sort()
    this.#descend(self)
    let mark = '{'
    for (const key of keys) {
      this.#room(key.length)
      this.#path[this.#depth - 1] = key
      const property = value[key]
      if (property === undefined && !this.#tags) continue
      this.#out += `${mark}${quote(key)}:`
      this.#value(property)
      mark = ','
    }
    this.#out += mark === '{' ? '{}' : '}'
    this.#depth -= 1
  }

  #array(value: readonly unknown[], self: object = value): void {
    this.#descend(self)
    this.#out += '['
    for (let i = 0; i < value.length; i += 1) {
      this.#room(1)
      this.#path[this.#depth - 1] = i
      const item = value[i]
      if (item === undefined && !Object.hasOwn(value, i)) this.#refuse('a hole in an array')
      if (i > 0) this.#out += ','
      this.#value(item)
    }
    this.#out += ']'
    this.#depth -= 1
  }

  #special(value: object, prototype: unknown): void {
    if (!this.#tags) this.#refuse(kindOf(value))
    const codec = this.#codecs?.get(prototype)
    if (codec !== undefined) this.#coded(value, codec)
    else if (prototype === Date.prototype) {
      const time = (value as Date).getTime()
      this.#tag(`"Date",${Number.isNaN(time) ? 'null' : time}`, 'a Date')
    } else if (prototype === Uint8Array.prototype) {
      this.#room((value as Uint8Array).length)
      this.#tag(`"Uint8Array","${toBase64(value as Uint8Array)}"`, 'bytes')
    } else if (prototype === Map.prototype) this.#map(value as Map<unknown, unknown>)
    else if (prototype === Set.prototype) {
      this.#out += `{"${TAG}":["Set",`
      this.#array([...(value as Set<unknown>)], value)
      this.#out += ']}'
    } else if (value instanceof Error) this.#error(value)
    else this.#refuse(kindOf(value))
  }

  #coded(value: object, { name, version, encode }: RegisteredCodec): void {
    this.#descend(value)
    this.#path[this.#depth - 1] = `encoded by '${name}'`
    let data: unknown
    try {
      data = encode(value)
    } catch (cause) {
      this.#refuse(`${kindName(value)}, whose codec '${name}' threw`, cause)
    }
    this.#out += `{"${TAG}":["Codec",${quote(name)},${version},`
    this.#value(data)
    this.#out += ']}'
    this.#depth -= 1
  }

  #map(value: Map<unknown, unknown>): void {
    this.#descend(value)
    this.#out += `{"${TAG}":["Map",[`
    let i = 0
    for (const [key, item] of value) {
      this.#path[this.#depth - 1] = i
      this.#out += i === 0 ? '[' : ',['
      this.#value(key)
      this.#out += ','
      this.#value(item)
      this.#out += ']'
      i += 1
    }
    this.#out += ']]}'
    this.#depth -= 1
  }

  #error(value: Error): void {
    const own = Object.entries(value).filter(([key]) => key !== 'stack')
    const fields: Record<string, unknown> = Object.fromEntries(own)
    fields['name'] = textOr(value.name, 'Error')
    fields['message'] = textOr(value.message, '')
    for (const key of hiddenFields) if (Object.hasOwn(value, key)) fields[key] = value[key as 'cause']
    this.#out += `{"${TAG}":["Error",`
    this.#entries(fields, Object.keys(fields), value)
    this.#out += ']}'
  }

  #tag(body: string, kind: string): void {
    if (!this.#tags) this.#refuse(kind)
    this.#out += `{"${TAG}":[${body}]}`
  }

  #descend(value: object): void {
    if (this.#depth === this.#maxDepth) this.#refuseDepth(value)
    this.#parents[this.#depth] = value
    this.#depth += 1
  }

  /**
   * Cycles are looked for only when the depth limit is reached, which every cycle reaches; other values do
   * not pay for the check.
   */
  #refuseDepth(value: object): never {
    const seen = new Map<object, number>()
    for (const [depth, parent] of [...this.#parents, value].entries()) {
      const before = seen.get(parent)
      seen.set(parent, depth)
      if (before === undefined) continue
      const again = `$${pathText(this.#path.slice(0, before))}`
      this.#depth = depth
      this.#refuse(`${again} again: the value contains itself`)
    }
    this.#refuse(`nested more than ${this.#maxDepth} levels deep`)
  }

  /** Breaks off before the text is longer than it may be, whatever it would cost to go on. */
  #room(length: number): void {
    const size = this.#out.length + length
    if (size > this.#maxLength) throw new PayloadTooLarge({ what: this.#what, limit: this.#maxLength, size })
  }

  #refuse(reason: string, cause?: unknown): never {
    const path = `$${pathText(this.#path.slice(0, this.#depth))}`
    const value = { step: this.#what, path, reason }
    throw new StepNotSerializable(cause === undefined ? value : { ...value, cause })
  }
}

/** The one key that marks what JSON lacks. */
export const TAG = '$ku0'

/** The properties of built-in errors that are not enumerable. */
export const hiddenFields = ['cause', 'errors']

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}

function isEnumerable(value: object, key: symbol): boolean {
  return Object.prototype.propertyIsEnumerable.call(value, key)
}

/** True for no prototype, this realm's, or another realm's (an object made in `node:vm`). */
function isObjectPrototype(prototype: unknown): boolean {
  if (prototype === null || prototype === Object.prototype) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'hasOwnProperty')
}

/** This realm's or another's; a subclass has a longer chain. */
function isArrayPrototype(prototype: unknown): boolean {
  if (prototype === Array.prototype) return true
  return prototype !== null && isObjectPrototype(Object.getPrototypeOf(prototype))
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i += 1) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return false
  }
  return true
}

function quote(text: string): string {
  return JSON.stringify(text)
}

/** The kind of value that is refused, and what to do instead. */
function kindOf(value: object): string {
  const { then, pipe, getReader } = value as Record<string, unknown>
  if (typeof then === 'function') return 'a promise: await it first'
  if (typeof pipe === 'function' || typeof getReader === 'function') return 'a stream: read it first'
  if (value instanceof Uint8Array) return `${kindName(value)}: give new Uint8Array(it)`
  return `${kindName(value)}: give plain data`
}

function kindName({ constructor }: object): string {
  const name = typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class'
  return `an instance of ${name}`
}
