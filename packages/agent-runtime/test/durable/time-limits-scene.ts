import { z } from 'zod'
import { defineTask, type TaskContext, TimeoutError } from '../../src/index.ts'
import { type TestRuntime } from '../../src/testing/index.ts'

export const DAY = 86_400_000

export const taskOf = (handler: (ctx: TaskContext) => unknown) =>
  defineTask({ type: 'limited', input: z.null() }, (ctx) => handler(ctx))

/** What a call that ran out of time threw, if it did. */
export const late = (call: Promise<unknown>) =>
  call.catch((error: unknown) => (error instanceof TimeoutError ? error.message : Promise.reject(error)))

export const verdictOf = (world: TestRuntime, taskId: string) =>
  world.runtime.replay(taskId, { mode: 'verify' })

/** A race and an `all` with limits, which run out in one and in what the other has inside. */
export const twice = (ran: string[]) =>
  taskOf(async (ctx) => {
    const first = await late(
      ctx.race(
        'first',
        {
          steps: async (branch) => {
            await branch.step('one', () => ran.push('one'))
            await branch.sleep('between', 400)
            await branch.step('two', () => ran.push('two'))
            await branch.waitForSignal('never')
            await branch.step('three', () => ran.push('three'))
          },
          nested: (branch) =>
            branch.all('nested', { ever: (inner) => inner.waitForSignal('ever') }, { timeoutMs: 60_000 }),
        },
        { timeoutMs: 1_000 },
      ),
    )
    const second = await ctx.all(
      'second',
      {
        inner: (branch) =>
          late(branch.race('inner', { nap: (it) => it.sleep('nap', DAY) }, { timeoutMs: 500 })),
        step: (branch) => branch.step('four', () => 4),
      },
      { timeoutMs: DAY },
    )
    if (await ctx.patched('new')) await ctx.step('five', () => 5)
    return [first, second]
  })
