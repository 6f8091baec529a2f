import { describe, expect, test } from 'vitest'
import { decideLimits } from '../../src/profile/limits.ts'

const limits = {
  soft: { cpuTimeUs: 30_000_000, memoryBytes: 8_000_000_000 },
  hard: { cpuTimeUs: 60_000_000, memoryBytes: 16_000_000_000, durationMs: 1_000 },
}
const used = (cpuTimeUs: number, memoryBytes = 0, durationMs = 0) =>
  decideLimits({ cpuTimeUs, memoryBytes, durationMs }, limits)

describe('10.5 soft and hard limits', () => {
  test('10.5 a limit holds the amount itself', () => {
    expect(used(30_000_000, 8_000_000_000, 1_000)).toEqual({ as: 'within' })
  })

  test('10.5 above a soft limit it warns, above a hard one it stops', () => {
    expect(used(30_000_001)).toEqual({
      as: 'soft',
      amount: 'cpuTimeUs',
      used: 30_000_001,
      limit: 30_000_000,
    })
    expect(used(0, 0, 1_001)).toMatchObject({ as: 'hard', amount: 'durationMs' })
  })

  test('10.5 both in one sample: the hard one wins', () => {
    expect(used(40_000_000, 16_000_000_001)).toMatchObject({ as: 'hard', amount: 'memoryBytes' })
  })

  test('10.5 nothing is limited that is not named', () => {
    expect(decideLimits({ cpuTimeUs: 9e15, memoryBytes: 9e15, durationMs: 9e15 }, {})).toEqual({
      as: 'within',
    })
  })
})
