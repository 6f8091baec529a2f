import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { turns } from '../virtual-runtime.ts'

describe('execution: waits and crashes', () => {
  test.each(['emit', 'checkpoint', 'heartbeat'] as const)(
    'a pass does not end at its waits while ctx.%s is under way: what stands behind it would not be heard',
    async (write) => {
      const task = defineTask({ type: 'says', input: z.null() }, (ctx) =>
        ctx.race('race', {
          said: async (c) => {
            await c[write]({ progress: 1 })
            return c.waitForSignal('reply')
          },
          late: (c) => c.sleep('patience', 86_400_000),
        }),
      )
      const { commits } = await sweepCrashes({
        tasks: [task],
        script: async (world) => {
          const receipt = await world.runtime.submit(task, null)
          await world.until(receipt, 'waiting')
          await world.runtime.signal(receipt, 'reply', 1)
          return world.result(receipt)
        },
        check: (_, result) => expect(result).toEqual({ winner: 'said', value: 1 }),
      })
      expect(commits).toBeGreaterThan(4)
    },
  )
})

test('a crash before a decision, behind branches that do more than recorded calls, parts no code from its history (docs/semantics.md 6.4)', async () => {
  const tasks = (['emit', 'a turn of its own'] as const).map((what) => {
    const own = (ctx: TaskContext) => (what === 'emit' ? ctx.emit('on the way') : turns())
    return defineTask({ type: what, input: z.any() }, async (ctx) => {
      const both = Promise.withResolvers<string>()
      const { value } = await ctx.race('decision', {
        waits: (c) => c.step('waits', () => both.promise),
        tells: async (c) => {
          await own(c)
          // Recorded in one commit, after the other.
          return c.step('tells', () => {
            queueMicrotask(() => both.resolve('both'))
            return both.promise
          })
        },
      })
      return value
    })
  })
  const { commits } = await sweepCrashes({
    tasks,
    script: async (world) => {
      for (const { type } of tasks)
        expect(await world.result((await world.runtime.submit(type, null)).taskId)).toBe('both')
    },
  })
  expect(commits).toBeGreaterThan(6)
})
