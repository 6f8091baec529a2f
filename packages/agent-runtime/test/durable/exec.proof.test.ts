import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually, folder, isAlive, pidsIn, run } from '../real-processes.ts'
import { family, onlyTerm, started } from './exec-scene.ts'

describe('execution: commands', () => {
  test('commands die with the process, however it dies', async () => {
    const file = join(folder(), 'pids')
    const program = run(new URL('../processes/exec-and-wait.ts', import.meta.url), file)
    const pids = await pidsIn(file, 2)
    expect(pids.every(isAlive)).toBe(true)
    await eventually(() => existsSync(`${file}.guarded`))
    program.process.kill('SIGKILL')
    await program.ended
    await eventually(() => !pids.some(isAlive))
  })

  test('a command that does not read its input harms nobody', async () => {
    const { result } = await started((ctx) => ctx.exec('true', [], { input: 'x'.repeat(1_000_000) }))
    expect(await result()).toMatchObject({ code: 0 })
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
})
