import type { Environment, ExecutionStore } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scaledMs } from '../../../../tools/cpu/slowness.ts'
import {
  createRuntime,
  defineTask,
  type Runtime,
  type RuntimeOptions,
  type TaskContext,
  TimeoutError,
} from '../../src/index.ts'
import { turns, virtualRuntime } from '../virtual-runtime.ts'
import { begun, crash, type Version } from './versions.ts'

const verify = (runtime: Runtime, taskId: string, timeoutMs = 5_000) =>
  runtime.replay(taskId, { mode: 'verify', timeoutMs })

/** Whatever would be done is noted. */
const program =
  (ran: string[], fails: () => boolean = () => false): Version =>
  async (ctx) => {
    await ctx.step('a', () => ran.push('a'))
    await ctx.emit('chunk')
    await ctx.checkpoint({ n: 1 })
    await ctx.heartbeat({ progress: 1 })
    const made = await ctx
      .step('b', () => {
        ran.push('b')
        if (fails()) throw Object.assign(new Error('no b'), { code: 'E_B' })
        return 'b'
      })
      .catch(({ message, code }: Error & { code: string }) =>
        ctx.step(`instead of ${message} ${code}`, () => 'c'),
      )
    await ctx.sleep('nap', 1_000)
    const { winner } = await ctx.race('race', {
      reply: (branch) => branch.waitForSignal('reply'),
      late: (branch) => branch.sleep('late', 10_000),
    })
    ctx.onCleanup(() => void ran.push('hook'))
    return `${made} ${winner}`
  }

describe('replay, mode verify (docs/semantics.md 6.3)', () => {
  test('a wait that a rejection has left is nothing to wait for', async () => {
    const version: Version = async (ctx) => {
      await ctx.step('write', () => 1)
      await ctx.sleep('a moment', 5)
      await ctx.requestApproval('text', 1)
    }
    const task = await begun(version)
    expect(await task.elapse(5)).toMatchObject({ waitingFor: 'approval' })
    await task.review(version)
    const [asked] = (await task.runtime.approvals.list()).approvals
    await task.runtime.approvals.reject(asked?.approvalId ?? '')
    // Given up after `timeoutMs` alone, it would outlast the test.
    expect(await verify(task.runtime, task.taskId, 600_000)).toMatchObject({
      verdict: 'agreed',
      unused: 1,
      end: { call: 'step', key: 'write' },
    })
  })

  test('H06 goes through a completed task: 0 writes, 0 executions, the same calls', async () => {
    const ran: string[] = []
    const task = await begun(program(ran))
    await task.elapse(1_000)
    await task.runtime.signal(task.taskId, 'reply')
    expect(await task.elapse(0)).toMatchObject({ state: 'completed', output: 'b reply' })
    const before = [ran.length, await task.eventTypes(), (await task.runtime.stats()).commits]
    expect(await verify(task.runtime, task.taskId)).toEqual({
      taskId: task.taskId,
      type: 'changing',
      verdict: 'agreed',
      diverged: undefined,
      answered: { steps: 3, waits: 1, failures: 0 },
      unused: 0,
      end: { call: 'return' },
    })
    expect([ran.length, await task.eventTypes(), (await task.runtime.stats()).commits]).toEqual(before)
  })

  test('throws what a step had failed with, so that the way around it is followed', async () => {
    const ran: string[] = []
    const task = await begun(program(ran, () => true))
    await task.elapse(1_000)
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      verdict: 'agreed',
      answered: { steps: 2, waits: 1, failures: 1 },
      unused: 0,
      end: { call: 'signal', key: 'reply', position: 4 },
    })
  })

  test('a timeout that was recorded is a TimeoutError again', async () => {
    const task = await begun(async (ctx) => {
      await ctx.step('slow', { timeoutMs: 10 }, crash).catch((error: unknown) => {
        if (!(error instanceof TimeoutError)) throw error
      })
      await ctx.step('b', () => 1)
    })
    expect(await task.elapse(10)).toMatchObject({ state: 'completed' })
    expect(await verify(task.runtime, task.taskId)).toMatchObject({ verdict: 'agreed', unused: 0 })
  })

  test.each([
    ['step', (ctx: TaskContext) => ctx.step('k', crash)],
    ['timer', (ctx: TaskContext) => ctx.sleep('k', 60_000)],
    ['signal', (ctx: TaskContext) => ctx.waitForSignal('k')],
    ['command', (ctx: TaskContext) => ctx.exec('k')],
    ['patched', (ctx: TaskContext) => ctx.patched('k').then(crash)],
    ['all', (ctx: TaskContext) => ctx.all('k', { one: () => 1 })],
  ])('ends where the history does: at a %s', async (call, last) => {
    const task = await begun(async (ctx) => {
      await ctx.step('a', () => 1)
      await crash()
    })
    await task.review(async (ctx) => {
      await ctx.step('a', () => 1)
      await last(ctx)
    })
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      verdict: 'agreed',
      unused: 0,
      end: { call, key: 'k' },
    })
  })

  test('H02 finds the first place where code and history differ, whatever the state of the task', async () => {
    const task = await begun(async (ctx) => {
      for (const key of ['a', 'b', 'c']) await ctx.step(key, () => key)
    })
    await task.deploy(async (ctx) => {
      for (const key of ['a', 'x', 'c']) await ctx.step(key, () => key)
    })
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      verdict: 'diverged',
      diverged: { kind: 'unexpected_step', key: 'x', position: 1, expected: 'b', actual: 'x' },
    })
    await task.deploy((ctx) => ctx.step('a', () => 1))
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      verdict: 'diverged',
      diverged: { kind: 'missing_step', key: 'b', position: 1, expected: 'b' },
      unused: 2,
    })
  })

  test('H13 another input, another kind of call, another place in a strict type', async () => {
    const task = await begun(async (ctx) => {
      await ctx.step('a', { input: 1 }, () => 1)
      await ctx.step('b', () => 1)
    })
    await task.deploy((ctx) => ctx.step('a', { input: 2 }, () => 1))
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      diverged: { kind: 'input_changed', key: 'a' },
    })
    await task.deploy((ctx) => ctx.sleep('a', 1))
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      diverged: { kind: 'unexpected_step', expected: 'step', actual: 'timer' },
    })
    const swapped: Version = async (ctx) => {
      await ctx.step('b', () => 1)
      await ctx.step('a', { input: 1 }, () => 1)
    }
    await task.deploy(swapped)
    expect(await verify(task.runtime, task.taskId)).toMatchObject({ verdict: 'agreed' })
    await task.deploy(swapped, { replay: 'strict' })
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      diverged: { kind: 'order_changed', key: 'b' },
    })
  })

  test('H03 chains side by side with work of their own are waited for; a step renamed in one is found', async () => {
    const chains =
      (write: string): Version =>
      async (ctx) => {
        await Promise.all(
          [3, 2, 1].map(async (n) => {
            await ctx.step(`read ${n}`, () => n)
            for (let turn = 0; turn < n * 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
            await ctx.step(`${write} ${n}`, () => n)
          }),
        )
      }
    const task = await begun(chains('write'))
    for (let round = 0; round < 5; round += 1) await task.elapse(0)
    expect(await task.status()).toMatchObject({ state: 'completed' })
    expect(await verify(task.runtime, task.taskId)).toMatchObject({ verdict: 'agreed', unused: 0 })
    await task.deploy(chains('store'))
    expect(await verify(task.runtime, task.taskId, 100)).toMatchObject({
      verdict: 'diverged',
      diverged: { kind: 'unexpected_step' },
    })
  })

  test('a handler that throws where no pass had thrown, or as one had', async () => {
    const throwing: Version = async (ctx) => {
      await ctx.step('a', () => 1)
      throw new TypeError('new code')
    }
    const task = await begun((ctx) => ctx.step('a', () => 1))
    await task.deploy(throwing)
    expect(await verify(task.runtime, task.taskId)).toMatchObject({
      verdict: 'threw',
      error: { name: 'TypeError', message: 'new code' },
      end: { call: 'throw' },
    })
    const failed = await begun(throwing)
    expect(await failed.status()).toMatchObject({ state: 'failed' })
    expect(await verify(failed.runtime, failed.taskId)).toMatchObject({
      verdict: 'agreed',
      end: { call: 'throw' },
    })
  })

  test('a handler that throws the error of its child, before the pass that gets it', async () => {
    const input = z.null()
    const child = defineTask({ type: 'child', input }, async (ctx) => {
      await ctx.waitForSignal('go')
      throw new Error('the child broke')
    })
    const parent = defineTask({ type: 'parent', input }, (ctx) => ctx.call('child', child, null))
    const { runtime, elapse } = await virtualRuntime({ tasks: [parent, child] })
    const { taskId } = await runtime.submit(parent, null)
    await elapse(0)
    await runtime.pauseQueue({ types: ['parent'] })
    const [{ taskId: childId } = { taskId: '' }] = (await runtime.list({ types: ['child'] })).tasks
    await runtime.signal(childId, 'go')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'queued' })
    expect(await verify(runtime, taskId)).toMatchObject({
      verdict: 'agreed',
      end: { call: 'throw' },
      error: { name: 'TaskFailed' },
    })
  })

  test('a handler that waits for something of its own is given up after timeoutMs, and learns it', async () => {
    let aborted = false
    const task = await begun(async (ctx) => {
      ctx.signal.addEventListener('abort', () => {
        aborted = true
      })
      await crash()
    })
    expect(await verify(task.runtime, task.taskId, 20)).toMatchObject({ verdict: 'unsettled', unused: 0 })
    expect(aborted).toBe(true)
    expect(await task.status()).toMatchObject({ state: 'running' })
  })

  test('a type that is not defined, an input that no longer fits', async () => {
    const old = defineTask({ type: 't', input: z.object({ n: z.number() }) }, () => 1)
    const narrow = defineTask({ type: 't', input: z.object({ n: z.number(), unit: z.string() }) }, () => 1)
    const { runtime, store, environment } = await virtualRuntime({ tasks: [old] })
    const { taskId } = await runtime.submit(old, { n: 1 })
    await turns()
    await runtime.stop({ drain: false })
    const other = await virtualRuntimeOn(store, environment, [narrow])
    expect(await verify(other, taskId)).toMatchObject({
      verdict: 'invalid_input',
      error: { code: 'schema_mismatch', message: expect.stringContaining('unit') as string },
    })
    await other.stop()
    const none = await virtualRuntimeOn(store, environment, [])
    expect(await verify(none, taskId)).toMatchObject({ verdict: 'unknown_type', type: 't' })
    await none.stop()
  })

  test('a task that is unknown, or was rejected, or options that are none, are refused', async () => {
    const task = await begun(() => 1, { config: { maxPayloadBytes: 10_000 } })
    await expect(verify(task.runtime, 'nobody')).rejects.toMatchObject({ code: 'not_found' })
    const { taskId } = await task.runtime.submit('unknown', null)
    await expect(verify(task.runtime, taskId)).rejects.toMatchObject({ code: 'invalid_argument' })
    for (const options of [undefined, {}, { mode: 'resume' }, { mode: 'verify', timeoutMs: -1 }])
      await expect(task.runtime.replay(task.taskId, options as never)).rejects.toMatchObject({
        code: 'invalid_argument',
      })
  })

  test('a completed task of 1 000 steps takes less than 200 ms', async () => {
    const flow: Version = async (ctx) => {
      for (let n = 0; n < 1_000; n += 1) await ctx.step(`step ${n}`, () => ({ n, text: 'x'.repeat(100) }))
    }
    const task = await begun(flow)
    for (let round = 0; round < 20; round += 1) await task.elapse(0)
    expect(await task.status()).toMatchObject({ state: 'completed' })
    await verify(task.runtime, task.taskId)
    const tookMs = await scaledMs(async () =>
      expect(await verify(task.runtime, task.taskId)).toMatchObject({
        answered: { steps: 1_000 },
        unused: 0,
      }),
    )
    expect(tookMs).toBeLessThan(200)
  })
})

function virtualRuntimeOn(
  store: ExecutionStore,
  environment: Environment,
  tasks: RuntimeOptions['tasks'],
): Promise<Runtime> {
  return createRuntime({ store, environment, tasks, workers: 0, telemetry: false, logger: false })
}
