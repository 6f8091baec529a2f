import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { until } from '../virtual-runtime.ts'

describe('execution: a store in its own thread', () => {
  test('runs, cancels and drains as one in this thread does', async () => {
    let aborted = 0
    let started = 0
    const busy = defineTask({ type: 'busy', input: z.number() }, async (ctx, n) => {
      await ctx.step('one', () => n)
      started += 1
      await new Promise((resolve) => {
        ctx.signal.addEventListener('abort', () => {
          aborted += 1
          resolve(undefined)
        })
      })
    })
    const quick = defineTask({ type: 'quick', input: z.number() }, async (ctx, n) =>
      ctx.step('double', () => n * 2),
    )
    const database = join(folder(), 'store.db')
    // An abort does not wait for a heartbeat.
    const config = { leaseTtlMs: 1_800_000, heartbeatIntervalMs: 600_000 }
    const runtime = await createRuntime({
      store: `sqlite:${database}`,
      tasks: [busy, quick],
      config,
      logger: false,
    })
    onTestFinished(async () => {
      await runtime.stop()
    })
    const receipts = await runtime.submitMany(
      [1, 2, 3, 4, 5, 6, 7, 8].map((input) => ({ task: quick, input })),
    )
    expect(await Promise.all(receipts.map((receipt) => runtime.result(receipt)))).toEqual([
      2, 4, 6, 8, 10, 12, 14, 16,
    ])
    const [first] = await runtime.submitMany([1, 2].map((input) => ({ task: busy, input })))
    await until(() => started === 2)
    expect(await runtime.cancel(first?.taskId ?? '')).toBe(true)
    await until(() => aborted === 1)
    expect(await runtime.stop({ drain: false })).toEqual({ drained: false, released: 1 })
    await expect(runtime.stats()).rejects.toMatchObject({ code: 'store_closed' })
  })
})
