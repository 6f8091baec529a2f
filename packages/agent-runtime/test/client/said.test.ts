import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, TaskFailed } from '../../src/index.ts'
import { gate, virtualRuntime } from '../virtual-runtime.ts'

const input = z.null()

describe('a failed task that an idempotency key finds', () => {
  test('says when it failed, and how to run it again', async () => {
    let fails = true
    const task = defineTask({ type: 'flaky', input }, async (ctx) => {
      await ctx.step('paid', () => 1)
      if (fails) throw new Error('boom')
      return 'well'
    })
    const { runtime, environment } = await virtualRuntime({ tasks: [task] })
    const first = await runtime.submit(task, null, { idempotencyKey: 'k' })
    const failed = await runtime.result(first).catch((error: unknown) => error as Error)
    expect(failed).toMatchObject({ message: `task ${first.taskId} failed (error): boom` })
    const at = new Date(environment.clock.now()).toISOString()
    environment.clock.advanceBy(3_600_000)
    fails = false
    const again = await runtime.submit(task, null, { idempotencyKey: 'k' })
    const error = await runtime.result(again).catch((thrown: unknown) => thrown as Error)
    expect(error).toBeInstanceOf(TaskFailed)
    expect((error as Error).message).toBe(
      `task ${first.taskId} failed (error): boom. The idempotency key of this submission found it: it failed at ${at} and was not run again. runtime.retry(receipt) runs it again as a new task, which keeps its completed steps; another key submits it from the start`,
    )
    expect(await runtime.result(await runtime.retry(again))).toBe('well')
  })

  test('says nothing of that if it went on when the key found it', async () => {
    const task = defineTask({ type: 'slow', input }, async (ctx) => {
      await ctx.sleep('a while', 1_000)
      throw new Error('boom')
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null, { idempotencyKey: 'k' })
    const item = { task, input: null, options: { idempotencyKey: 'k' } } as const
    const found = [await runtime.submit(task, null, item.options), ...(await runtime.submitMany([item]))]
    await elapse(1_000)
    for (const receipt of found) {
      expect(receipt).toMatchObject({ deduplicated: true })
      const failed = await runtime.result(receipt).catch((error: unknown) => error as Error)
      expect(failed).toMatchObject({ message: `task ${receipt.taskId} failed (error): boom` })
    }
  })
})

describe('a signal that nobody waits for', () => {
  test('a parked task is in its receipt, and once in the log when the task waits for something else', async () => {
    const task = defineTask({ type: 'waits', input }, (ctx) => ctx.waitForSignal('reply'))
    const { runtime, log, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(0)
    const kept = { delivered: true, state: 'waiting', awaited: false }
    expect(await runtime.signal(receipt, 'replay', 1)).toEqual(kept)
    expect(await runtime.signal(receipt, 'replay', 2)).toEqual(kept)
    expect(await runtime.signal(receipt, 'other', 2)).toEqual(kept)
    expect(log).toEqual([
      {
        level: 'warn',
        message: 'a signal is kept: the task waits for something else',
        fields: {
          taskId: receipt.taskId,
          type: 'waits',
          signal: 'replay',
          waitingFor: 'signal',
          signals: ['reply'],
          meant: 'reply',
        },
      },
      expect.objectContaining({ fields: expect.objectContaining({ signal: 'other' }) as object }),
    ])
    expect(await runtime.signal(receipt, 'reply', 3)).toEqual({ ...kept, state: 'queued', awaited: true })
    expect(await runtime.result(receipt)).toBe(3)
  })
})

describe('a model or tool that no quota limits', () => {
  const ask = defineTask({ type: 'ask', input, model: 'gtp-4' }, () => 1)
  const told = async (quotaConfig: object) => {
    const { runtime, log } = await virtualRuntime({ tasks: [ask], config: { quotaConfig } })
    await runtime.submit(ask, null)
    await runtime.submit(ask, null, { tools: ['browser'] })
    await runtime.submit(ask, null, { model: 'local', tools: ['browser'] })
    return log.map(({ level, message, fields }) => [level, message, fields])
  }

  test('is said once, with the names that have limits', async () => {
    const models = { 'gpt-4': { maxInFlight: 1, onExceeded: 'defer' }, local: {} }
    expect(await told({ models, tools: { browse: {} } })).toEqual([
      [
        'warn',
        'no quota limits this model, is its name right?',
        { model: 'gtp-4', type: 'ask', limited: ['gpt-4', 'local'], meant: 'gpt-4' },
      ],
      [
        'warn',
        'no quota limits this tool, is its name right?',
        { tool: 'browser', type: 'ask', limited: ['browse'], meant: 'browse' },
      ],
    ])
  })

  test('is not said where all names have a limit, or none', async () => {
    expect(await told({ models: { 'gpt-4': {} }, defaults: { model: { maxInFlight: 9 } } })).toEqual([])
    expect(await told({ clients: { ada: { maxInFlight: 9 } } })).toEqual([])
  })
})

describe('the result of a task that waits', () => {
  const waits = defineTask({ type: 'waits', input }, async (ctx) => {
    await ctx.step('first', () => 1)
    return ctx.waitForSignal('reply')
  })

  test('is explained by the log once, after ten seconds', async () => {
    const { runtime, log, elapse } = await virtualRuntime({ tasks: [waits] })
    const receipt = await runtime.submit(waits, null)
    await elapse(0)
    const result = runtime.result(receipt)
    await elapse(9_999)
    expect(log).toEqual([])
    await elapse(60_000)
    const { summary } = (await runtime.explain(receipt)) ?? {}
    expect(summary).toContain('reply')
    expect(log).toEqual([
      {
        level: 'info',
        message: 'still waiting for a result',
        fields: { taskId: receipt.taskId, state: 'waiting', why: summary },
      },
    ])
    await runtime.signal(receipt, 'reply', 3)
    expect(await result).toBe(3)
  })

  test('is not explained as long as the task runs, and never once it has come', async () => {
    const door = gate<number>()
    const slow = defineTask({ type: 'slow', input }, (ctx) => ctx.step('slow', () => door.promise))
    const { runtime, log, elapse } = await virtualRuntime({ tasks: [slow] })
    const result = runtime.result(await runtime.submit(slow, null))
    await elapse(30_000)
    door.resolve(7)
    expect(await result).toBe(7)
    await elapse(30_000)
    expect(log).toEqual([])
  })
})
