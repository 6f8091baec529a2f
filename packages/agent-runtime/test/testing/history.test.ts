import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const order = defineTask({ type: 'order', input: z.object({ item: z.string() }) }, async (ctx, { item }) => {
  const price = await ctx.step('price', () => item.length)
  const { winner } = await ctx.race('decision', {
    paid: (c) => c.waitForSignal('payment', { signal: 'paid' }),
    late: (c) => c.sleep('patience', 60_000),
  })
  await ctx.step(
    'ship',
    { retry: { attempts: 2, backoff: { initialMs: 2_000, jitter: 0.5 } } },
    async (step) => {
      await Promise.resolve(step.idempotencyKey)
      tries.push(ctx.taskId)
      if (tries.filter((id) => id === ctx.taskId).length === 1) throw new Error('no carrier')
    },
  )
  return { price, winner }
})
const tries: string[] = []

async function play(seed: string) {
  tries.length = 0
  await using runtime = await createTestRuntime({ tasks: [order], seed })
  const receipt = await runtime.runtime.submit(order, { item: 'lamp' })
  await runtime.until(receipt, 'waiting')
  await runtime.advance(5_000)
  await runtime.runtime.signal(receipt, 'paid', { by: 'card' })
  await runtime.result(receipt)
  return runtime.history(receipt)
}

describe('history', () => {
  test('tells steps, waits, events and attempts', async () => {
    const history = await play('one')
    expect(history).toMatchObject({ type: 'order', state: 'completed', attempts: 1, passes: 3 })
    expect(history.steps).toEqual([
      { key: 'price', result: 4, attempt: 1, runs: 1 },
      { key: 'decision', result: { winner: 'paid', value: { by: 'card' } }, attempt: 1, runs: 0 },
      { key: 'ship', result: undefined, attempt: 1, runs: 2 },
    ])
    expect(history.waits).toEqual([
      { key: 'payment', kind: 'signal', name: 'paid', outcome: 'received', value: { by: 'card' } },
      { key: 'patience', kind: 'timer' },
    ])
    expect(history.events.filter((type) => type.startsWith('step.'))).toEqual([
      'step.completed',
      'step.completed',
      'step.failed',
      'step.completed',
    ])
  })

  test('reads as a line for each event, by the time since the submission', async () => {
    const text = (await play('one')).toString()
    expect(
      text
        .split('\n')
        .map((line) => line.trim())
        .slice(1, 8),
    ).toEqual([
      '+0ms  task.queued      normal, input {"item":"lamp"}',
      '+0ms  task.started     attempt 1',
      "+0ms  step.completed   'price' = 4",
      "+0ms  task.waiting     for 'payment' (signal 'paid'), for 'patience', due in 1m",
      '+5s  signal.received  \'paid\' with {"by":"card"}',
      '+5s  task.resumed     \'payment\' has its signal with {"by":"card"}',
      '+5s  task.started     attempt 1',
    ])
    expect(text).toContain("'ship' threw Error: no carrier, retry 1 follows")
    expect(text).toContain("the back-off before retry 1 of 'ship'")
    expect(text).toContain("'ship' = undefined, ran 2 times")
  })

  test('is the same for the same seed and script, text and order hash; another seed draws other chance', async () => {
    const [one, again, other] = [await play('one'), await play('one'), await play('other')]
    expect(again.toString()).toBe(one.toString())
    expect(again).toEqual(one)
    expect(other.orderHash).toBe(one.orderHash)
    expect(other.toString()).not.toBe(one.toString())
  })

  test('a task that is not over has one, an unknown one has none', async () => {
    await using runtime = await createTestRuntime({ tasks: [order], workers: 0 })
    const receipt = await runtime.runtime.submit(order, { item: 'lamp' })
    expect((await runtime.history(receipt)).events).toEqual(['task.queued'])
    await expect(runtime.history('nobody')).rejects.toMatchObject({ code: 'not_found' })
  })
})
