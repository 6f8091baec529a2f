import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import type { TestRuntime } from '../../src/testing/index.ts'
import { all } from '../virtual-runtime.ts'
import { crashEverywhere, playInMemory } from './programs/crash-everywhere.ts'
import { count, Life } from './programs/life.ts'
import { meaningOf } from './programs/meaning.ts'
import { tasksOf } from './programs/perform.ts'
import { behindAnApproval, type Program, program } from './programs/program.ts'
import { type Member, problemsOf, type Run } from './programs/verdict.ts'

/** How many random programs are crashed after each of their commits; more of them by PROGRAM_RUNS, others by PROGRAM_SEED. */
const runs = Number(process.env['PROGRAM_RUNS'] ?? draws(1, 14, 38))
const seed = Number(process.env['PROGRAM_SEED'] ?? 11)

/** What goes round in a circle is given up, and so is the search for a smaller program. A program takes 200 ms. */
const programMs = 60_000
const limitMs = 240_000 + runs * 5_000

/** What was played. */
export const played = { programs: 0, crashes: 0 }

/** Runs a program, then crashes it after every commit. Throws at the first run that is not as it has to be. */
const sweep = async (it: Program): Promise<void> => {
  played.crashes += await play(it, crashEverywhere)
  played.programs += 1
}

/** Runs a program, and what its memos make of it. Throws where that is not as it has to be. */
async function play<Result>(
  it: Program,
  plays: (sweep: Parameters<typeof crashEverywhere<unknown>>[0]) => Promise<Result>,
): Promise<Result> {
  const meaning = meaningOf(it)
  let life: Life | undefined
  let whole: Run | undefined
  const { root, child } = tasksOf(it, meaning, () => life as Life)
  const script = async (world: TestRuntime) => {
    life = new Life(world)
    return life.play(await world.runtime.submit(root, null), meaning)
  }
  const check = async (world: TestRuntime, outcome: unknown) => {
    const family = await Promise.all(
      (await world.runtime.list({ limit: 1_000 })).tasks.map(async (status): Promise<Member> => {
        const { taskId } = status
        return {
          status,
          history: await world.history(taskId),
          events: await all(world.runtime.events(taskId)),
        }
      }),
    )
    const { history, events } = family.at(-1) as Member
    const run: Run = { life: life as Life, outcome, history, events, family }
    whole ??= run
    if (meaning.end.as === 'threw') count('ended by throwing')
    expect([...problemsOf(run, it, meaning, whole)]).toEqual([])
    await replay(world, run)
  }
  /** Theorem 11: with all its memos in hand the handler comes to the same end, and no function that was recorded runs. */
  const replay = async (world: TestRuntime, run: Run) => {
    life = new Life(world)
    const outcome = await life.play(await world.runtime.fork(run.history.taskId), { ...meaning, signals: [] })
    expect([outcome, life.problems]).toEqual([run.outcome, []])
    const recorded = new Set(run.history.steps.flatMap((step) => ('result' in step ? [step.key] : [])))
    expect([...life.runs.keys()].filter((key) => recorded.has(key))).toEqual([])
    if (life.runs.size === 0 && recorded.size > 0) count('Theorem 11: replayed from memos alone')
  }
  return plays({ tasks: [root, child], script, check })
}

describe('random programs, crashed after every commit (docs/semantics.md 6.1, 7.1, 12)', () => {
  test(
    'A18 come to what they mean, whatever they were crashed after, and no recorded step runs again',
    {
      timeout: limitMs + 2 * programMs,
    },
    async () => {
      await fc.assert(fc.asyncProperty(program, sweep), {
        numRuns: runs,
        seed,
        examples: [[behindAnApproval]],
        timeout: programMs,
        interruptAfterTimeLimit: limitMs,
        markInterruptAsFailure: true,
      })
      expect(played.crashes).toBeGreaterThan(played.programs)
    },
  )

  test(
    'Theorem 11 in memory: each ends the same from its memos alone, and no function runs again',
    { timeout: limitMs },
    async () => {
      let lives = 0
      const once = async (it: Program) => {
        await play(it, playInMemory)
        lives += 1
      }
      await fc.assert(fc.asyncProperty(program, once), { numRuns: runs, seed: seed + 1, timeout: programMs })
      expect(lives).toBe(runs)
    },
  )
})
