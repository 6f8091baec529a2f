import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { folder } from '../real-processes.ts'
import { spend, started, failure } from './budgets-scene.ts'

describe('crashes', () => {
  const writer = defineTask({ type: 'writer', input: z.number() }, async (ctx, tokens) => {
    await spend(ctx, 'read', 1)
    return spend(ctx, 'write', tokens)
  })

  const editor = defineTask({ type: 'editor', input: z.number() }, async (ctx, tokens) => {
    await spend(ctx, 'plan', 10)
    const first = await ctx.call('first', writer, tokens, { budget: { tokens: 60 } })
    const second = await ctx.call('second', writer, tokens)
    return [first, second, await spend(ctx, 'edit', 10)]
  })

  test('after every commit of an agent that asks and goes on: each charge counts once', async () => {
    await sweepCrashes({
      tasks: [writer, editor],
      script: async (virtual) => {
        const receipt = await virtual.runtime.submit(editor, 30, { budget: { tokens: 100, soft: 0.4 } })
        for (const tokens of [40, 72]) {
          await virtual.until(
            receipt,
            ({ budget }) => (budget?.used.tokens ?? 0) >= tokens && budget?.parked === 1,
          )
          await virtual.runtime.budgets.continue(receipt, { raise: { tokens: 5 } })
        }
        const result = await virtual.result(receipt)
        const { used, limits } = (await virtual.runtime.budgets.get(receipt)) ?? {}
        return { result, tokens: used?.tokens, steps: used?.steps, limits }
      },
      check: (_, found) =>
        expect(found).toEqual({
          result: ['write', 'write', 'edit'],
          tokens: 82,
          steps: 6,
          limits: { tokens: 110 },
        }),
    })
  })

  test('after every commit of a tree that ends at its hard line: the same end', async () => {
    await sweepCrashes({
      tasks: [writer, editor],
      script: async (virtual) => {
        const receipt = await virtual.runtime.submit(editor, 50, { budget: { tokens: 90 } })
        const error = await failure(virtual.result(receipt))
        const { used } = (await virtual.runtime.budgets.get(receipt)) ?? {}
        return { details: error.details, tokens: used?.tokens }
      },
      check: (_, { details, tokens }) => {
        expect(tokens).toBe(112)
        expect(details).toMatchObject({ used: 112, partial: [{ key: 'plan' }, { key: 'first' }] })
      },
    })
  })
})

test('after every commit of a tree with nothing left for its next child: the same end', async () => {
  const first = defineTask({ type: 'first', input: z.null() }, (ctx) => spend(ctx, 'write', 30))
  const pair = defineTask({ type: 'pair', input: z.null() }, async (ctx) => {
    await spend(ctx, 'plan', 10)
    return [await ctx.call('first', first, null), await ctx.call('second', first, null)]
  })
  const whole = defineTask({ type: 'whole', input: z.null() }, (ctx) => ctx.call('pair', pair, null))
  const { commits } = await sweepCrashes({
    tasks: [first, pair, whole],
    script: async (virtual) => {
      const receipt = await virtual.runtime.submit(whole, null, { budget: { tokens: 40 } })
      const { kind, details } = await failure(virtual.result(receipt))
      const [child] = (await virtual.runtime.list({ parent: receipt.taskId })).tasks
      const below = await failure(virtual.result(child?.taskId ?? ''))
      const { used } = (await virtual.runtime.budgets.get(receipt)) ?? {}
      return { kind, details, below: below.details, tokens: used?.tokens, steps: used?.steps }
    },
    check: (_, found) =>
      expect(found).toMatchObject({
        kind: 'budget_exceeded',
        details: { used: 40, partial: [] },
        below: { used: 40, partial: [{ key: 'plan' }, { key: 'first' }] },
        tokens: 40,
        steps: 2,
      }),
  })
  expect(commits).toBeGreaterThan(5)
})

test('a process answers a budget that asks in another', async () => {
  const agent = defineTask({ type: 'agent', input: z.null() }, async (ctx) => {
    await spend(ctx, 'a', 5)
    return spend(ctx, 'b', 1)
  })
  const options = { store: `sqlite:${folder()}/store.db`, telemetry: false, logger: false } as const
  await using runtime = await createRuntime({ ...options, tasks: [agent] })
  await using other = await createRuntime({ ...options, tasks: [], workers: 0 })
  const { taskId } = await runtime.submit(agent, null, { budget: { tokens: 10, soft: 0.5 } })
  await expect.poll(async () => (await other.budgets.list()).budgets.map((it) => it.taskId)).toEqual([taskId])
  await other.budgets.continue(taskId)
  expect(await runtime.result(taskId)).toBe('b')
})

describe('budgets (docs/semantics.md 11.5)', () => {
  test('each run of a schedule has the whole budget', async () => {
    const { runtime, helper, elapse } = await started(() => undefined)
    const options = { budget: { tokens: 10, soft: { tokens: 9 } } }
    expect(await runtime.schedules.put('hourly', { everyMs: 3_600_000 }, helper, 11, options)).toMatchObject(
      options,
    )
    await elapse(7_200_100)
    const { tasks } = await runtime.list()
    expect(tasks.length).toBe(2)
    expect(tasks).toMatchObject(
      Array.from({ length: 2 }, () => ({ state: 'failed', budget: { used: { tokens: 11 } } })),
    )
  })
})
