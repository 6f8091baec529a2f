import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { Restart } from './model-commands.ts'
import { forkingLifeOf, lifeOf, losingLifeOf, sharingLifeOf, spendingLifeOf } from './model-lives.ts'
import { config, playLife, Real, sharingConfigs } from './model-real.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

/** How many random lives are played; more of them by MODEL_RUNS, others by MODEL_SEED. */
export const runs = Number(process.env['MODEL_RUNS'] ?? draws(1, 12, 40))
const seed = Number(process.env['MODEL_SEED'] ?? 1)

describe('a store does the same as the reference model for any operations (docs/reliability.md 3.2)', () => {
  test('in memory', { timeout: 600_000 }, async () => {
    const life = fc.assert(
      fc.asyncProperty(lifeOf([]), async (list) => {
        const real = new Real((given, environment) =>
          openStore('sqlite::memory:', { config: given, environment }),
        )
        await playLife(real, config, list)
      }),
      { numRuns: runs, seed },
    )
    await expect(life).resolves.toBeUndefined()
  })

  test.each(
    everyNth(
      [
        ['in a file that is closed and opened again at any time', lifeOf, 2, [config]],
        ['and trees that spend their budgets', spendingLifeOf, 4, [config]],
        ['and tasks that are lost again and again', losingLifeOf, 2, [config]],
        ['and tasks that are forked again and again', forkingLifeOf, 2, [config]],
        ['and clients that share what slots there are', sharingLifeOf, 3, sharingConfigs],
      ] as const,
      draws(3, 1),
    ),
  )('%s', { timeout: 600_000 }, async (_, kind, part, configs) => {
    const folder = scratchFolder()
    let files = 0
    const lives = fc.assert(
      fc.asyncProperty(
        kind([fc.constant(new Restart())]),
        fc.constantFrom(...configs),
        async (list, given) => {
          const path = join(folder, `${files++}.db`)
          const real = new Real(
            (own, environment) =>
              openStore(`sqlite:${path}`, { config: own, environment, durability: 'normal' }),
            given,
          )
          await playLife(real, given, list)
          await assertClosedStore(path, given)
        },
      ),
      { numRuns: Math.ceil(runs / part), seed },
    )
    await expect(lives).resolves.toBeUndefined()
  })
})
