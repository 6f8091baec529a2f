import { expect, describe, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime, ProcessCrashed, sweepCrashes } from '../../src/testing/index.ts'
import { double, broken } from './children-scene.ts'

describe('children (docs/semantics.md 5.5)', () => {
  const narrow = { queueDepthLimit: 2, batchBackpressureThreshold: 1 }

  test('a parent with children ends the same after a crash at every commit, and runs no recorded step twice', async () => {
    const leaf = defineTask({ type: 'leaf', input: z.number() }, async (ctx, input) => {
      const one = await ctx.step('one', () => input + 1)
      await ctx.sleep('nap', 100 * input)
      return ctx.step('two', () => one * 10)
    })
    const middle = defineTask({ type: 'middle', input: z.number() }, async (ctx, input) =>
      ctx.call('leaf', leaf, input),
    )
    const root = defineTask({ type: 'root', input: z.null() }, async (ctx) => {
      const free = await ctx.spawn('free', leaf, 1)
      const raced = await ctx.race('race', {
        a: (branch) => branch.call('a', leaf, 9),
        b: (branch) => branch.call('b', middle, 2),
      })
      const failed = await ctx.call('broken', broken, 'no').catch((error: Error) => error.name)
      return [await free.result(), raced, failed, await ctx.step('end', () => 'end')]
    })
    const { commits } = await sweepCrashes({
      tasks: [root, middle, leaf, broken],
      script: (it) => it.run(root, null),
      check: (_, result) => {
        expect(result).toEqual([20, { winner: 'b', value: 30 }, 'TaskFailed', 'end'])
      },
    })
    expect(commits).toBeGreaterThan(20)
  })

  test('the wait for room survives a crash at every commit', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) =>
      Promise.all(['a', 'b', 'c', 'd'].map((key, n) => ctx.call(key, double, n))),
    )
    const options = { tasks: [parent, double], config: narrow, workers: { capacity: 1 } }
    const run = async (crashAfterCommit?: number) => {
      const crash = crashAfterCommit === undefined ? { crashes: true } : { crashAfterCommit }
      await using it = await createTestRuntime({ ...options, ...crash })
      const receipt = await it.runtime.submit(parent, null, { taskId: 'it' }).catch(() => undefined)
      const result = () => it.result(receipt ?? 'it')
      const output = await result().catch(async (error: unknown) => {
        if (!(error instanceof ProcessCrashed)) throw error
        await it.restart()
        return result()
      })
      expect(output).toEqual([0, 2, 4, 6])
      return it.commits
    }
    // How often there is no room is another thing in every run.
    const commits = await run()
    for (let commit = 2; commit <= commits; commit += 1) await run(commit)
  })
})
