import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { nothing, fanOut, sumTo } from './room-scene.ts'

const narrow = { queueDepthLimit: 2, batchBackpressureThreshold: 1 }

describe('children that find no room (docs/semantics.md 5.5)', () => {
  test('children that find no room stand in line behind one wait, and go as soon as one has ended', async () => {
    await using it = await createTestRuntime({
      tasks: [fanOut, nothing],
      config: narrow,
      workers: { capacity: 1 },
    })
    const receipt = await it.runtime.submit(fanOut, 40)
    const began = it.now
    expect(await it.result(receipt)).toBe(sumTo(40))
    expect(it.now - began).toBe(0)
    expect((await it.runtime.stats()).totals).toMatchObject({ submitted: 41, rejected: 0 })
    expect((await it.history(receipt)).events.length).toBeLessThan(280)
    const children = (await it.runtime.list({ parent: receipt.taskId, limit: 100 })).tasks.toReversed()
    expect(children.map(({ input }) => input)).toEqual(Array.from({ length: 40 }, (_, n) => n))
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    expect(await it.result(await it.runtime.fork(receipt))).toBe(sumTo(40))
  })

  test('the end of a child lets the first in line try again at once, also in a pass that a step keeps alive', async () => {
    const door = Promise.withResolvers<void>()
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const busy = ctx.step('busy', () => door.promise)
      const first = ctx.call('first', nothing, 1).catch(() => 'canceled')
      const second = ctx.call('second', nothing, 2).catch(() => 'canceled')
      return [await busy, await first, await second]
    })
    await using it = await createTestRuntime({
      tasks: [parent, nothing],
      config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 },
      workers: { types: ['parent'] },
    })
    const { taskId } = await it.runtime.submit(parent, null)
    const children = async () => (await it.runtime.list({ parent: taskId })).tasks
    // The waits before were 100 ms, 200, …, 6.4 s: the next ends after 25.5 s.
    await it.advance(20_000)
    const [first] = await children()
    expect(await children()).toMatchObject([{ input: 1 }])
    await it.runtime.cancel(first?.taskId ?? '')
    await it.advance(1_000)
    expect(await children()).toMatchObject([{ input: 2 }, { input: 1, state: 'canceled' }])
    door.resolve()
  })

  test('a call that comes when the line is gone is submitted at once, also in a pass that a step keeps alive', async () => {
    const door = Promise.withResolvers<void>()
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const busy = ctx.step('busy', () => door.promise)
      const child = (n: number) => ctx.call(`child ${n}`, nothing, n).catch(() => 'canceled')
      await Promise.all([child(1), child(2)])
      await child(3)
      await busy
    })
    await using it = await createTestRuntime({
      tasks: [parent, nothing],
      config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 },
      workers: { types: ['parent'] },
    })
    const { taskId } = await it.runtime.submit(parent, null)
    const queued = async () => (await it.runtime.list({ parent: taskId, states: ['queued'] })).tasks
    for (const input of [1, 2, 3]) {
      await it.advance(1_000)
      const [child] = await queued()
      expect(child).toMatchObject({ input })
      await it.runtime.cancel(child?.taskId ?? '')
    }
    door.resolve()
  })

  test('a call that leaves the line lets the next one wait: a branch that lost, a task that is canceled', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      await ctx.waitForSignal('go')
      const raced = ctx.race('race', {
        child: (c) => c.call('first', nothing, 1),
        late: (c) => c.sleep('patience', 1_000),
      })
      const second = ctx.call('second', nothing, 2)
      return [(await raced).winner, await second]
    })
    const other = defineTask({ type: 'other', input: z.null() }, (ctx) => ctx.sleep('long', 5_000))
    await using it = await createTestRuntime({
      tasks: [parent, nothing, other],
      config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 },
      workers: { types: ['parent'] },
    })
    const receipt = await it.runtime.submit(parent, null)
    await it.settle()
    const full = await it.runtime.submit(other, null)
    await it.runtime.signal(receipt, 'go', null)
    await it.advance(500)
    expect(await it.runtime.list({ parent: receipt.taskId })).toMatchObject({ tasks: [] })
    const waits = async () => {
      const task = await it.runtime.status(receipt)
      return task?.state === 'waiting' ? task.waits?.map(({ key }) => key) : task?.state
    }
    expect(await waits()).toEqual([expect.stringContaining('/first'), 'patience'])
    await it.advance(600)
    expect(await waits()).toEqual([expect.stringContaining('/second')])
    const canceled = await it.runtime.fork(receipt)
    expect(canceled.accepted).toBe(false)
    await it.runtime.cancel(full)
    await it.advance(30_000)
    expect(await it.runtime.list({ parent: receipt.taskId })).toMatchObject({ tasks: [{ state: 'queued' }] })
    expect(await it.runtime.cancel(receipt)).toBe(true)
    expect((await it.runtime.stats()).totals.rejected).toBe(1)
  })
})
