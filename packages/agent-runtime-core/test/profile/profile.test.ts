import { describe, expect, test } from 'vitest'
import { domainWeights } from '../../src/evaluation/evaluation.ts'
import { limitedAmounts, needsAbortController, softAboveHard } from '../../src/profile/profile.ts'
import { workloadProfiles } from '../../src/profile/classes.ts'
import { isSameTiming, runKeyOf } from '../../src/schedule/schedule.ts'

describe('a workload profile (docs/semantics.md 10.1)', () => {
  test('brings something that can stop it where it is heavy or extreme', () => {
    expect(workloadProfiles.filter(needsAbortController)).toEqual(['HEAVY', 'EXTREME'])
  })

  test('has soft limits that could never warn where they are above the hard ones', () => {
    for (const name of limitedAmounts) {
      const limits = (soft: number | undefined, hard: number | undefined) =>
        softAboveHard({
          ...(soft === undefined ? {} : { soft: { [name]: soft } }),
          ...(hard === undefined ? {} : { hard: { [name]: hard } }),
        })
      expect([
        limits(5, 5),
        limits(5, undefined),
        limits(undefined, 5),
        limits(undefined, undefined),
      ]).toEqual([[], [], [], []])
      expect(limits(6, 5)).toEqual([name])
    }
    const both = {
      soft: { cpuTimeUs: 2, memoryBytes: 1, durationMs: 3 },
      hard: { cpuTimeUs: 1, memoryBytes: 1, durationMs: 2 },
    }
    expect(softAboveHard(both)).toEqual(['cpuTimeUs', 'durationMs'])
  })
})

test('the weights of each domain are 1 in all (docs/semantics.md 15.1)', () => {
  for (const weights of Object.values(domainWeights))
    expect(Object.values(weights).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12)
})

describe('the times of a schedule', () => {
  const cron = (expression: string, timeZone = 'UTC') => ({ cron: expression, timeZone })
  const every = (everyMs: number, anchorAt = 0) => ({ everyMs, anchorAt })

  test('are the same by one expression in one zone, or one interval, wherever that is anchored', () => {
    expect(isSameTiming(cron('0 * * * *'), cron('0 * * * *'))).toBe(true)
    expect(isSameTiming(every(5, 1), every(5, 2))).toBe(true)
  })

  test('are not the same by another expression, zone, interval or kind', () => {
    expect(isSameTiming(cron('0 * * * *'), cron('1 * * * *'))).toBe(false)
    expect(isSameTiming(cron('0 * * * *'), cron('0 * * * *', 'Europe/Rome'))).toBe(false)
    expect(isSameTiming(every(5), every(6))).toBe(false)
    expect(isSameTiming(cron('0 * * * *'), every(5))).toBe(false)
    expect(isSameTiming(every(5), cron('0 * * * *'))).toBe(false)
  })

  test('run once each: a time has one key', () => {
    expect(runKeyOf('daily', 5)).toBe('schedule:daily:5')
  })
})
