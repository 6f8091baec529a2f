import { describe, expect, test } from 'vitest'
import { pathText } from '../../src/check/path.ts'

describe('the place within a value', () => {
  test('is written as in code', () => {
    expect(pathText([])).toBe('')
    expect(pathText(['a', 3, 'b c', '_d', '$e', '9', 'f9', ''])).toBe('.a[3]["b c"]._d.$e["9"].f9[""]')
    expect(pathText([Symbol('s')])).toBe('[Symbol(s)]')
  })
})
