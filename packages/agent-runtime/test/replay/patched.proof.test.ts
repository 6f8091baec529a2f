import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'

describe('ctx.patched (docs/semantics.md 6.4)', () => {
  test('is the same after a crash at any commit', async () => {
    const task = defineTask({ type: 'patched', input: z.null() }, async (ctx) => {
      const [early, , late] = [
        await ctx.patched('early'),
        await ctx.step('a', () => 1),
        await ctx.patched('late'),
      ]
      await ctx.sleep('nap', 1_000)
      await ctx.step('b', () => 2)
      return [early, late, await ctx.patched('late'), await ctx.patched('last')]
    })
    const { commits, crashedAfter } = await sweepCrashes({
      tasks: [task],
      script: async (crashing) => {
        const result = await crashing.run(task, null)
        if (JSON.stringify(result) !== '[true,true,true,true]')
          throw new Error(`it answered ${JSON.stringify(result)}`)
      },
    })
    expect(crashedAfter).toHaveLength(commits)
  })
})
