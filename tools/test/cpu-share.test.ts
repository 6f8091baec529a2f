import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allowanceOf, problemOfAll, shareOf } from '../cpu/share.ts'

const files = (...seconds: number[]) => seconds.map((it) => ({ file: 'some.test.ts', seconds: it }))

test('in a whole run a file may take 4 s, or more where all files take long', () => {
  expect(shareOf(files(1, 2, 4))).toBe(4)
  expect(shareOf(files(100, 200, 100))).toBeCloseTo(12)
})

test('the file that starts a browser may take 16 s, and no other', () => {
  const browser = 'packages/agent-runtime-console/app/test/console.test.ts'
  expect(allowanceOf(browser) * shareOf(files(1))).toBe(16)
  expect(existsSync(join(import.meta.dirname, '../..', browser))).toBe(true)
  expect(allowanceOf('some.test.ts')).toBe(1)
})

test('all quick tests together may take 230 s', () => {
  expect(problemOfAll(files(100, 80, 50))).toBeUndefined()
  expect(problemOfAll(files(100, 120, 70))).toMatch(
    /took 290 s of the processors together, 230 s are allowed/,
  )
})
