import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { RuntimeError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext, TaskFailed, TaskRejected, TimeoutError } from '../../src/index.ts'
import { createTestRuntime, TaskStuck } from '../../src/testing/index.ts'

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 1)

function taskOf<T>(body: (ctx: TaskContext) => T) {
  return defineTask({ type: 'example', input: z.null() }, (ctx) => body(ctx))
}

describe('run', () => {
  test('passes sleeps, back-offs and timeouts in the order of time', async () => {
    const order: [string, number][] = []
    const task = taskOf(async (ctx) => {
      const note = (what: string) => order.push([what, runtime.now - START])
      let tries = 0
      await Promise.all([
        ctx.sleep('days', 60 * DAY).then(() => note('slept')),
        ctx
          .step('hung', { timeoutMs: 60_000 }, () => new Promise(() => {}))
          .catch((error: unknown) => note((error as Error).name)),
        ctx
          .step(
            'flaky',
            { retry: { attempts: 3, backoff: { initialMs: 1_000, factor: 2, jitter: 0 } } },
            () => {
              if ((tries += 1) < 3) throw new Error('not yet')
            },
          )
          .then(() => note('tried')),
      ])
      return 'done'
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    expect(await runtime.run(task, null)).toBe('done')
    expect(order.slice(0, 2)).toEqual([
      ['tried', 3_000],
      ['TimeoutError', 60_000],
    ])
    expect(order).toContainEqual(['slept', 60 * DAY])
  })

  test('throws what runtime.result throws', async () => {
    const failing = taskOf(() => {
      throw new Error('no')
    })
    await using runtime = await createTestRuntime({ tasks: [failing] })
    await expect(runtime.run(failing, null)).rejects.toThrow(TaskFailed)
    await expect(runtime.run('example', 7)).rejects.toThrow(TaskRejected)
    await expect(runtime.result('nobody')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a second use of a key is reported with the places of both calls, in branches and for the calls around them', async () => {
    const twice = (call: (ctx: TaskContext) => Promise<unknown>) => (ctx: TaskContext) =>
      call(ctx).then(() => call(ctx))
    const uses: readonly ((ctx: TaskContext) => Promise<unknown>)[] = [
      twice((ctx) => ctx.step('a', () => 1)),
      twice((ctx) => ctx.sleep('a', 1)),
      twice((ctx) => ctx.race('a', { b: () => 1 })),
      twice((ctx) => ctx.all('a', { b: () => 1 })),
      (ctx) => ctx.all('all', { b: twice((branch) => branch.step('a', () => 1)) }),
    ]
    for (const use of uses) {
      await using runtime = await createTestRuntime({ tasks: [taskOf(use)] })
      const error = await runtime.run('example', null).catch(({ cause }: Error) => cause)
      expect(error).toMatchObject({ code: 'duplicate_step_key' })
      const places = (error as Error).message.match(/[^/ ]+\.ts:\d+/g) ?? []
      expect(places.map((place) => place.replace(/:.*/, ''))).toEqual(['time.test.ts', 'time.test.ts'])
    }
  })

  test('a state that does not exist is refused at once', async () => {
    await using runtime = await createTestRuntime({ tasks: [taskOf((ctx) => ctx.sleep('nap', DAY))] })
    const { taskId } = await runtime.runtime.submit('example', null)
    await expect(runtime.until(taskId, 'sleeping' as never)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(
        'until: a state (queued | running | waiting | completed | failed | canceled | rejected) or a function of the status; given "sleeping"',
      ) as string,
    })
    expect(runtime.now).toBe(START)
  })

  test('missing options are reported with what they have to be', async () => {
    await expect(createTestRuntime({} as never)).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining('tasks: a list of what defineTask returns; not given') as string,
    })
  })

  test('names what a task waits for that no time brings, and says what has happened', async () => {
    const task = taskOf((ctx) => ctx.waitForSignal('approve'))
    await using runtime = await createTestRuntime({ tasks: [task] })
    const stuck = await runtime
      .run(task, null, { taskId: 'mine' })
      .catch((error: unknown) => error as TaskStuck)
    expect(stuck).toBeInstanceOf(TaskStuck)
    expect(String(stuck)).toContain(
      "task mine (example) waits for the signal 'approve', and nothing that is due will change that",
    )
    expect(String(stuck)).toContain("+0ms  task.waiting     for 'approve'")
    await runtime.runtime.signal('mine', 'approve', 7)
    expect(await runtime.result('mine')).toBe(7)
  })

  test('a signal with a patience ends by itself', async () => {
    const task = taskOf(async (ctx) => {
      const error = await ctx.waitForSignal('approve', { timeoutMs: DAY }).catch((reason: unknown) => reason)
      return error instanceof TimeoutError
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    expect(await runtime.run(task, null)).toBe(true)
    expect(runtime.now - START).toBe(DAY)
  })

  test('waits for real work in a step before it moves time', async () => {
    const task = taskOf((ctx) =>
      ctx.step('read', { timeoutMs: 1_000 }, async () => (await import('node:fs/promises')).readdir('.')),
    )
    await using runtime = await createTestRuntime({ tasks: [task], patienceMs: 5_000 })
    expect(await runtime.run(task, null)).toBeInstanceOf(Array)
    expect(runtime.now).toBe(START)
  })

  test('waits for real work without moving time when nothing is due, in a command and outside steps too', async () => {
    const task = taskOf(async (ctx) => {
      const { stdout } = await ctx.exec('sh', ['-c', 'sleep 0.05; echo $((1 + 1))'], { timeoutMs: 60_000 })
      await promisify(execFile)('sleep', ['0.05'])
      return stdout
    })
    await using runtime = await createTestRuntime({ tasks: [task], patienceMs: 20_000 })
    expect(await runtime.run(task, null)).toBe('2\n')
    expect(runtime.now).toBe(START)
  })

  test('gives up on what never says anything', async () => {
    const task = taskOf((ctx) => ctx.step('hung', () => new Promise(() => {})))
    await using runtime = await createTestRuntime({ tasks: [task], patienceMs: 200 })
    await expect(runtime.run(task, null)).rejects.toThrow(
      /runs on .*, and nothing that is due will change that/,
    )
    expect(runtime.now).toBe(START)
  })

  test('moves time past a long timeout, and keeps the lease meanwhile', async () => {
    const task = taskOf((ctx) => ctx.step('hung', { timeoutMs: DAY / 24 }, () => new Promise(() => {})))
    await using runtime = await createTestRuntime({ tasks: [task] })
    const receipt = await runtime.runtime.submit(task, null)
    await runtime.advance(DAY / 48)
    expect((await runtime.runtime.status(receipt))?.state).toBe('running')
    await expect(runtime.result(receipt)).rejects.toThrow(TaskFailed)
    expect(runtime.now - START).toBe(DAY / 24)
    expect((await runtime.history(receipt)).attempts).toBe(1)
  })

  test('many tasks, and tasks that are submitted for later', async () => {
    const task = defineTask({ type: 'many', input: z.number() }, async (ctx, n) => {
      await ctx.sleep('nap', n * 1_000)
      return n
    })
    await using runtime = await createTestRuntime({ tasks: [task], workers: { capacity: 2 } })
    const late = await runtime.runtime.submit(task, 1, { delayMs: DAY })
    const receipts = await runtime.runtime.submitMany(
      Array.from({ length: 50 }, (_, input) => ({ task, input })),
    )
    for (const [n, receipt] of receipts.entries()) expect(await runtime.result(receipt)).toBe(n)
    expect(runtime.now - START).toBe(49_000)
    expect(await runtime.result(late)).toBe(1)
    expect(runtime.now - START).toBe(DAY + 1_000)
  })
})

describe('until, advance, settle', () => {
  test('moves time until a task is in a state, or as the test says', async () => {
    const task = taskOf(async (ctx) => {
      await ctx.sleep('one', 1_000)
      await ctx.sleep('two', 1_000)
    })
    await using world = await createTestRuntime({ tasks: [task], now: new Date(START) })
    const receipt = await world.runtime.submit(task, null)
    expect((await world.until(receipt, 'waiting')).state).toBe('waiting')
    expect(world.now).toBe(START)
    await world.until(receipt, (status) => status.state === 'waiting' && status.waits[0]?.key === 'two')
    expect(world.now).toBe(START + 1_000)
    await expect(world.until(receipt, 'failed')).rejects.toThrow("is completed, and was never 'failed'")
  })

  test('moves time by so much, or to a date, and no further', async () => {
    const at: number[] = []
    const task = taskOf(async (ctx) => {
      for (let n = 1; n <= 3; n += 1) {
        await ctx.sleep(`nap ${n}`, 1_000)
        await ctx.step(`note ${n}`, () => at.push(world.now))
      }
    })
    await using world = await createTestRuntime({ tasks: [task], now: 1_000 })
    const receipt = await world.runtime.submit(task, null)
    await world.advance(999)
    expect(at).toEqual([])
    await world.advance(new Date(3_500))
    expect([world.now, at]).toEqual([3_500, [2_000, 3_000]])
    await world.settle()
    expect((await world.runtime.status(receipt))?.state).toBe('waiting')
    await expect(world.advance(-1)).rejects.toThrow(RuntimeError)
    await expect(world.advance(new Date(1_000))).rejects.toThrow('advance')
  })

  test('says what is wrong with its options', async () => {
    const wrong = { tasks: [], patienceMs: -1, crashAfterCommit: 0, sead: 1 }
    await expect(createTestRuntime(wrong)).rejects.toThrow(
      /sead[^]*did you mean seed[^]*crashAfterCommit[^]*patienceMs/,
    )
    await expect(createTestRuntime({ tasks: [7 as never] })).rejects.toThrow('tasks[0]')
  })
})
