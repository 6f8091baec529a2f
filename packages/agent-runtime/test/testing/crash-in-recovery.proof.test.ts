import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime, ProcessCrashed, type TestRuntime } from '../../src/testing/index.ts'

/** Steps in a row, side by side and in a branch, with waits between them; of every run of a function the attempt is kept. */
function counting() {
  const runs = new Map<string, readonly number[]>()
  const task = defineTask({ type: 'counting', input: z.null() }, async (ctx) => {
    const step = (key: string) =>
      ctx.step(key, () => {
        runs.set(key, [...(runs.get(key) ?? []), ctx.attempt])
        return key
      })
    const one = await step('one')
    await ctx.sleep('nap', 5_000)
    const two = await step('two')
    await ctx.checkpoint({ one, two })
    const { winner } = await ctx.race('race', {
      short: (c) => c.sleep('short', 5_000),
      long: (c) => c.sleep('long', 6_000),
    })
    const beside = await Promise.all(['three', 'four'].map(step))
    await ctx.sleep('rest', 5_000)
    return [one, two, winner, ...beside, await step('last')]
  })
  return { task, runs }
}

const result = ['one', 'two', 'short', 'three', 'four', 'last']

/** The result of the task, and whether its process crashed on the way there. */
async function ended(world: TestRuntime): Promise<boolean> {
  try {
    expect(await world.result('it')).toEqual(result)
    return false
  } catch (error) {
    if (!(error instanceof ProcessCrashed)) throw error
    await world.restart()
    return true
  }
}

/** A life that crashes after its kth commit, and again after the jth of the process that took over. Gives how often it crashed. */
async function crashTwice(k: number, j: number) {
  const { task, runs } = counting()
  await using world = await createTestRuntime({ tasks: [task], crashes: true })
  await world.runtime.submit(task, null, { taskId: 'it' })
  world.crashAfter(k)
  let crashes = 0
  if (await ended(world)) {
    crashes += 1
    world.crashAfter(j)
    if (await ended(world)) {
      crashes += 1
      await ended(world)
    }
  }
  const { steps } = await world.history('it')
  expect(steps.map(({ key }) => key).toSorted()).toEqual(['four', 'last', 'one', 'race', 'three', 'two'])
  // A function runs once in an attempt, and in none after the one in which its result was recorded.
  for (const { key, attempt } of steps) {
    const ran = runs.get(key) ?? []
    expect([key, ran]).toEqual([key, [...new Set(ran)].filter((it) => it <= attempt)])
  }
  return { commits: world.commits, crashes }
}

/** How many pairs of crashes are drawn; more of them by CRASH_PAIRS. */
const pairs = Number(process.env['CRASH_PAIRS'] ?? 40)

test(
  'A19 a crash that is followed by another in the recovery: the end is the same, and no step runs for nothing',
  { timeout: 60_000 + pairs * 500 },
  async () => {
    const { commits } = await crashTwice(1_000, 1)
    expect(commits).toBeGreaterThan(10)
    const random = new SeededRandom('again')
    let twice = 0
    for (let pair = 0; pair < pairs; pair++) {
      const { crashes } = await crashTwice(1 + random.int(commits - 1), 1 + random.int(6))
      if (crashes === 2) twice += 1
    }
    expect(twice).toBeGreaterThan(pairs / 2)
  },
)
