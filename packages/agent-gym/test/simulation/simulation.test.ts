import { expect, test } from 'vitest'
import { plants } from '../../src/simulation/plants.ts'
import { simulate } from '../../src/simulation/simulate.ts'

test('I21 a simulated life keeps every rule, and is the same again', async () => {
  const { hash, violations } = await simulate(3)
  expect(violations).toEqual([])
  expect((await simulate(3)).hash).toBe(hash)
})

test('a planted bug breaks a rule in a simulated life: a cancel that is lost', async () => {
  const { violations } = await simulate(1, { plant: plants['a cancel that is lost']!, until: 'I18' })
  expect(violations.map(({ rule }) => rule)).toContain('I18')
})
