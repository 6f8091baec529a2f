import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromBase64, toBase64 } from '../../src/codec/base64.ts'

describe('base64 (RFC 4648)', () => {
  test.each([
    ['', ''],
    ['f', 'Zg=='],
    ['fo', 'Zm8='],
    ['foo', 'Zm9v'],
    ['foob', 'Zm9vYg=='],
    ['fooba', 'Zm9vYmE='],
    ['foobar', 'Zm9vYmFy'],
  ])('has the vectors of the specification: %j', (bytes, text) => {
    expect(toBase64(Buffer.from(bytes))).toBe(text)
    expect(fromBase64(text)).toStrictEqual(new Uint8Array(Buffer.from(bytes)))
  })

  test('writes what everybody reads, and reads it back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
        const text = toBase64(bytes)
        expect(text).toBe(Buffer.from(bytes).toString('base64'))
        expect(fromBase64(text)).toStrictEqual(new Uint8Array(bytes))
      }),
    )
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    expect(fromBase64(toBase64(all))).toStrictEqual(all)
  })

  test.each([
    'A',
    'AB',
    'ABC',
    'ABCDE',
    'A===',
    '====',
    '=',
    'AB=C',
    'A=BC',
    'A*I=',
    'AQI-',
    'AQI_',
    ' AQI',
    'AQé=',
    'AQ\u{1f600}',
  ])('has no bytes of what it would not write: %j', (text) => {
    expect(fromBase64(text)).toBeUndefined()
  })

  test('has no bytes of a text whose last digit says more than they hold', () => {
    expect([fromBase64('AQ=='), fromBase64('AQI=')]).toEqual([Uint8Array.of(1), Uint8Array.of(1, 2)])
    for (const text of ['AR==', 'Af==', 'AQJ=', 'AQL=']) expect(fromBase64(text)).toBeUndefined()
  })
})
