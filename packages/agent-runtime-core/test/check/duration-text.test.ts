import { expect, test } from 'vitest'
import { durationText } from '../../src/check/duration-text.ts'

test('a duration is written in the largest unit that loses nothing, a single minute in seconds', () => {
  const written = [0, 500, 999, 1_000, 1_500, 60_000, 90_000, 120_000, 125_000, 7_200_000, 2_592_000_000]
  expect(written.map(durationText)).toEqual([
    '0 ms',
    '500 ms',
    '999 ms',
    '1 s',
    '1.5 s',
    '60 s',
    '90 s',
    '2 min',
    '125 s',
    '2 h',
    '30 d',
  ])
})
