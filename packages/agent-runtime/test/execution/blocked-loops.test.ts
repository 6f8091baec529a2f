import { join } from 'node:path'
import { openStore } from '@ku0/agent-runtime-persistence'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type TaskContext } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { gate, turns, virtualEnvironment } from '../virtual-runtime.ts'

const input = z.null()

/** Two processes on one file. Their time goes on, and no timer of the first runs, while the event loop of the first is blocked. */
async function twoProcesses(handler: (ctx: TaskContext, block: (ms: number) => void) => Promise<unknown>) {
  const virtual = virtualEnvironment()
  let blockedMs = 0
  const clock = {
    now: () => virtual.clock.now() + blockedMs,
    monotonic: () => virtual.clock.monotonic() + blockedMs,
  }
  const environment = { ...virtual, clock }
  const database = join(folder(), 'store.db')
  const task = defineTask({ type: 'busy', input }, (ctx) => handler(ctx, (ms) => void (blockedMs += ms)))
  const writes: string[] = []
  const open = async (workers: number) => {
    const store = await openStore(`sqlite:${database}`, { environment, checked: false })
    const write = store.write.bind(store)
    store.write = (operation) => {
      if (workers > 0) writes.push(operation.kind)
      return write(operation)
    }
    const base = { store, environment, telemetry: false, logger: false, workers } as const
    const runtime = await createRuntime({ ...base, tasks: [task] })
    onTestFinished(async () => {
      const stopped = runtime.stop({ drain: false })
      void runtime.stop()
      await tick()
      await stopped
      await store.close()
    })
    return runtime
  }
  const tick = async (times = 3) => {
    for (let round = 0; round < times; round += 1) {
      virtual.clock.advanceBy(100)
      await turns()
    }
  }
  return { here: await open(1), elsewhere: await open(0), tick, writes }
}

test.each([250, 2_500, 4_000, 10_000])(
  'E01, C03 no step starts after a cancel was answered elsewhere, while its handler blocked the event loop for %i ms',
  async (ms) => {
    const ran: string[] = []
    const [begun, door] = [gate(), gate()]
    const { here, elsewhere, tick } = await twoProcesses(async (ctx, block) => {
      await ctx.step('first', () => ran.push('first'))
      begun.resolve()
      await door.promise
      block(ms)
      await ctx.step('second', () => ran.push('second'))
    })
    const { taskId } = await here.submit('busy', null)
    await tick()
    await begun.promise
    expect(await elsewhere.cancel(taskId)).toBe(true)
    door.resolve()
    await turns()
    expect(ran).toEqual(['first'])
    expect(await elsewhere.status(taskId)).toMatchObject({ state: 'canceled' })
  },
)

test('C03 a lease is confirmed once for each silence of the event loop, and by any write that was sent after it', async () => {
  const door = gate()
  const { here, tick, writes } = await twoProcesses(async (ctx, block) => {
    await ctx.step('a', () => 1)
    await ctx.step('b', () => 1)
    await door.promise
    block(2_500)
    await ctx.step('c', () => 1)
    await ctx.step('d', () => 1)
    await ctx.step('e', () => block(2_500))
    await ctx.step('f', () => 1)
    return 'done'
  })
  const { taskId } = await here.submit('busy', null)
  await tick()
  writes.splice(0)
  door.resolve()
  await turns()
  await tick(10)
  expect(await here.status(taskId)).toMatchObject({ state: 'completed', output: 'done' })
  expect(writes).toEqual(['appendOutput', 'recordStep', 'recordStep', 'recordStep', 'recordStep', 'settle'])
})
