import { describe, expect, test } from 'vitest'
import { exceeds, sizeOf } from '../../src/codec/text-size.ts'

describe('the size of a text', () => {
  test.each(['', 'a', '\u007F', '\u0080', '\u07FF', '\u0800', '\uFFFF', '😀', 'a😀é€'])(
    '%j is that of its bytes',
    (text) => {
      const size = new TextEncoder().encode(text).length
      expect(sizeOf(text)).toBe(size)
      expect([size - 1, size, size + 1].map((most) => exceeds(text, most))).toEqual([true, false, false])
    },
  )

  test.each([
    '\uD800',
    '\uDBFF',
    '\uDC00',
    '\uDFFF',
    '\uD800a',
    '\uD800\uD800',
    '\uDC00\uD800',
    '\uD800\uE000',
  ])('a half of a pair counts 3: %j', (text) => {
    expect(sizeOf(text)).toBe(new TextEncoder().encode(text).length)
  })
})
