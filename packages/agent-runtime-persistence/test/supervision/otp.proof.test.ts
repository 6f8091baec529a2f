import { expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { playSeeds } from './play-seeds.ts'

test('14.2 hundreds of random trees of supervisors start again what a model of OTP does', async () => {
  expect(await playSeeds(100, draws(100, 100, 2_000))).toEqual([])
})
