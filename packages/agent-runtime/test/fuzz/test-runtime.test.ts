import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { fields, hostile, mostly, piece, values } from '../../../agent-runtime-core/test/fuzz/pieces.ts'
import { defineTask, type Schema } from '../../src/index.ts'
import * as everything from '../../src/testing/index.ts'
import { callsOf } from './call.ts'
import type { Door } from './calls.ts'

const { createTestRuntime, CrashSweepFailed, ProcessCrashed, replayHistory, sweepCrashes, TaskStuck } =
  everything
type TestRuntime = everything.TestRuntime

/** Other values by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const numRuns = Number(process.env['FUZZ_RUNS'] ?? draws(1, 6, 15))

const any: Schema = { '~standard': { version: 1, vendor: 'fuzz', validate: (value) => ({ value }) } }
const echo = defineTask({ type: 'echo', input: any, retry: { attempts: 1 } }, (_, input) => input)
const steps = defineTask({ type: 'steps', input: any }, async (ctx) => {
  await ctx.step('one', () => 1)
  await ctx.sleep('nap', 60_000)
  return ctx.step('two', () => 2)
})
const waits = defineTask({ type: 'waits', input: any }, (ctx) => ctx.waitForSignal('never'))
const tasks = [echo, steps, waits]

const type = mostly(values('echo', 'steps', 'nobody runs this'), fc.constant(piece('steps', () => steps)))
const task = mostly(values('ended', 'ended', 'parked', 'napping', 'nobody'))
const ms = mostly(values(0, 1, 30_000), fc.constant(piece('a date', () => new Date('2027-01-01'))))
const options = fields({
  seed: mostly(values('a', 1)),
  now: mostly(values(0, 1_900_000_000_000)),
  patienceMs: mostly(values(0, 1, 10)),
  crashes: mostly(values(true, false)),
  crashAfterCommit: mostly(values(1, 5)),
  workers: mostly(values(0, 1, 2)),
  config: mostly(values({}, { leaseTtlMs: 40_000 })),
})
const definition = mostly(...tasks.map((it) => fc.constant(piece(it.type, () => it))))

/** What a function of the test's own throws is the test's own. */
async function theirs(call: () => Promise<unknown>): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof Error) || error.name === 'Error' || error.name === 'TypeError') return
    throw error
  }
}

/** What a test meets besides: the end of its process, and a task that nothing brings on. */
function told(call: () => unknown): Promise<void> {
  return Promise.resolve()
    .then(call)
    .then(
      () => undefined,
      (error: unknown) => {
        if ([ProcessCrashed, TaskStuck, CrashSweepFailed].some((Class) => error instanceof Class)) return
        throw error
      },
    )
}

/** Calls of a test's runtime, by name. */
const doors: Readonly<Record<string, Door<TestRuntime>>> = {
  run: {
    given: [type, hostile, fields({ taskId: mostly(values('mine')), delayMs: mostly(values(1_000)) })],
    open: (it, ...given: never[]) => told(() => it.run(...(given as unknown as [string, unknown]))),
  },
  result: { given: [task], open: (it, id: never) => told(() => it.result(id)) },
  until: {
    given: [task, mostly(values('completed', 'waiting', 'queued', 'done'))],
    open: (it, id: never, state: never) => {
      const call = () => told(() => it.until(id, state))
      return typeof state === 'function' ? theirs(call) : call()
    },
  },
  advance: { given: [ms], open: (it, by: never) => told(() => it.advance(by)) },
  settle: { given: [], open: (it) => told(() => it.settle()) },
  history: { given: [task], open: (it, id: never) => told(async () => String(await it.history(id))) },
  record: { given: [task], open: (it, id: never) => told(() => it.record(id)) },
  crash: { given: [], open: (it) => told(() => it.crash()) },
  crashAfter: { given: [mostly(values(1, 2, 7))], open: (it, n: never) => told(() => it.crashAfter(n)) },
  restart: { given: [], open: (it) => told(() => it.restart()) },
}

/** What `agent-runtime/testing` exports, by name. */
const exported: Readonly<Record<string, Door<TestRuntime>>> = {
  createTestRuntime: {
    given: [options],
    open: async (_, given: object) => {
      const made = await createTestRuntime(together(given) as never)
      await made[Symbol.asyncDispose]()
    },
  },
  sweepCrashes: {
    given: [
      options,
      fields({ from: mostly(values(1, 3)), to: mostly(values(3)), every: mostly(values(2)) }),
      mostly(fc.constant(piece('a script', () => (it: TestRuntime) => it.run('echo', 1)))),
    ],
    open: (_, given: object, which: object, script: never) =>
      told(() => sweepCrashes(together(given, { crashes: undefined }, which, { script }) as never)),
  },
  replayHistory: {
    given: [
      definition,
      mostly(
        fc.constant(piece('a history', () => 'RECORDED')),
        fields({ format: values(1), taskId: mostly(values('a')), events: hostile }),
      ),
      fields({ timeoutMs: mostly(values(5)) }),
    ],
    open: async (it, ...[given, history, how]: [never, unknown, never]) =>
      replayHistory(given, (history === 'RECORDED' ? await it.record('ended') : history) as never, how),
  },
}

/** One object of all, or the one that cannot be looked at. */
function together(...given: readonly object[]): object {
  for (const part of given)
    try {
      void { ...part }
    } catch {
      return part
    }
  return Object.assign({}, ...given, { tasks }) as object
}

async function open(crashes: boolean): Promise<TestRuntime> {
  const made = await createTestRuntime({ tasks, crashes, patienceMs: 5 })
  onTestFinished(() => made[Symbol.asyncDispose]())
  await made.run('echo', 1, { taskId: 'ended' })
  await made.runtime.submit('waits', 1, { taskId: 'parked' })
  await made.runtime.submit('steps', 1, { taskId: 'napping' })
  await made.settle()
  return made
}

describe("any options for a test's runtime (docs/reliability.md 3.7)", () => {
  test('every call of a test runtime is tried, and so is all that the package exports', async () => {
    const it = await open(false)
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(it)).filter(
      (name) => !['constructor', 'runtime', 'now', 'commits', 'committed'].includes(name),
    )
    expect(methods.toSorted()).toEqual(Object.keys(doors).toSorted())
    const functions = Object.keys(everything).filter((name) => /^[a-z]/.test(name))
    expect(functions.toSorted()).toEqual(Object.keys(exported).toSorted())
  })

  test.each([
    ['calls of one in memory', doors, false, 40],
    ['calls of one that can crash', doors, true, 20],
    ['what the package exports', exported, false, 5],
  ] as const)(
    '%s: it is answered, or refused by an error of the house',
    { timeout: 30_000 + numRuns * 2_000 },
    async (_name, table, crashes, calls) => {
      const counted = { answered: 0, refused: 0, waits: 0 }
      const list = fc.array(callsOf(table), { minLength: calls, maxLength: calls, size: 'max' })
      await fc.assert(
        fc.asyncProperty(list, async (made) => {
          const it = await open(crashes)
          for (const call of made)
            try {
              counted[await call.make(it)] += 1
            } catch (error) {
              throw new Error(`${String(call)}: ${(error as Error).message}`, { cause: error })
            }
          await it[Symbol.asyncDispose]()
        }),
        { seed, numRuns, endOnFailure: true },
      )
      expect(Math.min(counted.answered, counted.refused)).toBeGreaterThan(numRuns / 2)
    },
  )
})
