import { expect, test } from 'vitest'
import { defaultLimits, limitsOf, maxFramesBytes } from '../src/limits.ts'

test('bodies and frames have room for the largest value of the store, and those that are given win', () => {
  expect(limitsOf({}, 1_048_576)).toEqual(defaultLimits)
  expect(limitsOf({}, 100)).toEqual(defaultLimits)
  expect(limitsOf({}, 20_000_000)).toEqual({
    ...defaultLimits,
    maxBodyBytes: 20_065_536,
    maxLineFrameBytes: 80_000_000,
    maxLineBufferBytes: 160_000_000,
  })
  const given = { maxBodyBytes: 5, maxLineFrameBytes: 70_000 }
  expect(limitsOf(given, 20_000_000)).toMatchObject(given)
})

test('for every size that a store may allow, the limits are within their own bounds', () => {
  for (const most of [1, 249_999_999, 250_000_001, 999_950_000, 1_000_000_000]) {
    const limits = limitsOf({}, most)
    expect(limitsOf(limits)).toEqual(limits)
    expect(limits.maxBodyBytes).toBeGreaterThanOrEqual(most)
    expect(limits.maxLineFrameBytes).toBeGreaterThanOrEqual(most)
  }
})

test('a request that carries frames has room for one that is all quotes', () => {
  const frame = JSON.stringify('"'.repeat(40_000))
  const limits = limitsOf({ maxLineFrameBytes: frame.length })
  expect(JSON.stringify({ frames: [frame], from: 0 }).length).toBeLessThanOrEqual(maxFramesBytes(limits))
})
