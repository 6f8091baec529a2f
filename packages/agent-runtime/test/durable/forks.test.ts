import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineTask, type Receipt } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { turns, virtualRuntime } from '../virtual-runtime.ts'

/** A trip in three steps; the last one fails as long as it is told to. */
function trip() {
  const ran: string[] = []
  const fails = { last: true }
  const task = defineTask({ type: 'trip', input: z.object({ to: z.string() }) }, async (ctx, { to }) => {
    const flight = await ctx.step('flight', () => (ran.push('flight'), `flight to ${to}`))
    const hotel = await ctx.step('hotel', () => (ran.push('hotel'), `hotel for ${flight}`))
    await ctx.step('pay', () => {
      ran.push('pay')
      if (fails.last) throw new Error('card refused')
    })
    return hotel
  })
  return { task, ran, fails }
}

describe('retry (docs/semantics.md 1.2, 6.3)', () => {
  it('1.2 a failed task is tried again as a new one; completed steps do not run again', async () => {
    const { task, ran, fails } = trip()
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, { to: 'Oslo' })
    await expect(runtime.result(receipt)).rejects.toMatchObject({ name: 'TaskFailed' })
    fails.last = false
    const again = await runtime.retry(receipt)
    expectTypeOf(again).toEqualTypeOf<Receipt<string>>()
    expect(again).toMatchObject({ accepted: true, deduplicated: false })
    expect(await runtime.result(again)).toBe('hotel for flight to Oslo')
    expect(ran).toEqual(['flight', 'hotel', 'pay', 'pay'])
    expect(await runtime.status(receipt)).toMatchObject({ state: 'failed' })
    expect(await runtime.status(again)).toMatchObject({ state: 'completed', attempt: 1, steps: 3 })
  })

  it('2.7 with a key of its own it is made once, however often it is asked for', async () => {
    const { task, fails } = trip()
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, { to: 'Oslo' }, { idempotencyKey: 'the first' })
    await runtime.result(receipt).catch(() => {})
    fails.last = false
    const [one, two] = [
      await runtime.retry(receipt, { idempotencyKey: 'the second', taskId: 'mine' }),
      await runtime.retry(receipt, { idempotencyKey: 'the second', taskId: 'mine' }),
    ]
    expect([one.taskId, two.taskId, two.accepted && two.deduplicated]).toEqual(['mine', 'mine', true])
  })

  it('1.2 is refused for a task that is not failed or canceled, unknown ones, and after stop', async () => {
    const { task, fails } = trip()
    fails.last = false
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, { to: 'Oslo' })
    await runtime.result(receipt)
    await expect(runtime.retry(receipt)).rejects.toThrow(
      /is completed; only failed, canceled and parked tasks/,
    )
    await expect(runtime.retry('nobody')).rejects.toMatchObject({ code: 'not_found' })
    await expect(runtime.retry(receipt, { key: 'x' } as never)).rejects.toThrow(/no such option/)
    await runtime.stop()
    await expect(runtime.retry(receipt)).rejects.toMatchObject({ code: 'shutdown' })
  })

  it('5.2 a canceled task can be tried again', async () => {
    const { task, fails } = trip()
    fails.last = false
    const { runtime } = await virtualRuntime({ tasks: [task], start: false })
    const receipt = await runtime.submit(task, { to: 'Oslo' })
    await runtime.cancel(receipt)
    const again = await runtime.retry(receipt)
    await runtime.start()
    expect(await runtime.result(again)).toBe('hotel for flight to Oslo')
  })
})

describe('fork (docs/semantics.md 6.3)', () => {
  it('6.3 steps before the given one stay, with edits; the rest runs again; the original is untouched', async () => {
    const { task, ran, fails } = trip()
    fails.last = false
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, { to: 'Oslo' })
    expect(await runtime.result(receipt)).toBe('hotel for flight to Oslo')
    const before = await runtime.status(receipt)
    const fork = await runtime.fork(receipt, { fromStep: 'hotel', edits: { flight: 'train to Bergen' } })
    expect(await runtime.result(fork)).toBe('hotel for train to Bergen')
    expect(ran).toEqual(['flight', 'hotel', 'pay', 'hotel', 'pay'])
    expect(await runtime.status(receipt)).toEqual(before)
  })

  it('6.3 values of an edit are as rich as results', async () => {
    const task = defineTask({ type: 'when', input: z.null() }, (ctx) =>
      ctx.step('look', (): Date | null => null).then((date) => ctx.step('say', () => date?.getTime() ?? 0)),
    )
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    expect(await runtime.result(receipt)).toBe(0)
    const fork = await runtime.fork(receipt, { fromStep: 'say', edits: { look: new Date(5) } })
    expect(await runtime.result(fork)).toBe(5)
  })

  it('12.3 a fork of a task that waited does not wait again for what was over', async () => {
    const task = defineTask({ type: 'nap', input: z.null() }, async (ctx) => {
      await ctx.sleep('nap', 60_000)
      return ctx.step('wake', () => 'awake')
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(10)
    expect(await runtime.status(receipt)).toMatchObject({ state: 'waiting' })
    await elapse(60_000)
    expect(await runtime.result(receipt)).toBe('awake')
    const fork = await runtime.fork(receipt, { fromStep: 'wake' })
    await turns()
    expect(await runtime.result(fork)).toBe('awake')
  })

  it('6.3 only results of steps can be edited: for what else is recorded under a key it says what that is', async () => {
    const child = defineTask({ type: 'child', input: z.null() }, () => 1)
    const task = defineTask({ type: 'mixed', input: z.null() }, async (ctx) => {
      await ctx.sleep('nap', 1)
      await ctx.waitForSignal('go')
      await ctx.call('child', child, null)
      await ctx.requestApproval('plan', 1)
      return ctx.step('end', () => 1)
    })
    await using testing = await createTestRuntime({ tasks: [task, child] })
    const { runtime } = testing
    const receipt = await runtime.submit(task, null)
    await runtime.signal(receipt, 'go', 1)
    await testing.until(receipt, (status) => status.state === 'waiting' && status.waitingFor === 'approval')
    const { approvals } = await runtime.approvals.list()
    await runtime.approvals.approve(approvals[0]?.approvalId ?? '')
    await testing.result(receipt)
    for (const [key, kind] of [
      ['nap', 'a timer'],
      ['go', 'a signal'],
      ['child', 'a child'],
      ['plan', 'an approval'],
    ] as const)
      for (const from of [{}, { fromStep: 'end' }])
        await expect(runtime.fork(receipt, { ...from, edits: { [key]: 1 } })).rejects.toThrow(
          `edit '${key}': it is ${kind}; only the results of steps can be edited`,
        )
  })

  it('6.3 a step that was not completed, or is not kept, is named', async () => {
    const { task } = trip()
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, { to: 'Oslo' })
    await runtime.result(receipt).catch(() => {})
    await expect(runtime.fork(receipt, { fromStep: 'pay' })).rejects.toThrow(
      /has not completed a step 'pay'$/,
    )
    for (const key of ['flight', 'hotel'])
      await expect(runtime.fork(receipt, { fromStep: 'flight', edits: { [key]: 1 } })).rejects.toThrow(
        `edit '${key}': a fork from 'flight' runs this step again; only results of steps before it can be edited`,
      )
    await expect(runtime.fork(receipt, { fromStep: 'hotel', edits: { pay: 1 } })).rejects.toThrow(
      /edit 'pay': task .* has not completed a step 'pay'$/,
    )
    await expect(runtime.fork(receipt, { edits: { hotel: () => 1 } })).rejects.toMatchObject({
      code: 'step_not_serializable',
    })
    await expect(runtime.fork(receipt, { edits: [] } as never)).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })
})
