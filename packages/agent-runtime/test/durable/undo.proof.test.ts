import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { gate, turns, until, virtualRuntime } from '../virtual-runtime.ts'

const parts = ['train', 'hotel']
const input = z.enum(['waits', 'runs'])

/** The recipe of `docs/cookbook.md`: a child does the work, and its parent undoes it. */
function trips() {
  const booked = new Set<string>()
  const door = gate()
  const booking = defineTask({ type: 'booking', input, timeoutMs: 60_000 }, async (ctx, how) => {
    for (const part of parts) await ctx.step(`book ${part}`, () => void booked.add(part))
    if (how === 'waits') await ctx.waitForSignal('paid')
    else await ctx.step('pay', () => door.promise)
  })
  const trip = defineTask({ type: 'trip', input }, async (ctx, how) => {
    try {
      await ctx.call('book', booking, how, { taskId: 'booking' })
    } catch (error) {
      for (const part of parts.toReversed())
        await ctx.step(`undo ${part}`, { retry: { attempts: 10 } }, () => void booked.delete(part))
      throw error
    }
  })
  return { booked, door, booking, trip }
}

describe('a parent undoes what its child did (docs/cookbook.md)', () => {
  test.each(['waits', 'runs'] as const)('when the child is canceled while it %s', async (how) => {
    const { booked, door, booking, trip } = trips()
    const { runtime, elapse } = await virtualRuntime({ tasks: [booking, trip] })
    const receipt = await runtime.submit(trip, how)
    await until(() => booked.size === 2)
    await elapse(1_000)
    expect((await runtime.status('booking'))?.state).toBe(how === 'waits' ? 'waiting' : 'running')
    expect(await runtime.cancel('booking', { reason: 'she stays at home' })).toBe(true)
    await elapse(1_000)
    await expect(runtime.result(receipt)).rejects.toThrow('she stays at home')
    expect(booked).toEqual(new Set())
    door.resolve()
  })

  test('when the time of the child is over', async () => {
    const { booked, door, booking, trip } = trips()
    const { runtime, elapse } = await virtualRuntime({ tasks: [booking, trip] })
    const receipt = await runtime.submit(trip, 'runs')
    await until(() => booked.size === 2)
    await elapse(60_001)
    await expect(runtime.result(receipt)).rejects.toThrow('booking failed (timeout)')
    expect(booked).toEqual(new Set())
    door.resolve()
  })

  test('except when the parent itself is canceled: its child is canceled with it, and nothing undoes', async () => {
    const { booked, booking, trip } = trips()
    const { runtime } = await virtualRuntime({ tasks: [booking, trip] })
    const receipt = await runtime.submit(trip, 'waits')
    await until(() => booked.size === 2)
    await turns()
    expect(await runtime.cancel(receipt)).toBe(true)
    await turns()
    expect((await runtime.status('booking'))?.state).toBe('canceled')
    expect(booked).toEqual(new Set(parts))
  })
})

test('a clean-up hook is called with the reason at each wait and each back-off, and not for a cancel of a task that waits (docs/semantics.md 5.1)', async () => {
  const called: string[] = []
  let tries = 0
  const task = defineTask({ type: 'reserves', input: z.null() }, async (ctx) => {
    ctx.onCleanup((reason) => void called.push(reason))
    await ctx.step('try', { retry: { attempts: 2 } }, () => {
      tries += 1
      if (tries === 1) throw new Error('busy')
    })
    called.push('tried')
    await ctx.waitForSignal('go')
  })
  await using it = await createTestRuntime({ tasks: [task] })
  const receipt = await it.runtime.submit(task, null)
  await it.advance(60_000)
  await it.until(receipt, 'waiting')
  expect(called).toEqual(['waiting', 'tried', 'waiting'])
  expect(await it.runtime.cancel(receipt)).toBe(true)
  await turns()
  expect(called).toEqual(['waiting', 'tried', 'waiting'])
})
