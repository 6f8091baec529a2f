import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const input = z.any()
const nap = defineTask({ type: 'nap', input }, (ctx) => ctx.sleep('a day', 86_400_000))
const wait = defineTask({ type: 'wait', input }, (ctx) => ctx.waitForSignal('go'))
const family = defineTask({ type: 'family', input }, async (ctx) => {
  const child = await ctx.spawn('child', nap, null)
  return child.result()
})

const open = () => createTestRuntime({ tasks: [nap, wait, family] })

describe('cancelMany', () => {
  test('5.8 cancels what the filter selects, and nothing else', async () => {
    await using it = await open()
    const { runtime } = it
    const naps = await runtime.submitMany(Array.from({ length: 3 }, () => ({ task: nap, input: null })))
    const other = await runtime.submit(wait, null)
    await it.until(other, 'waiting')
    expect(await runtime.cancelMany({ types: ['nap'] }, { reason: 'a bad deploy' })).toEqual({
      found: 3,
      canceled: 3,
      refused: false,
    })
    const states = await Promise.all([...naps, other].map((receipt) => runtime.status(receipt)))
    expect(states.map((status) => status?.state)).toEqual(['canceled', 'canceled', 'canceled', 'waiting'])
    await expect(runtime.result(naps[0] ?? '')).rejects.toThrow('a bad deploy')
  })

  test('5.8 cancels nothing when another number of tasks is found than was expected', async () => {
    await using it = await open()
    const { runtime } = it
    await runtime.submitMany([
      { task: nap, input: null },
      { task: nap, input: null },
    ])
    const filter = { types: ['nap'] }
    expect(await runtime.cancelMany(filter, { expect: 0 })).toEqual({ found: 2, canceled: 0, refused: true })
    expect((await runtime.list({ states: ['canceled'] })).tasks).toEqual([])
    expect(await runtime.cancelMany(filter, { expect: 2 })).toEqual({ found: 2, canceled: 2, refused: false })
    expect(await runtime.cancelMany(filter, { expect: 0 })).toEqual({ found: 0, canceled: 0, refused: false })
  })

  test('5.8 goes through more tasks than a slice holds, children before their parents', async () => {
    await using it = await open()
    const { runtime } = it
    await runtime.submitMany(Array.from({ length: 430 }, () => ({ task: nap, input: null })))
    const parent = await runtime.submit(family, null)
    await it.until(parent, 'waiting')
    const all = await runtime.cancelMany({}, { expect: 432 })
    expect(all).toEqual({ found: 432, canceled: 432, refused: false })
    expect((await runtime.list({ states: ['canceled'], limit: 1_000 })).tasks).toHaveLength(432)
  })

  test('5.8 leaves a task alone that has left the states of the filter', async () => {
    await using it = await open()
    const { runtime } = it
    const done = await runtime.submit(nap, null)
    await runtime.cancel(done)
    const sleeping = await runtime.submit(wait, null)
    await it.until(sleeping, 'waiting')
    expect(await runtime.cancelMany({ states: ['running'] })).toMatchObject({ found: 0 })
    expect((await runtime.status(sleeping))?.state).not.toBe('canceled')
  })

  test('an empty filter needs a number, and what is no filter is refused', async () => {
    await using it = await open()
    const { runtime } = it
    await expect(runtime.cancelMany({})).rejects.toThrow(/an empty filter selects every open task/)
    await expect(runtime.cancelMany({ states: ['completed' as 'queued'] })).rejects.toThrow(
      /queued, running, waiting/,
    )
    await expect(runtime.cancelMany({ types: ['nap'] }, { expect: -1 })).rejects.toThrow(/expect/)
  })
})
