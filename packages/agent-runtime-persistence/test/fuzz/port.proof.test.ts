import { expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { operations, queries } from '../../src/checked/port-schema.ts'
import { runs, told } from './port.test.ts'

test('each kind of call was answered, and many were refused', () => {
  const never = [...told].filter(([, { answered }]) => answered === 0)
  const refused = [...told.values()].reduce((total, counts) => total + counts.refused, 0)
  // A checkpoint is written and read under one name.
  const kinds = new Set<unknown>([...operations.keys(), ...queries.keys()])
  expect([...kinds].filter((kind) => !told.has(kind as never))).toEqual([])
  // A call with many fields is seldom drawn right: with few draws some kinds may be refused each time.
  expect(never.slice(draws(4, 4, 0))).toEqual([])
  expect(refused).toBeGreaterThan(runs * 10)
})
