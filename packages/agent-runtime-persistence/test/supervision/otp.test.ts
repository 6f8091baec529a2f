import { expect, test } from 'vitest'
import { playSeeds } from './play-seeds.ts'

test('14.2 random trees of supervisors start again what a model of OTP does', async () => {
  expect(await playSeeds(12, 12)).toEqual([])
})
