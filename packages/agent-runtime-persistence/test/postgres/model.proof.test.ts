import fc from 'fast-check'
import { expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { verifyStore } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { Restart } from '../model/model-commands.ts'
import { forkingLifeOf, lifeOf, losingLifeOf, sharingLifeOf, spendingLifeOf } from '../model/model-lives.ts'
import { config, playLife, Real, sharingConfigs } from '../model/model-real.ts'

/** A life takes seconds: each look of virtual time is a question to the server. */
const runs = Number(process.env['MODEL_RUNS'] ?? draws(1, 1, 6))
const seed = Number(process.env['MODEL_SEED'] ?? 1)

test.each([
  ['whose process ends and comes again', lifeOf, [config]],
  ['with trees that spend their budgets', spendingLifeOf, [config]],
  ['with tasks that are lost again and again', losingLifeOf, [config]],
  ['with tasks that are forked again and again', forkingLifeOf, [config]],
  ['with clients that share what slots there are', sharingLifeOf, sharingConfigs],
] as const)(
  'a store on PostgreSQL does the same as the reference model in lives %s (docs/reliability.md 3.2)',
  { timeout: 900_000 },
  async (_, kind, configs) => {
    const server = await sharedServer()
    const lives = fc.asyncProperty(
      kind([fc.constant(new Restart())]),
      fc.constantFrom(...configs),
      async (list, given) => {
        const url = server.newStore()
        const real = new Real((own, environment) => newPostgresStore(own, environment, url), given, quiet)
        await playLife(real, given, list)
        expect(await verifyStore(url)).toMatchObject({ ok: true, faults: [] })
      },
    )
    await expect(fc.assert(lives, { numRuns: runs, seed })).resolves.toBeUndefined()
  },
)
