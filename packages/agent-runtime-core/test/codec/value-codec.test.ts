import { describe, expect, test } from 'vitest'
import type { RegisteredCodec, Seal } from '../../src/codec/class-codec.ts'
import { decode, encode, MAX_DEPTH, plainValues, valueCodec } from '../../src/codec/codec.ts'
import { PayloadTooLarge } from '../../src/error/errors.ts'

class Money {
  readonly cents: number

  constructor(cents: number) {
    this.cents = cents
  }
}
class Euro extends Money {}

const what = "step 'pay'"
const money: RegisteredCodec = {
  prototype: Money.prototype,
  name: 'money',
  version: 2,
  encode: (value) => ({ cents: (value as Money).cents }),
  decode: (data, version) =>
    new Money((data as { readonly cents: number }).cents * (version === 1 ? 100 : 1)),
}
/** Each code unit of a text is one more. */
const seal: Seal = {
  seal: (text) => Uint8Array.from(text, (it) => it.charCodeAt(0) + 1),
  unseal: (bytes) => Array.from(bytes, (it) => String.fromCharCode(it - 1)).join(''),
}
const sealedText = (text: string) =>
  `{"$ku0":["Sealed","${Buffer.from(seal.seal(text)).toString('base64')}"]}`
const invalid = (reason: string) =>
  expect.objectContaining({
    code: 'invalid_encoding',
    message: `a stored value was not written by the codec: ${reason}`,
  })
const unreadable = (reason: string, cause?: unknown) =>
  expect.objectContaining({
    code: 'value_unreadable',
    message: `a stored value cannot be read: ${reason}`,
    details: { reason },
    ...(cause === undefined ? {} : { cause }),
  })
const thrownBy = (body: () => unknown): unknown => {
  try {
    return { returned: body() }
  } catch (error) {
    return error
  }
}

describe('values with codecs of classes', () => {
  const values = valueCodec([money])
  const text = '{"a":[{"$ku0":["Codec","money",2,{"cents":150}]}]}'

  test('7.4 an instance is written with the name and the version of its codec, and read by it', () => {
    expect(values.encode({ a: [new Money(150)] }, { what })).toBe(text)
    expect(values.encodeFields({ a: [new Money(150)] }, { what })).toBe(text)
    const back = values.decode(text)
    expect(back).toEqual({ a: [new Money(150)] })
    expect((back as { readonly a: readonly unknown[] }).a[0]).toBeInstanceOf(Money)
    expect(values.decode(text.replace('2,', '1,'))).toEqual({ a: [new Money(15_000)] })
  })

  test('7.4 without codecs and a seal values are plain', () => {
    expect(valueCodec([])).toBe(plainValues)
    expect(valueCodec([money])).not.toBe(plainValues)
    expect(valueCodec([], seal)).not.toBe(plainValues)
  })

  test('7.4 a subclass has no codec, and a class without one is refused', () => {
    expect(() => values.encode(new Euro(1), { what })).toThrow('is an instance of Euro: give plain data')
    expect(() => encode(new Money(1), { what })).toThrow('is an instance of Money: give plain data')
  })

  test('7.4 a codec that throws as it writes is named with the place, and what it gives is looked at', () => {
    const failure = new Error('no')
    const throwing = valueCodec([
      {
        ...money,
        encode: () => {
          throw failure
        },
      },
    ])
    const error = thrownBy(() => throwing.encode({ a: new Money(1) }, { what }))
    expect(error).toMatchObject({ code: 'step_not_serializable', cause: failure })
    expect(String(error)).toContain("an instance of Money, whose codec 'money' threw")
    const holding = valueCodec([{ ...money, encode: () => ({ b: () => 1 }) }])
    expect(() => holding.encode([new Money(1)], { what })).toThrow("encoded by 'money'")
    const turning = valueCodec([{ ...money, encode: (value) => [value] }])
    expect(() => turning.encode(new Money(1), { what })).toThrow('the value contains itself')
  })

  test('7.4 instances count as a level of the value, and side by side they are not one in the other', () => {
    const many = Array.from({ length: MAX_DEPTH * 2 }, () => new Money(1))
    expect(values.decode(values.encode(many, { what }))).toEqual(many)
    let deep: unknown = new Money(1)
    for (let level = 0; level < MAX_DEPTH; level += 1) deep = [deep]
    expect(() => values.encode(deep, { what })).toThrow(/64/)
  })

  test('7.4 a value of a codec that is not there, is older, or throws cannot be read, and says so', () => {
    const wanted = "codec 'money' in version 2"
    const missing = unreadable(`it needs ${wanted}, which this program does not register`)
    expect(thrownBy(() => decode(text))).toEqual(missing)
    expect(Object.hasOwn(thrownBy(() => decode(text)) as Error, 'cause')).toBe(false)
    expect(thrownBy(() => valueCodec([{ ...money, name: 'other' }]).decode(text))).toEqual(missing)
    expect(thrownBy(() => valueCodec([{ ...money, version: 1 }]).decode(text))).toEqual(
      unreadable(`it needs ${wanted}, and this program registers version 1`),
    )
    const failure = new Error('no')
    const throwing = valueCodec([
      {
        ...money,
        decode: () => {
          throw failure
        },
      },
    ])
    expect(thrownBy(() => throwing.decode(text))).toEqual(unreadable(`${wanted} threw: no`, failure))
  })

  test.each([
    '["Codec","money",2]',
    '["Codec",1,2,3]',
    '["Codec","money","2",3]',
    '["Codec","money",1.5,3]',
    '["Codec","money",2,3,4]',
  ])('7.4 %s is no instance', (tag) => {
    expect(thrownBy(() => values.decode(`{"$ku0":${tag}}`))).toEqual(
      invalid('the tag "Codec" has no name, version and data'),
    )
  })

  test('7.4 the data of an instance are values, too', () => {
    const dated = valueCodec([
      { ...money, encode: () => new Date(5), decode: (data) => new Money((data as Date).getTime()) },
    ])
    expect(dated.decode(dated.encode(new Money(1), { what }))).toEqual(new Money(5))
  })
})

describe('values with a seal', () => {
  const values = valueCodec([money], seal)

  test('7.4 a text is sealed as a whole, and read with the same seal', () => {
    const text = values.encode({ a: new Money(1) }, { what })
    expect(text).toBe(sealedText('{"a":{"$ku0":["Codec","money",2,{"cents":1}]}}'))
    expect(values.decode(text)).toEqual({ a: new Money(1) })
    expect(values.decode('{"b":1}')).toEqual({ b: 1 })
  })

  test('7.4 fields are sealed one by one, in the order of their names, except the open ones', () => {
    const fields = { b: 'secret', a: new Date(1), c: 3 }
    const text = values.encodeFields(fields, { what, open: ['a'] })
    expect(text).toBe(`{"a":{"$ku0":["Date",1]},"b":${sealedText('"secret"')},"c":${sealedText('3')}}`)
    expect(values.decode(text)).toEqual(fields)
    expect(values.encodeFields({ x: 1 }, { what })).toBe(`{"x":${sealedText('1')}}`)
    const tagged = values.encodeFields({ $ku0: 1, a: 2 }, { what, open: ['$ku0', 'a'] })
    expect(tagged).toBe('{"$ku0":["Object",{"$ku0":1,"a":2}]}')
    expect(values.decode(tagged)).toEqual({ $ku0: 1, a: 2 })
  })

  test('7.5 limits count what is stored', () => {
    const sealed = values.encode('abcdef', { what })
    const size = sealed.length
    expect(values.encode('abcdef', { what, maxBytes: size })).toBe(sealed)
    expect(thrownBy(() => values.encode('abcdef', { what, maxBytes: size - 1 }))).toEqual(
      new PayloadTooLarge({ what, limit: size - 1, size }),
    )
    const fields = values.encodeFields({ a: 1 }, { what })
    expect(values.encodeFields({ a: 1 }, { what, maxBytes: fields.length })).toBe(fields)
    expect(thrownBy(() => values.encodeFields({ a: 1 }, { what, maxBytes: fields.length - 1 }))).toEqual(
      new PayloadTooLarge({ what, limit: fields.length - 1, size: fields.length }),
    )
  })

  test('7.4 sealed text cannot be read without a seal, with another one, or when it is no text of a value', () => {
    const text = values.encode(1, { what })
    const none = unreadable('it is encrypted, and this program has no payloadCodec')
    expect(thrownBy(() => decode(text))).toEqual(none)
    expect(thrownBy(() => valueCodec([money]).decode(text))).toEqual(none)
    const failure = new Error('bad key')
    const other = valueCodec([], {
      ...seal,
      unseal: () => {
        throw failure
      },
    })
    expect(thrownBy(() => other.decode(text))).toEqual(
      unreadable('payloadCodec.decrypt threw, as it does with another key: bad key', failure),
    )
    const wrong = valueCodec([], { ...seal, unseal: () => 'no json' })
    expect(thrownBy(() => wrong.decode(text))).toEqual(
      unreadable('what payloadCodec.decrypt returned is not what was encrypted', expect.any(SyntaxError)),
    )
  })

  test('7.4 a sealed text may hold another one, up to the depth of a value', () => {
    expect(values.decode(sealedText(sealedText('1')))).toBe(1)
    let turns = 0
    const endless = valueCodec([], {
      seal: seal.seal,
      unseal: () => {
        turns += 1
        return '{"$ku0":["Sealed","AA=="]}'
      },
    })
    expect(thrownBy(() => endless.decode(sealedText('1')))).toMatchObject({ code: 'invalid_encoding' })
    expect(turns).toBeLessThan(MAX_DEPTH * 8 + 1)
  })

  test.each(['1', '"no base64!"'])('7.4 a seal around %s holds no bytes', (body) => {
    expect(thrownBy(() => values.decode(`{"$ku0":["Sealed",${body}]}`))).toEqual(
      invalid(body === '1' ? 'the tag "Sealed" holds 1' : 'the tag "Sealed" holds no bytes'),
    )
  })
})
