import { describe, expect, test } from 'vitest'
import {
  normalize,
  pressureOf,
  profileConfigs,
  resistanceOf,
  scalarPressure,
  softAboveHard,
} from '../../src/index.ts'

describe('10.2 pressure is deviation from expectation', () => {
  test.each([
    [60_000, 60_000, 0],
    [5, 10, -0.4621],
    [11, 10, 0.0997],
    [18, 10, 0.664],
    [100, 10, 1],
  ])('10.2 normalize(%d, %d) is %d', (actual, baseline, pressure) => {
    expect(normalize(actual, baseline)).toBeCloseTo(pressure, 4)
  })

  test.each([
    [5, 0],
    [5, -1],
    [5, Number.NaN],
    [Number.NaN, 10],
  ])('10.2 normalize(%d, %d) says nothing', (actual, baseline) => {
    expect(normalize(actual, baseline)).toBe(0)
  })

  test('10.2 the same work presses a LIGHT route and not an EXTREME one', () => {
    const minute = { latencyMs: 60_000 }
    expect(pressureOf(minute, profileConfigs.LIGHT)).toEqual({ latency: 1, compute: 0, memory: 0 })
    expect(pressureOf(minute, profileConfigs.EXTREME)).toEqual({ latency: 0, compute: 0, memory: 0 })
    expect(pressureOf({ computeUs: 18 * 10, memoryBytes: 18 * 100 }, profileConfigs.LIGHT)).toEqual({
      latency: 0,
      compute: normalize(18, 10),
      memory: normalize(18, 10),
    })
  })

  test('10.6 the scalar is the length of the positive parts, over that of the largest vector', () => {
    expect(scalarPressure({ latency: 1, compute: 1, memory: 1 })).toBeCloseTo(1, 12)
    expect(scalarPressure({ latency: 0.6, compute: -1, memory: 0.8 })).toBeCloseTo(1 / Math.sqrt(3), 12)
    expect(scalarPressure({ latency: -1, compute: -0.5, memory: 0 })).toBe(0)
  })

  test('10.3, 10.5 resistance adds pressure, scar and what a soft limit costs', () => {
    expect(resistanceOf({ pressure: 0.25, scar: 0.5, overSoft: false })).toBe(0.75)
    expect(resistanceOf({ pressure: 0.25, scar: 0.5, overSoft: true })).toBe(1.75)
  })

  test('10.1 has the table of the RFC', () => {
    expect(profileConfigs).toEqual({
      LIGHT: row(10, 100, 1_000, 1_000, false),
      STANDARD: row(100, 10_000, 10_000_000, 30_000, false),
      HEAVY: row(5_000, 1_000_000, 100_000_000, 300_000, true),
      EXTREME: row(60_000, 30_000_000, 8_000_000_000, 3_600_000, true),
    })
  })

  test('10.5 a soft limit above the hard one is found', () => {
    expect(softAboveHard({ soft: { cpuTimeUs: 2, memoryBytes: 5 }, hard: { cpuTimeUs: 1 } })).toEqual([
      'cpuTimeUs',
    ])
    expect(softAboveHard({ soft: { durationMs: 1 }, hard: { durationMs: 1 } })).toEqual([])
  })
})

function row(
  baselineLatencyMs: number,
  baselineComputeUs: number,
  baselineMemoryBytes: number,
  maxDurationMs: number,
  heartbeatRequired: boolean,
) {
  return { baselineLatencyMs, baselineComputeUs, baselineMemoryBytes, maxDurationMs, heartbeatRequired }
}
