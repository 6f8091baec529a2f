import { type TaskContext } from '../../src/index.ts'

const never = () => new Promise<never>(() => {})

/** A handler that does one thing in branches, and then another under the same key, in this pass or in a later one. */
type Twice = (ctx: TaskContext, between: () => Promise<unknown>) => Promise<unknown>

export const twice: Record<string, Twice> = {
  'a step of the winner': async (ctx, between) => {
    await ctx.race('r', { a: (b) => b.step('k', () => 'A') })
    await between()
    return ctx.step('k', () => 'B')
  },
  'a step of a loser that was under way': async (ctx, between) => {
    await ctx.race('r', { a: (b) => b.step('x', () => 'A'), b: (b) => b.step('k', never) })
    await between()
    return ctx.step('k', () => 'B')
  },
  'a step of a loser that failed': async (ctx, between) => {
    const fail = () => {
      throw new Error('no')
    }
    await ctx.race('r', {
      a: (b) => b.step('x', () => 'A'),
      b: (b) => b.step('k', fail).catch(never),
    })
    await between()
    return ctx.step('k', () => 'B')
  },
  'a sleep of the winner': async (ctx, between) => {
    await ctx.all('r', { a: (b) => b.sleep('k', 5) })
    await between()
    return ctx.sleep('k', 5)
  },
  'a signal that a loser waited for': async (ctx, between) => {
    await ctx.race('r', { a: (b) => b.step('x', () => 'A'), b: (b) => b.waitForSignal('k') })
    await between()
    return ctx.step('k', () => 'B')
  },
  'a step of a race inside a branch': async (ctx, between) => {
    await ctx.all('r', {
      a: async (b) => {
        await b.race('i', { x: (c) => c.step('k', () => 'A') })
        await between()
        return b.step('k', () => 'B')
      },
    })
  },
}
