import { expect, test } from 'vitest'
import { mistakesPage, unspaced } from '../mistakes.ts'

test('the mistakes of the first hours are answered in the words that the page has: else run tools/mistakes.ts', async () => {
  const { now, right } = await mistakesPage()
  expect(unspaced(right)).toBe(unspaced(now))
  expect(now.match(/^\| +\d+ \|/gm)).toHaveLength(75)
}, 300_000)
