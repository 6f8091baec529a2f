import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, NonRetryableError } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const input = z.any()
const started = () => {
  const runs = { first: 0, isDown: true }
  const fetches = defineTask({ type: 'fetches', input }, async (ctx) => {
    await ctx.step('first', () => void (runs.first += 1))
    if (runs.isDown) throw new NonRetryableError('the provider is down')
    return 'fetched'
  })
  const family = defineTask({ type: 'family', input }, async (ctx) => {
    const child = await ctx.spawn('child', fetches, null)
    return child.result()
  })
  const naps = defineTask({ type: 'naps', input }, (ctx) => ctx.sleep('a day', 86_400_000))
  return createTestRuntime({ tasks: [fetches, family, naps] }).then((it) => ({
    it,
    runs,
    fetches,
    family,
    naps,
  }))
}
const none = { retried: 0, before: 0, rejected: 0, skipped: 0, refused: false }

describe('retryMany', () => {
  test('6.3 retries what failed, once, oldest first, with its completed steps', async () => {
    const { it, runs, fetches, naps } = await started()
    await using _ = it
    const { runtime } = it
    const failed = await runtime.submitMany(Array.from({ length: 3 }, () => ({ task: fetches, input: null })))
    for (const receipt of failed) await expect(it.result(receipt)).rejects.toThrow('the provider is down')
    const canceled = await runtime.submit(naps, null)
    await runtime.cancel(canceled)
    runs.isDown = false

    expect(await runtime.retryMany({}, { expect: 0 })).toEqual({ ...none, found: 3, refused: true })
    expect(await runtime.retryMany({}, { expect: 3 })).toEqual({ ...none, found: 3, retried: 3 })
    const { tasks } = await runtime.list({ types: ['fetches'] })
    const again = tasks.slice(0, 3).toReversed()
    for (const { taskId } of again) expect(await it.result(taskId)).toBe('fetched')
    expect(runs.first).toBe(3)
    const origins = await Promise.all(again.map(({ taskId }) => runtime.history(taskId)))
    expect(origins.map(({ events }) => events[0]?.data)).toMatchObject(
      failed.map(({ taskId }) => ({ forkOf: taskId })),
    )
    expect(await runtime.retryMany({ types: ['fetches'] })).toEqual({ ...none, found: 3, before: 3 })
    expect(await runtime.retryMany({ types: ['fetches'] }, { again: true })).toMatchObject({ retried: 3 })
    expect(await runtime.retryMany({ states: ['canceled'] })).toEqual({ ...none, found: 1, retried: 1 })
  })

  test('6.3 leaves out children, which the retry of their parent starts again', async () => {
    const { it, runs, family } = await started()
    await using _ = it
    const { runtime } = it
    const parent = await runtime.submit(family, null)
    await expect(it.result(parent)).rejects.toThrow('the provider is down')
    runs.isDown = false
    expect(await runtime.retryMany({}, { expect: 1 })).toMatchObject({ found: 1, retried: 1 })
    expect(await runtime.retryMany({}, { expect: 0, children: true })).toMatchObject({ found: 2 })
    expect(await runtime.retryMany({ parent: parent.taskId })).toMatchObject({ found: 1, retried: 1 })
  })

  test('6.3 retries the tasks of a list, in its order, and says which it left alone', async () => {
    const { it, fetches, naps } = await started()
    await using _ = it
    const { runtime } = it
    const failed = await runtime.submit(fetches, null)
    await expect(it.result(failed)).rejects.toThrow('down')
    const open = await runtime.submit(naps, null)
    const list = [failed, open, 'nobody', failed.taskId]
    expect(await runtime.retryMany(list, { expect: 4 })).toMatchObject({ found: 3, refused: true })
    expect(await runtime.retryMany(list)).toEqual({ ...none, found: 3, retried: 1, skipped: 2 })
  })

  test('6.3 goes on with the rest once there is room again', async () => {
    const fails = defineTask({ type: 'fails', input }, () => {
      throw new Error('no')
    })
    await using it = await createTestRuntime({
      tasks: [fails],
      config: { queueDepthLimit: 150, batchBackpressureThreshold: 150 },
    })
    const { runtime } = it
    const failed = await runtime.submitMany(Array.from({ length: 140 }, () => ({ task: fails, input: null })))
    for (const receipt of failed) await expect(it.result(receipt)).rejects.toThrow('no')
    await runtime.pauseQueue({ types: ['fails'] })
    await runtime.submitMany(Array.from({ length: 40 }, () => ({ task: fails, input: null })))
    const first = await runtime.retryMany({ types: ['fails'] })
    expect(first).toMatchObject({ found: 140, retried: 110, full: { reason: 'queue_full' } })
    await runtime.cancelMany({ types: ['fails'] })
    const second = await runtime.retryMany({ types: ['fails'] })
    expect(second).toEqual({ ...none, found: 140, retried: 30, before: 110 })
  })

  test('an empty filter needs a number, and what is no filter is refused', async () => {
    const { it } = await started()
    await using _ = it
    const { runtime } = it
    await expect(runtime.retryMany({})).rejects.toThrow(/an empty filter selects every failed task/)
    await expect(runtime.retryMany({ states: ['completed' as 'failed'] })).rejects.toThrow(/failed, canceled/)
    await expect(runtime.retryMany({ types: ['naps'] }, { expect: -1 })).rejects.toThrow(/expect/)
    await expect(runtime.retryMany([5 as never])).rejects.toThrow(/retryMany: a receipt, or a task id/)
  })
})
