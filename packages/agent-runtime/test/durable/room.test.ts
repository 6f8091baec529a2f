import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const nothing = defineTask({ type: 'nothing', input: z.number() }, (_, n) => n)
const fanOut = defineTask({ type: 'fanOut', input: z.number() }, async (ctx, count) => {
  const calls = Array.from({ length: count }, (_, n) => ctx.call(`child ${n}`, nothing, n))
  return (await Promise.all(calls)).reduce((sum, n) => sum + n, 0)
})
const sumTo = (count: number) => (count * (count - 1)) / 2
const narrow = { queueDepthLimit: 2, batchBackpressureThreshold: 1 }

describe('children that find no room (docs/semantics.md 5.5)', () => {
  test('children that find no room stand in line behind one wait, and go as soon as one has ended', async () => {
    await using it = await createTestRuntime({
      tasks: [fanOut, nothing],
      config: narrow,
      workers: { capacity: 1 },
    })
    const receipt = await it.runtime.submit(fanOut, 100)
    const began = it.now
    expect(await it.result(receipt)).toBe(sumTo(100))
    expect(it.now - began).toBe(0)
    expect((await it.runtime.stats()).totals).toMatchObject({ submitted: 101, rejected: 0 })
    expect((await it.history(receipt)).events.length).toBeLessThan(700)
    const children = (await it.runtime.list({ parent: receipt.taskId, limit: 100 })).tasks.toReversed()
    expect(children.map(({ input }) => input)).toEqual(Array.from({ length: 100 }, (_, n) => n))
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    expect(await it.result(await it.runtime.fork(receipt))).toBe(sumTo(100))
  })

  test('thousands of calls side by side need no more than the settings that are there', async () => {
    await using it = await createTestRuntime({ tasks: [fanOut, nothing] })
    expect(await it.run(fanOut, 2_500)).toBe(sumTo(2_500))
    expect((await it.runtime.stats()).totals.rejected).toBe(0)
  })

  test('steps that are tried again do not count among the waits of a task, but have a limit of their own', async () => {
    let failures = 0
    const shaky = defineTask({ type: 'shaky', input: z.number() }, async (ctx, count) => {
      const tried = new Set<number>()
      const step = (n: number) =>
        ctx.step(`step ${n}`, { retry: { attempts: 2, backoff: { initialMs: 1_000, jitter: 0 } } }, () => {
          if (failures >= count || tried.has(n)) return n
          failures += 1
          throw new Error('shaken')
        })
      return (await Promise.all(Array.from({ length: count }, (_, n) => step(n)))).length
    })
    await using it = await createTestRuntime({ tasks: [shaky] })
    expect(await it.run(shaky, 1_100)).toBe(1_100)
    failures = 0
    await using tight = await createTestRuntime({ tasks: [shaky], config: { maxBackOffs: 2 } })
    const receipt = await tight.runtime.submit(shaky, 3)
    await expect(tight.result(receipt)).rejects.toMatchObject({
      code: 'limit_exceeded',
      message: expect.stringContaining('at most maxBackOffs 2') as string,
    })
  })

  test('who leaves the line lets the next one wait: a branch that lost, a task that is canceled', async () => {
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
