import { expect, test } from 'vitest'
import { withoutUndefined } from '../../src/check/without-undefined.ts'

test('a field that is undefined is absent, and all others stay', () => {
  expect(withoutUndefined({ a: undefined, b: null, c: 0, d: '' })).toStrictEqual({ b: null, c: 0, d: '' })
})
