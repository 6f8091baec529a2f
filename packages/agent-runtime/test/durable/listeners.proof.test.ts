import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { turns, until, virtualRuntime } from '../virtual-runtime.ts'

it('E11 ten thousand cancels leave no timer and no listener', async () => {
  const signals = new Set<AbortSignal>()
  let started = 0
  const task = defineTask({ type: 'long', input: z.null(), timeoutMs: 3_600_000 }, async (ctx) => {
    started += 1
    ctx.onCleanup(() => {})
    signals.add(ctx.signal)
    await ctx.step('wait', { timeoutMs: 60_000 }, ({ signal }) => {
      signals.add(signal)
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
      )
    })
  })
  const { runtime, environment } = await virtualRuntime({
    tasks: [task],
    workers: { capacity: 500 },
    config: { maxInFlightPerWorker: 500 },
  })
  const listening = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  const before = {
    timers: environment.clock.pending,
    listeners: listening(),
  }
  for (let round = 0; round < 20; round += 1) {
    const receipts = await runtime.submitMany(Array.from({ length: 500 }, () => ({ task, input: null })))
    const all = (round + 1) * 500
    await until(() => started === all)
    const canceled = await Promise.all(receipts.map((receipt) => runtime.cancel(receipt)))
    expect(new Set(canceled)).toEqual(new Set([true]))
    while ((await runtime.stats()).inFlight > 0) await turns()
    const left = [...signals].filter((signal) => getEventListeners(signal, 'abort').length > 0)
    expect([signals.size, left.length]).toEqual([1_000, 0])
    signals.clear()
  }
  await turns()
  expect({
    timers: environment.clock.pending,
    listeners: listening(),
  }).toEqual(before)
  expect(runtime.leaked()).toEqual([])
  expect((await runtime.stats()).totals).toMatchObject({ canceled: 10_000 })
})
