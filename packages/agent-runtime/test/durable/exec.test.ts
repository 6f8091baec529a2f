import { getEventListeners } from 'node:events'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { eventually, folder, isAlive, pidsIn } from '../real-processes.ts'
import { turns, virtualRuntime } from '../virtual-runtime.ts'
import { family, onlyTerm, started } from './exec-scene.ts'

describe('execution: commands', () => {
  test('give their exit code and what they wrote; a failure is an answer', async () => {
    const { result } = await started((ctx) => ctx.exec('sh', ['-c', 'echo out; echo err >&2; exit 3']))
    expect(await result()).toEqual({
      pid: expect.any(Number),
      code: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
    })
  })

  test('read their input, in their folder, with their environment', async () => {
    const cwd = realpathSync(folder())
    const env = { ...process.env, GREETING: 'hello' }
    const { result } = await started((ctx) =>
      ctx.exec('sh', ['-c', 'pwd; echo $GREETING; cat'], { cwd, env, input: 'über' }),
    )
    expect(await result()).toMatchObject({ code: 0, stdout: `${cwd}\nhello\nüber` })
  })

  test('a command that does not exist is an error with its code', async () => {
    const { result } = await started((ctx) => ctx.exec('no-such-command-here'))
    await expect(result()).rejects.toThrow('spawn no-such-command-here ENOENT')
  })

  test('F09 a signal that ends a command is reported', async () => {
    const { result } = await started((ctx) => ctx.exec('sh', ['-c', 'kill -s HUP $$']))
    expect(await result()).toMatchObject({ code: null, signal: 'SIGHUP' })
  })

  test('E06 a command that ignores TERM is killed after killGraceMs, and the handler learns why it was stopped', async () => {
    const file = join(folder(), 'pids')
    const errors: unknown[] = []
    const { runtime, taskId } = await started(
      (ctx) => ctx.exec('sh', family(file, true)).catch((error: unknown) => errors.push(error)),
      { killGraceMs: 200 },
    )
    const pids = await pidsIn(file, 2)
    const begun = performance.now()
    await runtime.cancel(taskId)
    // Long before the time that it would have without `killGraceMs`.
    await eventually(() => !pids.some(isAlive), 4_500)
    // It lived through TERM.
    expect(performance.now() - begun).toBeGreaterThan(150)
    await eventually(() => errors.length === 1)
    expect(errors).toMatchObject([{ code: 'task_canceled' }])
    await expect.poll(async () => (await runtime.stats()).inFlight).toBe(0)
  })

  test('5.1 the hooks of a handler that failed find nothing left of a command that it did not await', async () => {
    const file = join(folder(), 'pids')
    const found: unknown[] = []
    const { result, runtime } = await started(
      async (ctx) => {
        let pids: number[] = []
        ctx.onCleanup((reason) => void found.push([reason, pids.filter(isAlive)]))
        ctx.exec('sh', family(file, true)).catch(() => {})
        pids = await pidsIn(file, 2)
        throw new Error('broken')
      },
      { killGraceMs: 300 },
    )
    await expect(result()).rejects.toThrow('broken')
    await eventually(() => found.length > 0)
    expect(found).toEqual([['failed', []]])
    await expect.poll(async () => (await runtime.stats()).inFlight).toBe(0)
  })

  test('5.1 clean-up hooks wait a second for a command to end that was killed, and no longer', async () => {
    const file = join(folder(), 'pids')
    const found: unknown[] = []
    const task = defineTask({ type: 'tool', input: z.null() }, (ctx) => {
      ctx.onCleanup((reason) => void found.push(reason))
      return ctx.exec('sh', family(file, true), { killGraceMs: 5_000 })
    })
    const { runtime, environment } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await pidsIn(file, 2)
    await runtime.cancel(taskId)
    // No turn of the event loop is left to it: as if it hung in the kernel, its end is not told.
    const passed = async (ms: number) => {
      environment.clock.advanceBy(ms)
      for (let n = 0; n < 100; n += 1) await Promise.resolve()
      return [...found]
    }
    expect(await passed(5_000)).toEqual([])
    expect(await passed(999)).toEqual([])
    expect(await passed(1)).toEqual(['canceled'])
  })

  test('5.6 a stop that does not wait for handlers waits for commands, and for the hooks after them', async () => {
    const file = join(folder(), 'pids')
    const found: unknown[] = []
    let pids: number[] = []
    const { runtime } = await started(
      (ctx) => {
        ctx.onCleanup((reason) => void found.push([reason, pids.filter(isAlive)]))
        return ctx.exec('sh', family(file, true))
      },
      { killGraceMs: 1_200, cleanupTimeoutMs: 1_000 },
    )
    pids = await pidsIn(file, 2)
    expect(await runtime.stop({ drain: false })).toEqual({ drained: false, released: 1 })
    expect(found).toEqual([['shutdown', []]])
  })

  test('a command that the handler did not await dies with all its processes when the handler ends', async () => {
    const file = join(folder(), 'pids')
    const { result, runtime } = await started(async (ctx) => {
      void ctx.exec('sh', family(file))
      await pidsIn(file, 2)
      return 'done'
    }, onlyTerm)
    expect(await result()).toBe('done')
    const pids = await pidsIn(file, 2)
    await eventually(() => !pids.some(isAlive))
    await expect.poll(async () => (await runtime.stats()).inFlight).toBe(0)
  })

  test('the command of a branch that lost its race is stopped with the decision, while the handler goes on', async () => {
    const file = join(folder(), 'pids')
    const door = Promise.withResolvers<void>()
    const { result } = await started(async (ctx) => {
      const { winner } = await ctx.race('race', {
        tool: (branch) => branch.exec('sh', family(file)),
        quick: (branch) => branch.step('quick', () => pidsIn(file, 2)),
      })
      await door.promise
      return winner
    }, onlyTerm)
    const pids = await pidsIn(file, 2)
    await eventually(() => !pids.some(isAlive))
    door.resolve()
    expect(await result()).toBe('quick')
  })

  test('a command that has ended leaves no timer and no listener behind', async () => {
    const task = defineTask({ type: 'tool', input: z.null() }, async (ctx) => {
      const { signal } = new AbortController()
      await ctx.exec('true', [], { timeoutMs: 60_000, signal })
      return getEventListeners(signal, 'abort').length
    })
    const { runtime, environment } = await virtualRuntime({ tasks: [task] })
    const idle = environment.clock.pending
    expect(await runtime.result(await runtime.submit(task, null))).toBe(0)
    await turns()
    expect(environment.clock.pending).toBe(idle)
  })
})
