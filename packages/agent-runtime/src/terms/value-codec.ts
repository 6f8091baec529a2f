import {
  type ConfigProblem,
  describeError,
  isName,
  isRecord,
  nameRule,
  problemsIn,
  type RegisteredCodec,
  type Rules,
  type Seal,
  type ValueCodec,
  valueCodec,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { Codec, PayloadCodec } from '../api/codecs.ts'

/** Gives a codec the types of its class: `defineCodec({ class: Money, name: 'money', encode: (money) => …, decode: (data) => … })`. */
export function defineCodec<Value extends object, Data>(codec: Codec<Value, Data>): Codec {
  return codec
}

/** What programs give for their values. */
export interface ValueOptions {
  readonly codecs?: readonly Codec[] | undefined
  readonly payloadCodec?: PayloadCodec | undefined
}

/** How a program writes and reads values. Its options were checked. */
export function valuesOf({ codecs = [], payloadCodec }: ValueOptions): ValueCodec {
  return valueCodec(codecs.map(registered), payloadCodec && sealOf(payloadCodec))
}

/** What is wrong with the options. */
export function valueProblems({ codecs, payloadCodec }: Readonly<Record<string, unknown>>): ConfigProblem[] {
  return [...codecProblems(codecs), ...payloadCodecProblems(payloadCodec)]
}

function codecProblems(given: unknown): ConfigProblem[] {
  if (given === undefined) return []
  if (!Array.isArray(given))
    return [{ path: 'codecs', allowed: 'a list of { class, name, version, encode, decode }', given }]
  return given.flatMap((codec: unknown, index) => {
    const path = `codecs[${index}]`
    if (!isRecord(codec))
      return [{ path, allowed: 'an object { class, name, version, encode, decode }', given: codec }]
    const earlier = given.slice(0, index).filter(isRecord)
    const problems = problemsIn(codec, codecRules, {
      path: `${path}.`,
      required: ['class', 'name', 'encode', 'decode'],
    })
    if (earlier.some(({ name }) => name === codec['name']))
      problems.push({ path: `${path}.name`, allowed: 'a name that no other codec has', given: codec['name'] })
    if (earlier.some((other) => other['class'] === codec['class']))
      problems.push({
        path: `${path}.class`,
        allowed: 'a class that no other codec has',
        given: codec['class'],
      })
    return problems
  })
}

function payloadCodecProblems(given: unknown): ConfigProblem[] {
  if (given === undefined) return []
  const path = 'payloadCodec'
  if (!isRecord(given)) return [{ path, allowed: 'an object { encrypt, decrypt }', given }]
  const problems = problemsIn(given, payloadCodecRules, {
    path: `${path}.`,
    required: ['encrypt', 'decrypt'],
  })
  if (problems.length > 0) return problems
  const fault = faultOf(given as unknown as PayloadCodec)
  return fault === undefined ? [] : [{ path, allowed: fault, given }]
}

/** Tried once with a value: what does not work now would fail the first task. */
function faultOf(codec: PayloadCodec): string | undefined {
  try {
    const bytes = () => new TextEncoder().encode('"a value to try the codec with"')
    const [once, again]: readonly unknown[] = [codec.encrypt(bytes()), codec.encrypt(bytes())]
    if (!(once instanceof Uint8Array) || !(again instanceof Uint8Array))
      return 'encrypt must return a Uint8Array at once, not a promise'
    if (!isSame(once, again))
      return 'encrypt must return the same bytes for the same value: derive the nonce from the value, as the example in docs/security.md does'
    const back: unknown = codec.decrypt(new Uint8Array(once))
    if (!(back instanceof Uint8Array)) return 'decrypt must return a Uint8Array at once, not a promise'
    return isSame(back, bytes()) ? undefined : 'decrypt must return what was encrypted'
  } catch (error) {
    return `encrypt and decrypt must not throw for a value that they are tried with; they threw: ${describeError(error).message}`
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i])
}

function registered(codec: Codec): RegisteredCodec {
  const { class: of, name, version = 1 } = codec
  return {
    prototype: of.prototype,
    name,
    version,
    encode: (value) => codec.encode(value),
    decode: (data, stored) => codec.decode(data, stored),
  }
}

function sealOf(codec: PayloadCodec): Seal {
  return {
    seal: (text) => codec.encrypt(new TextEncoder().encode(text)),
    unseal: (bytes) => new TextDecoder('utf-8', { fatal: true }).decode(codec.decrypt(bytes)),
  }
}

const codecRules: Rules<Codec> = {
  class: ['a class', (value) => typeof value === 'function' && isRecord(value.prototype)],
  name: [`a name of ${nameRule[0]}`, isName],
  version: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  encode: ['a function (value) => data', (value) => typeof value === 'function'],
  decode: ['a function (data, version) => value', (value) => typeof value === 'function'],
}

const payloadCodecRules: Rules<PayloadCodec> = {
  encrypt: ['a function (bytes) => bytes', (value) => typeof value === 'function'],
  decrypt: ['a function (bytes) => bytes', (value) => typeof value === 'function'],
}
