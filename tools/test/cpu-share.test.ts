import { expect, test } from 'vitest'
import { shareOf } from '../cpu/share.ts'

test('in a whole run a file may take 4 s, or more where all files take long', () => {
  const files = (...seconds: number[]) => seconds.map((it) => ({ file: 'some.test.ts', seconds: it }))
  expect(shareOf(files(1, 2, 4))).toBe(4)
  expect(shareOf(files(100, 200, 100))).toBeCloseTo(12)
})
