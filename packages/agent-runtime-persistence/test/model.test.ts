import { join } from 'node:path'
import { ReferenceModel } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openStore } from '../src/index.ts'
import { Restart } from './model-commands.ts'
import { forkingLifeOf, lifeOf, losingLifeOf, sharingLifeOf, spendingLifeOf } from './model-lives.ts'
import { config, Real, seen, sharingConfigs } from './model-real.ts'
import { scratchFolder } from './scratch-folder.ts'
import { assertTables } from './tables.ts'

/** Quotas that something holds once every task has ended. */
async function heldAfterAll({ scene }: Real): Promise<readonly unknown[]> {
  const { tasks } = await scene.read({
    kind: 'tasks',
    filter: { states: ['queued', 'running', 'waiting'], limit: 1_000 },
  })
  for (const { taskId } of tasks) await scene.cancel(taskId)
  const { quotas } = await scene.read({ kind: 'stats' })
  return quotas.filter(({ queued, running }) => queued !== 0 || running !== 0)
}

/** How many random lives are played; more of them by MODEL_RUNS, others by MODEL_SEED. */
const runs = Number(process.env['MODEL_RUNS'] ?? 40)
const seed = Number(process.env['MODEL_SEED'] ?? 1)

describe('whatever is done to a store, it does what the reference model does (docs/reliability.md 3.2)', () => {
  test('in memory', { timeout: 600_000 }, async () => {
    const life = fc.assert(
      fc.asyncProperty(lifeOf([]), async (list) => {
        const real = new Real((given, environment) =>
          openStore('sqlite::memory:', { config: given, environment }),
        )
        await real.open()
        try {
          await fc.asyncModelRun(
            () => ({ model: new ReferenceModel(config, real.environment.clock.now()), real }),
            list,
          )
          expect(await heldAfterAll(real)).toEqual([])
        } finally {
          await real.scene.store.close()
        }
      }),
      { numRuns: runs, seed },
    )
    await expect(life).resolves.toBeUndefined()
  })

  test.each([
    ['in a file that is closed and opened again at any time', lifeOf, 2, [config]],
    ['and trees that spend their budgets', spendingLifeOf, 4, [config]],
    ['and tasks that are lost again and again', losingLifeOf, 2, [config]],
    ['and tasks that are forked again and again', forkingLifeOf, 2, [config]],
    ['and clients that share what slots there are', sharingLifeOf, 3, sharingConfigs],
  ] as const)('%s', { timeout: 600_000 }, async (_, kind, part, configs) => {
    const folder = scratchFolder()
    let files = 0
    await fc.assert(
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
          await real.open()
          try {
            await fc.asyncModelRun(
              () => ({ model: new ReferenceModel(given, real.environment.clock.now()), real }),
              list,
            )
            expect(await heldAfterAll(real)).toEqual([])
          } finally {
            await real.scene.store.close()
          }
          await assertTables(path, given)
        },
      ),
      { numRuns: Math.ceil(runs / part), seed },
    )
  })

  test('and all that can happen has happened', () => {
    const least: Readonly<Record<string, number>> = {
      accepted: 4,
      held: 0.5,
      deduplicated: 0.5,
      idempotency_conflict: 1,
      queue_full: 0.1,
      backpressure: 0.05,
      step: 1,
      memo: 0.2,
      completed: 0.5,
      failed: 0.5,
      retry: 0.5,
      forked: 0.8,
      retried: 0.2,
      'forked from a step': 0.2,
      edited: 0.1,
      'fork of a fork': 0.2,
      'child inherited': 0.05,
      'doubt inherited': 0.1,
      'rejection inherited': 0.02,
      'wait inherited': 0.1,
      'asked anew': 0.02,
      'fork: held': 0.05,
      'fork: idempotency_conflict': 0.05,
      'fork: already_exists': 0.02,
      'fork: not_editable': 0.2,
      'fork: not_over': 0.3,
      'fork: queue_full': 0.1,
      'fork: unknown_step': 0.3,
      'fork: unknown_task': 0.1,
      'of a client': 2,
      'client set': 0.4,
      'client removed': 0.02,
      'client busy': 0.1,
      charged: 0.1,
      'settled at its cost': 1,
      'clients wait side by side': 6,
      'before others': 0.4,
      'lifted by waiting': 0.02,
      breach: 0.2,
      'breach of a probe': 0.01,
      circuit_open: 0.2,
      probe: 0.1,
      'settled again': 0.3,
      'stale settle': 1,
      'stale step': 1,
      'stale release': 0.5,
      release: 0.5,
      wait: 0.5,
      'over at once': 0.3,
      stay: 0.1,
      woken: 0.02,
      'signal kept': 0.5,
      'signal in vain': 0.3,
      spawn: 0.5,
      'spawned before': 0.1,
      'spawn refused': 0.1,
      'stale spawn': 0.5,
      'parent told': 0.05,
      'canceled with its parent': 0.1,
      'child dropped': 0.05,
      'rejected while waiting': 0.1,
      'rejected while running': 0.08,
      'approved while waiting': 0.04,
      'verdict while parked': 0.02,
      'the last rejection': 0.3,
      'sent back by what had come': 0.05,
      'failed by what had come': 0.05,
      'made void': 0.02,
      'child made void': 0.05,
      'verdict in vain': 1,
      intent: 0.3,
      'failed try': 0.3,
      cancel: 1,
      parked: 0.5,
      unparked: 0.2,
      expired: 1,
      'suspect held': 0.4,
      edge: 2,
      drain: 0.3,
      remove: 0.3,
      restart: 0.4,
      named: 2,
      quota_exceeded: 0.3,
      spent: 0.2,
      blocked: 0.3,
      schedule: 1,
      fire: 0.5,
      'fire in vain': 0.3,
      'run refused': 0.1,
      'run skipped': 0.1,
      evaluated: 0.5,
      'evaluated before': 0.05,
      'evaluation conflict': 0.1,
      'evaluation full': 0.02,
      'evaluation forgotten': 0.02,
      budget: 0.2,
      'over budget': 0.02,
      'spawn refused: budget_exceeded': 0.02,
      'parked for a budget': 0.1,
      'budget exceeded': 0.3,
      continue: 0.02,
      stop: 0.02,
      'put back': 0.02,
      'line of time': 0.02,
    }
    if (seen.size === 0) return
    if (process.env['MODEL_RUNS'] !== undefined) console.log(Object.fromEntries(seen))
    const tooFew = Object.entries(least).flatMap(([what, perRun]) => {
      const times = seen.get(what) ?? 0
      return times < perRun * runs ? [`${what}: ${times} times in ${runs} runs`] : []
    })
    expect(tooFew).toEqual([])
  })
})
