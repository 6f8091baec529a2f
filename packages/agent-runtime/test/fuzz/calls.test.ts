import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import * as everything from '../../src/index.ts'
import { callsOf } from './call.ts'
import { type Door, doors, endings, exported } from './calls.ts'
import { World } from './world.ts'

/** Other values by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const runs = Number(process.env['FUZZ_RUNS'] ?? draws(1, 3, 15))

/** Plays lists of calls, each on a runtime of its own; tells how often calls were answered, and refused. */
async function play(table: Readonly<Record<string, Door>>, calls: number, thread = false) {
  const told = { answered: 0, refused: 0, waits: 0 }
  const list = fc.array(callsOf(table), { minLength: calls, maxLength: calls, size: 'max' })
  await fc.assert(
    fc.asyncProperty(list, async (made) => {
      await using world = await World.make({ thread })
      for (const call of made) {
        try {
          told[await call.make(world)] += 1
        } catch (error) {
          throw new Error(`${String(call)}: ${(error as Error).message}`, { cause: error })
        }
      }
      await world.isWell()
    }),
    { seed, numRuns: runs, endOnFailure: true },
  )
  return told
}

/** The calls of a runtime, and those of its parts: `schedules.put`. */
function* callsIn(runtime: object): Iterable<string> {
  for (const name of methodsOf(runtime)) yield name
  for (const name of partsOf(runtime))
    for (const method of methodsOf((runtime as Readonly<Record<string, object>>)[name] ?? {}))
      yield `${name}.${method}`
}

/** Fields, and what is made when it is first asked for. */
function partsOf(whole: object): readonly string[] {
  const own = Object.entries(Object.getOwnPropertyDescriptors(whole))
  const prototype = Object.getPrototypeOf(whole) as object | null
  const inherited = prototype === null || prototype === Object.prototype ? [] : partsOf(prototype)
  const names = own
    .filter(([, it]) => it.get !== undefined || (typeof it.value === 'object' && it.value !== null))
    .map(([name]) => name)
  return [...new Set([...names, ...inherited])].filter((name) => !inner.has(name))
}

/** Public ones; those that other rooms of the house use are no calls. */
function methodsOf(it: object): readonly string[] {
  const own = Object.entries(Object.getOwnPropertyDescriptors(it))
  const prototype = Object.getPrototypeOf(it) as object | null
  const inherited = prototype === null || prototype === Object.prototype ? [] : methodsOf(prototype)
  const names = own.filter(([, { value }]) => typeof value === 'function').map(([name]) => name)
  return [...new Set([...names, ...inherited])].filter((name) => !inner.has(name))
}

const inner = new Set(
  'constructor info announce deadlines feed lifetime onFailed onHandlerStopped read shut stuck submissions traceOf'.split(
    ' ',
  ),
)

describe('any call is answered, or refused by an error of the house (docs/reliability.md 3.7)', () => {
  test('every call of a runtime is tried, and so is all that the package exports', async () => {
    await using world = await World.make()
    const values = Object.entries(everything).flatMap(([name, it]) =>
      typeof it === 'function' ? [name] : [],
    )
    const classes = values.filter((name) => /^[A-Z]/.test(name))
    expect(values.toSorted()).toEqual([...Object.keys(exported), ...classes].toSorted())
    expect([...callsIn(world.runtime)].toSorted()).toEqual(
      [...Object.keys(doors), ...Object.keys(endings)].toSorted(),
    )
  })

  test('calls of a runtime', async () => {
    const { answered, refused } = await play(doors, 60)
    expect(Math.min(answered, refused)).toBeGreaterThan(runs * 10)
  })

  test('calls of a runtime whose store has a thread of its own', async () => {
    const { answered, refused } = await play(doors, 30, true)
    expect(Math.min(answered, refused)).toBeGreaterThan(runs * 5)
  })

  test('the exports of the package', async () => {
    const { answered, refused } = await play(exported, 36)
    expect(Math.min(answered, refused)).toBeGreaterThan(runs * 5)
  })

  test('stop, which ends the runtime or is refused', async () => {
    await fc.assert(
      fc.asyncProperty(callsOf(endings), async (call) => {
        await using world = await World.make()
        const outcome = await call.make(world)
        const after = outcome === 'refused' ? world.isWell() : world.runtime.stats()
        expect([outcome, await after.catch(({ message }: Error) => message)]).toEqual(
          outcome === 'refused' ? ['refused', undefined] : ['answered', 'the runtime was stopped'],
        )
      }),
      { seed, numRuns: runs },
    )
  })
})
