import { expect, test } from 'vitest'
import { pauseOf } from '../../src/queue/pause.ts'

test('a pause of a type keeps its tasks back, one of a lane all tasks of the lane', () => {
  const pauses = [
    { type: 'a', since: 1 },
    { lane: 'batch', since: 2 },
  ] as const
  const since = (type: string, lane: 'normal' | 'batch') => pauseOf(pauses, { type, lane })?.since
  expect([since('a', 'normal'), since('a', 'batch'), since('b', 'batch'), since('b', 'normal')]).toEqual([
    1,
    1,
    2,
    undefined,
  ])
})
