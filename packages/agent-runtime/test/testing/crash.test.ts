import { setImmediate as turn } from 'node:timers/promises'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type RuntimeEvent } from '../../src/index.ts'
import { createTestRuntime, ProcessCrashed } from '../../src/testing/index.ts'

/** Counts what its functions do outside. */
function walker() {
  const ran: string[] = []
  const walk = defineTask({ type: 'walk', input: z.number() }, async (ctx, steps) => {
    for (let n = 1; n <= steps; n += 1)
      await ctx.step(`step ${n}`, () => ran.push(`step ${n}, attempt ${ctx.attempt}`))
    await ctx.sleep('nap', 60_000)
    await ctx.step('last', () => ran.push(`last, attempt ${ctx.attempt}`))
    return ran.length
  })
  return { walk, ran }
}

describe('a crash', () => {
  test('after a commit: the next process takes over and runs no recorded step again', async () => {
    const { walk, ran } = walker()
    // The submission with the start, then a step each.
    await using world = await createTestRuntime({ tasks: [walk], crashAfterCommit: 3 })
    await expect(world.run(walk, 3, { taskId: 'walk' })).rejects.toThrow(ProcessCrashed)
    expect(world.commits).toBe(3)
    expect(() => world.runtime).toThrow(
      'the process crashed after commit 3: continue with `await test.restart()`',
    )
    await expect(world.settle()).rejects.toThrow(ProcessCrashed)
    const before = [...ran]
    await turn()
    expect(ran).toEqual(before)

    await world.restart()
    expect(await world.result('walk')).toBe(4)
    const history = await world.history('walk')
    expect(history.attempts).toBe(2)
    expect(history.steps.map(({ key, runs }) => [key, runs])).toEqual([
      ['step 1', 1],
      ['step 2', 1],
      ['step 3', 1],
      ['last', 1],
    ])
    expect(history.events).toContain('task.requeued')
  })

  test('leaves the series as it was: the next process counts the runs of the one before, each once', async () => {
    const { walk } = walker()
    await using world = await createTestRuntime({ tasks: [walk], crashAfterCommit: 3 })
    await expect(world.run(walk, 3, { taskId: 'walk' })).rejects.toThrow(ProcessCrashed)
    await world.restart()
    await world.result('walk')
    const counts = async () => {
      const { points } = await world.runtime.series({ windowMs: 600_000, stepMs: 600_000 })
      return points.map(({ started, completed, failed, running }) => ({
        started,
        completed,
        failed,
        running,
      }))
    }
    // The attempt that crashed, the one after it, and its pass after the nap.
    const all = [{ started: 3, completed: 1, failed: 0, running: 0 }]
    expect(await counts()).toEqual(all)
    world.crash()
    await world.restart()
    expect(await counts()).toEqual(all)
  })

  test('whenever the test wants, and again', async () => {
    const { walk, ran } = walker()
    await using world = await createTestRuntime({ tasks: [walk], crashes: true })
    const receipt = await world.runtime.submit(walk, 1)
    await world.until(receipt, 'waiting')
    world.crash()
    await world.restart()
    world.crashAfter(1)
    await expect(world.result(receipt)).rejects.toThrow(ProcessCrashed)
    await world.restart()
    expect(await world.result(receipt)).toBe(2)
    expect(ran).toHaveLength(2)
  })

  test('ends what is under way: nothing of it is heard of, and it runs again', async () => {
    const door = Promise.withResolvers<string>()
    const heard: unknown[] = []
    const task = defineTask({ type: 'slow', input: z.null() }, async (ctx) => {
      ctx.onCleanup(() => void heard.push('cleaned up'))
      const value = await ctx.step('work', () => (ctx.attempt === 1 ? door.promise : 'second'))
      heard.push(value)
      return value
    })
    await using world = await createTestRuntime({ tasks: [task], crashes: true, patienceMs: 0 })
    const receipt = await world.runtime.submit(task, null)
    await world.until(receipt, 'running')
    world.crash()
    door.resolve('first')
    await turn()
    await world.restart()
    expect(await world.result(receipt)).toBe('second')
    expect(heard).toEqual(['second'])
    expect((await world.history(receipt)).steps).toMatchObject([{ key: 'work', runs: 2 }])
  })

  test('a question from before is answered by the next process, and following goes on', async () => {
    const { walk } = walker()
    await using world = await createTestRuntime({ tasks: [walk], crashes: true })
    const { runtime } = world
    const events: RuntimeEvent[] = []
    runtime.on('task.*', (event) => events.push(event))
    const receipt = await runtime.submit(walk, 1)
    const result = runtime.result(receipt)
    await world.until(receipt, 'waiting')
    const asked = runtime.submit(walk, 2, { taskId: 'second' })
    world.crash()
    await expect(runtime.status(receipt)).rejects.toThrow(ProcessCrashed)
    await world.restart()
    expect(await asked).toMatchObject({ taskId: 'second', accepted: true })
    await world.result('second')
    expect(await result).toBeGreaterThan(0)
    expect(events.filter(({ type }) => type === 'task.completed')).toHaveLength(2)
  })

  test('is followed by as long a silence as the test wants', async () => {
    const { walk } = walker()
    await using world = await createTestRuntime({ tasks: [walk], crashes: true })
    const receipt = await world.runtime.submit(walk, 1)
    await world.until(receipt, 'waiting')
    const { now } = world
    world.crash()
    await world.advance(3 * 60_000)
    await expect(world.advance(-1)).rejects.toThrow('advance: ms, 0 or more')
    expect(world.now).toBe(now + 3 * 60_000)
    expect(() => world.runtime).toThrow(ProcessCrashed)
    await world.restart()
    await world.result(receipt)
    const { startedAt } = (await world.runtime.status(receipt)) as { startedAt?: number }
    expect(startedAt).toBeGreaterThanOrEqual(now + 3 * 60_000)
  })

  test('needs data that outlive a process', async () => {
    const { walk } = walker()
    await using world = await createTestRuntime({ tasks: [walk] })
    expect(world.runtime.info.location).toBe(':memory:')
    expect(() => world.crash()).toThrow('crashes: true')
    expect(() => world.crashAfter(1)).toThrow('crashes: true')
    expect(() => world.restart()).toThrow('has not crashed')
  })

  test('leaves no file behind', async () => {
    const { walk } = walker()
    const locations: string[] = []
    {
      await using world = await createTestRuntime({ tasks: [walk], crashes: true })
      locations.push(world.runtime.info.location)
      world.crash()
      await world.restart()
      locations.push(world.runtime.info.location)
      expect(locations.map((path) => existsSync(path))).toEqual([true, true])
      world.crash()
    }
    expect(locations.map((path) => existsSync(path))).toEqual([false, false])
  })
})
