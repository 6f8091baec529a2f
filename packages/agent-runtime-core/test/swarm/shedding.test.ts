import { describe, expect, test } from 'vitest'
import { decideShedding, decideSpawn, sharedRest, swarmPressure } from '../../src/swarm/shedding.ts'

const agents = (...pressures: readonly number[]) =>
  pressures.map((pressure, order) => ({ pressure, order, laneRank: 1 }))
const limits = { maxAgents: 10, threshold: 0.8 }

describe('10.6 swarms', () => {
  test('10.6 the pressure of [0.2, 0.4, 0.9] is 0.5, the maximum 0.9', () => {
    const { mean, max } = swarmPressure(agents(0.2, 0.4, 0.9))
    expect(mean).toBeCloseTo(0.5, 12)
    expect(max).toBe(0.9)
    expect(swarmPressure([])).toEqual({ mean: 0, max: 0 })
  })

  test('10.6 the eleventh of ten is one too many', () => {
    expect(decideSpawn(agents(0, 0, 0, 0, 0, 0, 0, 0, 0), limits)).toBe('admitted')
    expect(decideSpawn(agents(0, 0, 0, 0, 0, 0, 0, 0, 0, 0), limits)).toBe('swarm_full')
  })

  test('10.6 above the threshold nothing is spawned, at it something is', () => {
    expect(decideSpawn(agents(0.8, 0.8), limits)).toBe('admitted')
    expect(decideSpawn(agents(0.8, 0.81), limits)).toBe('swarm_overloaded')
  })

  test('10.6 the lowest lane is shed first, of one lane the youngest, and never the last', () => {
    const mixed = [
      { pressure: 0.9, order: 1, laneRank: 2 },
      { pressure: 0.9, order: 2, laneRank: 2 },
      { pressure: 0.9, order: 3, laneRank: 1 },
    ]
    expect(decideShedding(mixed, 0.8)).toBe(mixed[1])
    expect(decideShedding(mixed.slice(1), 0.8)).toBe(mixed[1])
    expect(decideShedding(mixed.slice(2), 0.8)).toBeUndefined()
    expect(decideShedding(mixed, 0.9)).toBeUndefined()
  })

  test('10.6 CPU time of the finished counts, memory of the living does, and promises are kept back', () => {
    const share = { computeUs: 10, memoryBytes: 5, promisedCpuUs: null, promisedMemoryBytes: null }
    const promised = { ...share, promisedCpuUs: 40, promisedMemoryBytes: 2 }
    const total = { totalCpuTimeUs: 100, totalMemoryBytes: 20 }
    expect(sharedRest([share, promised], total, 25)).toEqual({ cpuTimeUs: 25, memoryBytes: 10 })
    // What is promised beyond what is held is kept back, too.
    expect(sharedRest([{ ...promised, promisedMemoryBytes: 7 }], total, 0)).toEqual({
      cpuTimeUs: 60,
      memoryBytes: 13,
    })
    expect(sharedRest([share], {}, 25)).toEqual({ cpuTimeUs: Infinity, memoryBytes: Infinity })
  })
})
