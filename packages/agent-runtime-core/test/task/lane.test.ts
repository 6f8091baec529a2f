import { describe, expect, test } from 'vitest'
import { isLane, laneFor, laneRank, lanes } from '../../src/task/lane.ts'
import { Lane } from '../../src/task/lane-schema.ts'

describe('lanes (docs/semantics.md 2.5, 3.3)', () => {
  test('3.3 interactive before normal before batch', () => {
    expect(lanes).toEqual(['interactive', 'normal', 'batch'])
    expect(lanes.toSorted((a, b) => laneRank[a] - laneRank[b])).toEqual([...lanes])
    expect(laneRank).toEqual({ interactive: 0, normal: 1, batch: 2 })
  })

  test('2.5 chat and run buttons are interactive, what an agent starts normal, timers and pipelines batch', () => {
    expect(laneFor('chat')).toBe('interactive')
    expect(laneFor('run_button')).toBe('interactive')
    expect(laneFor('agent')).toBe('normal')
    expect(laneFor('timer')).toBe('batch')
    expect(laneFor('pipeline')).toBe('batch')
  })

  test.each(['urgent', 'Interactive', '', 'constructor'])('%j is no lane', (name) => {
    expect([Lane.safeParse(name).success, isLane(name)]).toEqual([false, false])
  })

  test('each of the three is one', () => {
    expect(lanes.map(isLane)).toEqual([true, true, true])
  })
})
