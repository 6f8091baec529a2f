import { expect, test } from 'vitest'
import { operations, queries } from '../../src/checked/port-schema.ts'
import { runs, told } from './port.test.ts'

test('and each kind of call was answered, and many were refused', () => {
  const never = [...told].filter(([, { answered }]) => answered === 0)
  const refused = [...told.values()].reduce((total, counts) => total + counts.refused, 0)
  expect([told.size, never]).toEqual([operations.size + queries.size, []])
  expect(refused).toBeGreaterThan(runs * 10)
})
