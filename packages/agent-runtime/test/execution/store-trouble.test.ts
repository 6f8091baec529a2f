import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'
import { folder, run } from '../real-processes.ts'
import { gate, turns, until, virtualRuntime } from '../virtual-runtime.ts'

const lockHolder = new URL('../processes/lock-holder.ts', import.meta.url)

describe('execution: trouble of the store', () => {
  test('a database that others hold for longer than the retries last fails no task: its writes are asked again', async () => {
    const database = join(folder(), 'store.db')
    const doors = { step: gate(), end: gate() }
    const task = defineTask({ type: 'patient', input: z.null() }, async (ctx) => {
      // Its time is for its function: how long the store takes to record it does not count.
      const value = await ctx.step('one', { timeoutMs: 5_000 }, () => doors.step.promise.then(() => 'stored'))
      await doors.end.promise
      return value
    })
    const { runtime, block, elapse, log } = await virtualRuntime({ tasks: [task], database })
    const receipt = await runtime.submit(task, null)
    await turns()

    for (const door of [doors.step, doors.end]) {
      const holder = run(lockHolder, database)
      await holder.said('locked')
      const refused = runtime.submit(task, null).catch((error: { code: string }) => error.code)
      door.resolve()
      await turns()
      await block(12_000)
      expect(await refused).toBe('store_busy')
      expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'running' })
      holder.process.stdin?.end()
      await holder.ended
      await elapse(500)
    }
    expect(await runtime.result(receipt)).toBe('stored')
    expect(await runtime.status(receipt.taskId)).toMatchObject({ attempt: 1, steps: 1 })
    expect(log.filter(({ level }) => level === 'error')).toEqual([])
  })
})

test('a stopping runtime takes no slot back, also when the store has not taken that it stops', async () => {
  const database = join(folder(), 'store.db')
  const doors = [gate(), gate(), gate()]
  const task = defineTask({ type: 'patient', input: z.number() }, (_, n) => doors[n]?.promise)
  const { runtime, store, block, elapse } = await virtualRuntime({
    tasks: [task],
    database,
    workers: { count: 1, capacity: 2 },
  })
  const receipts = await runtime.submitMany([0, 1, 2].map((input) => ({ task, input })))
  await turns()
  const holder = run(lockHolder, database)
  await holder.said('locked')
  const stopped = runtime.stop({ graceMs: 20_000 })
  await turns()
  await block(12_000)
  holder.process.stdin?.end()
  await holder.ended

  doors[0]?.resolve()
  await elapse(500)
  const taskId = receipts[2]?.taskId ?? ''
  const events = await store.read({ kind: 'events', taskId, after: 0, limit: 10 })
  expect(events?.map(({ type }) => type)).toEqual(['task.queued'])
  doors[1]?.resolve()
  await elapse(500)
  expect(await stopped).toEqual({ drained: true, released: 0 })
})

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
