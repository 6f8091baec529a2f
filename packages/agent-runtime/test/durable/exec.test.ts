import { getEventListeners } from 'node:events'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type TaskContext } from '../../src/index.ts'
import { eventually, folder, isAlive, pidsIn } from '../real-processes.ts'
import { turns, virtualRuntime } from '../virtual-runtime.ts'

/** A runtime in real time whose one task type does `body`. */
async function started(
  body: (ctx: TaskContext) => Promise<unknown>,
  config: { killGraceMs?: number; cleanupTimeoutMs?: number } = {},
) {
  const task = defineTask({ type: 'tool', input: z.null() }, (ctx) => body(ctx))
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks: [task],
    thread: false,
    config,
    telemetry: false,
    logger: false,
  })
  onTestFinished(async () => {
    await runtime.stop({ drain: false })
  })
  const receipt = await runtime.submit(task, null)
  return { runtime, receipt, taskId: receipt.taskId, result: () => runtime.result(receipt) }
}

/** What ends meanwhile was not killed: TERM has ended it. */
const onlyTerm = { killGraceMs: 600_000 }

/** A shell that has a child, and writes both their ids to a file. Both ignore TERM when `stubborn`. */
function family(file: string, stubborn = false): string[] {
  return ['-c', `${stubborn ? "trap '' TERM; " : ''}sleep 1000 & echo $$ $! > ${file}; wait`]
}

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

  test('a command that does not read its input harms nobody', async () => {
    const { result } = await started((ctx) => ctx.exec('true', [], { input: 'x'.repeat(1_000_000) }))
    expect(await result()).toMatchObject({ code: 0 })
  })

  test('cancel: TERM to the whole group, grandchildren too; the state does not wait for them', async () => {
    const file = join(folder(), 'pids')
    const { runtime, taskId } = await started((ctx) => ctx.exec('sh', family(file)), onlyTerm)
    const pids = await pidsIn(file, 2)
    expect(pids.every(isAlive)).toBe(true)
    expect(await runtime.cancel(taskId)).toBe(true)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled' })
    await eventually(() => !pids.some(isAlive))
    await eventually(() => runtime.leaked().length === 0)
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

  test('5.1 clean-up hooks find nothing of a command left', async () => {
    const file = join(folder(), 'pids')
    const found: unknown[] = []
    let pids: number[] = []
    const { runtime, taskId } = await started(
      (ctx) => {
        ctx.onCleanup((reason) => void found.push([reason, pids.filter(isAlive)]))
        return ctx.exec('sh', family(file, true))
      },
      { killGraceMs: 1_500, cleanupTimeoutMs: 50 },
    )
    pids = await pidsIn(file, 2)
    await runtime.cancel(taskId)
    expect([found, pids.every(isAlive)]).toEqual([[], true])
    await eventually(() => found.length > 0)
    expect(found).toEqual([['canceled', []]])
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

  test('a grandchild has the rest of the grace when its parent has left', async () => {
    const file = join(folder(), 'pids')
    const done = join(folder(), 'done')
    const child = `trap 'sleep 0.2; echo bye > ${done}; exit' TERM; echo $$ > ${file}; while :; do sleep 0.01; done`
    const { runtime, taskId } = await started((ctx) =>
      ctx.exec('sh', ['-c', `sh -c "$CHILD" & wait`], { env: { ...process.env, CHILD: child } }),
    )
    const pids = await pidsIn(file, 1)
    await runtime.cancel(taskId)
    await eventually(() => !pids.some(isAlive))
    expect(await pidsIn(done, 1)).toHaveLength(1)
  })

  test('a process that a command leaves behind dies when it exits', async () => {
    const file = join(folder(), 'pids')
    const { result } = await started(
      (ctx) => ctx.exec('sh', ['-c', `sleep 1000 > /dev/null 2>&1 & echo $! > ${file}`]),
      onlyTerm,
    )
    expect(await result()).toMatchObject({ code: 0 })
    const pids = await pidsIn(file, 1)
    await eventually(() => !pids.some(isAlive))
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

  test('timeoutMs stops the group and throws', async () => {
    const file = join(folder(), 'pids')
    const { result } = await started((ctx) =>
      ctx.exec('sh', family(file), { timeoutMs: 1_000 }).catch(({ name, message }) => `${name}: ${message}`),
    )
    expect(await result()).toBe("TimeoutError: command 'sh' took longer than its time limit of 1000 ms")
    expect((await pidsIn(file, 2)).some(isAlive)).toBe(false)
  })

  test('a signal of its own stops it: a step that runs out of time takes its command along', async () => {
    const file = join(folder(), 'pids')
    const { result } = await started(
      (ctx) =>
        ctx
          .step('tool', { timeoutMs: 1_000 }, ({ signal }) => ctx.exec('sh', family(file), { signal }))
          .catch(({ name, message }) => `${name}: ${message}`),
      onlyTerm,
    )
    expect(await result()).toBe("TimeoutError: step 'tool' took longer than its time limit of 1000 ms")
    const pids = await pidsIn(file, 2)
    await eventually(() => !pids.some(isAlive))
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

  test('a signal that was aborted before starts nothing', async () => {
    const file = join(folder(), 'ran')
    const signal = AbortSignal.abort(new Error('too late'))
    const task = defineTask({ type: 'tool', input: z.null() }, (ctx) =>
      ctx.exec('touch', [file], { signal }).catch((error: Error) => error.message),
    )
    const { runtime } = await virtualRuntime({ tasks: [task] })
    expect(await runtime.result(await runtime.submit(task, null))).toBe('too late')
    expect(existsSync(file)).toBe(false)
  })

  test('the first reason to stop a command is the one that counts', async () => {
    const file = join(folder(), 'pids')
    const controller = new AbortController()
    const reasons: string[] = []
    const task = defineTask({ type: 'tool', input: z.null() }, async (ctx) => {
      const options = { timeoutMs: 1_000, signal: controller.signal, killGraceMs: 5_000 }
      await ctx
        .exec('sh', family(file, true), options)
        .catch((error: Error) => void reasons.push(error.message))
    })
    const { runtime, environment } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await pidsIn(file, 2)
    environment.clock.advanceBy(1_000)
    controller.abort(new Error('the second reason'))
    environment.clock.advanceBy(5_000)
    await eventually(() => {
      environment.clock.advanceBy(200)
      return reasons.length > 0
    })
    expect(reasons).toEqual(["command 'sh' took longer than its time limit of 1000 ms"])
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

  test('as much output as maxBufferBytes is returned whole, more of it stops the command', async () => {
    const { result: whole } = await started((ctx) =>
      ctx.exec('printf', ['0123456789'], { maxBufferBytes: 10 }).then(({ stdout }) => stdout),
    )
    expect(await whole()).toBe('0123456789')
    const { result } = await started((ctx) =>
      ctx
        .exec('sh', ['-c', 'yes'], { maxBufferBytes: 10_000 })
        .catch(({ code, message }) => `${code}: ${message}`),
    )
    expect(await result()).toBe("limit_exceeded: stdout of 'sh' is larger than maxBufferBytes 10000")
  })

  test('a daemon that left the group and keeps the streams open does not hold the handler up', async () => {
    const file = join(folder(), 'pids')
    const { result } = await started((ctx) =>
      ctx.exec(process.execPath, [
        '-e',
        `const child = require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'inherit' })
         require('node:fs').writeFileSync(${JSON.stringify(file)}, String(child.pid)); child.unref(); console.log('started')`,
      ]),
    )
    expect(await result()).toMatchObject({ code: 0, stdout: 'started\n' })
    for (const pid of await pidsIn(file, 1)) process.kill(pid, 'SIGKILL')
  })
})
