import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type BudgetOptions, defineTask, RuntimeError } from '../../src/index.ts'
import { createTestRuntime, TaskStuck } from '../../src/testing/index.ts'
import { turns, virtualRuntime } from '../virtual-runtime.ts'
import { spend, started, failure } from './budgets-scene.ts'

describe('budgets (docs/semantics.md 11.5)', () => {
  test('a hard line fails the task with its partial result, and aborts its handler', async () => {
    let aborted: unknown
    const { runtime, submit, ends } = await started(async (ctx) => {
      ctx.signal.addEventListener('abort', () => (aborted = ctx.signal.reason))
      await spend(ctx, 'plan', 60)
      await ctx.step('look', () => ({ at: new Date(7) }))
      await spend(ctx, 'write', 60)
      return 'never'
    })
    const taskId = await submit({ budget: { tokens: 100 } })
    const error = await failure(runtime.result(taskId))
    expect(error).toMatchObject({
      kind: 'budget_exceeded',
      code: 'budget_exceeded',
      details: {
        field: 'tokens',
        limit: 100,
        used: 120,
        budget: taskId,
        partial: [
          { key: 'plan', result: 'plan' },
          { key: 'look', result: { at: new Date(7) } },
          { key: 'write', result: 'write' },
        ],
      },
    })
    expect(aborted).toMatchObject({ code: 'budget_exceeded' })
    expect(ends).toEqual(['budget_exceeded'])
    expect(await runtime.budgets.get(taskId)).toMatchObject({
      used: { tokens: 120, steps: 3 },
      left: { tokens: 0 },
    })
  })

  test('a handler that swallows what its calls throw stays failed', async () => {
    const { runtime, submit } = await started(async (ctx) => {
      await spend(ctx, 'all', 11).catch(() => {})
      return ctx.step('more', () => 1).catch(() => 'done all the same')
    })
    expect(await failure(runtime.result(await submit({ budget: { tokens: 10 } })))).toMatchObject({
      details: { partial: [{ key: 'all' }] },
    })
  })

  test('a soft line parks the task at its step boundary without a slot; continue goes on where it was', async () => {
    const { runtime, submit, ends } = await started(async (ctx) => {
      for (const key of ['a', 'b', 'c']) await spend(ctx, key, 40)
      return 'done'
    })
    const taskId = await submit({ budget: { tokens: 200, soft: 0.4 } })
    await turns()
    expect(await runtime.status(taskId)).toMatchObject({
      state: 'waiting',
      waitingFor: 'budget',
      steps: 2,
      budget: { taskId, used: { tokens: 80 }, asks: { field: 'tokens', by: taskId } },
    })
    expect(ends).toEqual(['yielded'])
    expect(await runtime.stats()).toMatchObject({ running: 0, inFlight: 0 })
    expect((await runtime.budgets.list()).budgets).toMatchObject([
      { taskId, parked: 1, left: { tokens: 120 } },
    ])
    expect((await runtime.explain(taskId))?.summary).toContain('80 of 200 tokens')
    expect(await runtime.budgets.continue(taskId)).toEqual({ taskId, resumed: 1 })
    expect(await runtime.result(taskId)).toBe('done')
    await expect(runtime.budgets.continue(taskId)).rejects.toMatchObject({ code: 'already_resolved' })
    await expect(runtime.budgets.stop(taskId)).rejects.toMatchObject({ code: 'already_resolved' })
  })

  test('stop ends the tree with what there is', async () => {
    const { runtime, submit } = await started(async (ctx) => {
      await spend(ctx, 'a', 80)
      return spend(ctx, 'b', 1)
    })
    const taskId = await submit({ budget: { tokens: 100, soft: { tokens: 80 } } })
    await turns()
    expect(await runtime.budgets.stop(taskId)).toEqual({ taskId, resumed: 0 })
    expect(await failure(runtime.result(taskId))).toMatchObject({
      details: { stopped: true, partial: [{ key: 'a', result: 'a' }] },
    })
  })

  test('a raise moves limits and lines, and it asks again', async () => {
    const { runtime, submit } = await started(async (ctx) => {
      for (const key of ['a', 'b', 'c', 'd']) await spend(ctx, key, 50)
      return 'done'
    })
    const taskId = await submit({ budget: { tokens: 60, soft: { tokens: 50 } } })
    await turns()
    await runtime.budgets.continue(taskId, { raise: { tokens: 100 } })
    await turns()
    expect(await runtime.budgets.get(taskId)).toMatchObject({
      asks: { field: 'tokens' },
      limits: { tokens: 160 },
    })
    await runtime.budgets.continue(taskId, { raise: { tokens: 100 } })
    expect(await runtime.result(taskId)).toBe('done')
  })

  test('children draw on the budget above; the tree ends when one of them crosses it', async () => {
    const { runtime, submit, helper, elapse } = await started(async (ctx) => {
      await ctx.call('first', helper, 40)
      await ctx.call('second', helper, 70)
    })
    const taskId = await submit({ budget: { tokens: 100 } })
    await elapse(100)
    expect(await failure(runtime.result(taskId))).toMatchObject({
      details: { used: 110, partial: [{ key: 'first', result: 'think' }] },
    })
    const { tasks } = await runtime.list({ parent: taskId })
    expect(tasks.map(({ state }) => state)).toEqual(['canceled', 'completed'])
  })

  test("a sub-budget that a child crosses is the parent's to handle", async () => {
    const { runtime, submit, helper, elapse } = await started((ctx) =>
      ctx.call('child', helper, 40, { budget: { tokens: 30 } }).catch((error: unknown) => error),
    )
    const taskId = await submit({ budget: { tokens: 100 } })
    await elapse(100)
    expect(await runtime.result(taskId)).toMatchObject({ kind: 'budget_exceeded', details: { limit: 30 } })
    expect(await runtime.budgets.get(taskId)).toMatchObject({
      used: { tokens: 40 },
      children: { tokens: 40 },
    })
  })

  test('a larger sub-budget is refused at the call; where nothing is left the child is rejected', async () => {
    const { runtime, submit, helper } = await started(async (ctx) => {
      const told: unknown[] = []
      const hear = (error: { code: string; message: string }) => void told.push([error.code, error.message])
      await ctx.call('child', helper, 1, { budget: { tokens: 101 } }).catch(hear)
      await spend(ctx, 'all', 100)
      await ctx.call('child', helper, 1).catch(hear)
      return told
    })
    const taskId = await submit({ budget: { tokens: 100 } })
    expect(await runtime.result(taskId)).toEqual([
      [
        'invalid_argument',
        `child 'child' budget.tokens: more than the 100 that are left of the budget of task ${taskId}`,
      ],
      [
        'budget_exceeded',
        expect.stringContaining(`the budget of task ${taskId} is used up: its limit of tokens is 100`),
      ],
    ])
  })

  test('a child that is refused because nothing is left ends the tree as a hard line does, unless somebody catches it', async () => {
    const deep = defineTask(
      { type: 'deep', input: z.object({ below: z.number(), catches: z.number() }), retry: { attempts: 3 } },
      async (ctx, { below, catches }): Promise<unknown> => {
        await spend(ctx, 'think', 10)
        if (below === 0) return 'bottom'
        const found = ctx.call('below', 'deep', { below: below - 1, catches })
        return below === catches ? found.catch((error: { code: string }) => error.code) : found
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [deep] })
    const run = async (below: number, tokens: number, catches = -1) => {
      const receipt = await runtime.submit(deep, { below, catches }, { budget: { tokens } })
      await elapse(1_000)
      return receipt
    }
    expect(await runtime.result(await run(4, 50))).toBe('bottom')
    const over = await run(5, 50)
    const error = await failure(runtime.result(over))
    const { taskId } = over
    expect(error).toMatchObject({
      kind: 'budget_exceeded',
      code: 'budget_exceeded',
      message: expect.stringContaining(`the budget of task ${taskId} is used up: 50 of 50 tokens`),
      details: {
        budget: taskId,
        field: 'tokens',
        limit: 50,
        used: 50,
        stopped: false,
        partial: [{ key: 'think', result: 'think' }],
      },
    })
    expect(await runtime.explain(taskId)).toMatchObject({
      failure: { kind: 'budget_exceeded', budget: { taskId, field: 'tokens', limit: 50, used: 50 } },
    })
    const { tasks } = await runtime.list({ types: ['deep'] })
    expect(tasks.filter(({ state }) => state === 'failed')).toHaveLength(5)
    expect(tasks.every((task) => task.state !== 'failed' || task.kind === 'budget_exceeded')).toBe(true)
    // Whoever catches it goes on: the one that was refused, or one above it.
    for (const catches of [1, 3])
      expect(await runtime.result(await run(5, 50, catches))).toBe('budget_exceeded')
    const again = await runtime.retry(over, { budget: { tokens: 60 } })
    await elapse(1_000)
    expect(await runtime.result(again)).toBe('bottom')
  })

  test('a graph whose next node is refused because the budget is used up ends with the nodes that are done', async () => {
    const { runtime, helper, elapse } = await started(() => undefined)
    const graph = {
      nodes: { a: { task: helper, input: 40 }, b: { task: helper, input: 1, after: ['a'] as const } },
    }
    const { taskId } = await runtime.submitGraph(graph, { budget: { tokens: 40 } })
    await elapse(100)
    expect(await failure(runtime.result(taskId))).toMatchObject({
      kind: 'budget_exceeded',
      details: { used: 40, partial: [{ key: 'a', result: 'think' }] },
    })
  })

  test('an error of its own, or of a limit that is no budget, stays one where nothing is left', async () => {
    const hungry = defineTask(
      {
        type: 'hungry',
        input: z.null(),
        profile: 'STANDARD',
        limits: { hard: { memoryBytes: 10 } },
      },
      (ctx) => ctx.heartbeat({ memoryBytes: 11 }),
    )
    const parent = defineTask({ type: 'parent', input: z.boolean() }, async (ctx, own) => {
      const child = await ctx.spawn('hungry', hungry, null)
      await spend(ctx, 'all', 10)
      if (own) throw new RuntimeError('budget_exceeded', 'that is all')
      return child.result()
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [hungry, parent] })
    for (const [own, message] of [
      [true, 'that is all'],
      [false, 'above the limit 10'],
    ] as const) {
      const receipt = await runtime.submit(parent, own, { budget: { tokens: 10 } })
      await elapse(100)
      expect(await failure(runtime.result(receipt))).toMatchObject({
        kind: 'error',
        code: 'budget_exceeded',
        message: expect.stringContaining(message),
      })
      await elapse(60_000)
    }
  })

  test('a budget that a child has used up to its own limit is no budget of its parent', async () => {
    const { runtime, submit, helper, elapse } = await started(
      (ctx) => ctx.call('child', helper, 30, { budget: { tokens: 30 } }),
      async (ctx, tokens) => {
        await spend(ctx, 'think', tokens)
        return ctx.call('deeper', 'helper', 1)
      },
    )
    const taskId = await submit({ budget: { tokens: 100 } })
    await elapse(100)
    expect(await failure(runtime.result(taskId))).toMatchObject({ kind: 'error', code: 'budget_exceeded' })
    const [child] = (await runtime.list({ parent: taskId })).tasks
    expect(await failure(runtime.result(child?.taskId ?? ''))).toMatchObject({
      kind: 'budget_exceeded',
      details: { limit: 30, used: 30, partial: [{ key: 'think' }] },
    })
  })

  test('the default of a task type holds for each of its tasks, cut to what is left above', async () => {
    const { runtime, submit, helper } = await started(
      async (ctx) => (await ctx.spawn('child', helper, 1)).taskId,
      (ctx) => ctx.sleep('long', 1_000),
      { tokens: 1_000, soft: 0.5 },
    )
    const child = (await runtime.result(await submit({ budget: { tokens: 100 } }))) as string
    expect(await runtime.budgets.get(child)).toMatchObject({ limits: { tokens: 100 }, soft: { tokens: 100 } })
    const { taskId } = await runtime.submit(helper, 1)
    expect(await runtime.budgets.get(taskId)).toMatchObject({
      limits: { tokens: 1_000 },
      soft: { tokens: 500 },
    })
  })

  test('the whole tree parks at its step boundaries, and goes on together', async () => {
    const { runtime, submit, helper, elapse } = await started(
      async (ctx) => {
        const child = await ctx.spawn('child', helper, 60)
        await ctx.step('a', () => new Promise((done) => setImmediate(() => setImmediate(done))))
        await ctx.step('b', () => 1)
        return child.result()
      },
      async (ctx, tokens) => {
        await spend(ctx, 'one', tokens)
        return spend(ctx, 'two', 1)
      },
    )
    const taskId = await submit({ budget: { tokens: 100, soft: 0.5 } })
    await turns()
    await turns()
    const [child] = (await runtime.list({ parent: taskId })).tasks
    expect(await runtime.budgets.list()).toMatchObject({
      budgets: [{ taskId, parked: 2, asks: { by: child?.taskId } }],
    })
    expect(await runtime.budgets.continue(child?.taskId ?? '')).toEqual({ taskId, resumed: 2 })
    await elapse(100)
    expect(await runtime.result(taskId)).toBe('two')
  })

  test('wall time ends a task that waits, and what it waits for', async () => {
    const { runtime, submit, elapse } = await started((ctx) => ctx.waitForSignal('never'))
    const taskId = await submit({ budget: { wallMs: 60_000 } })
    await elapse(59_999)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'waiting', waitingFor: 'signal' })
    await elapse(1)
    expect(await failure(runtime.result(taskId))).toMatchObject({
      message: expect.stringContaining(`the budget of task ${taskId} is out of time: 60000 of 60000 wallMs`),
      details: { field: 'wallMs', used: 60_000 },
    })
  })

  test('a parked task is verified as one that goes on, and its history agrees after', async () => {
    const { runtime, submit } = await started(async (ctx) => {
      await spend(ctx, 'a', 80)
      await spend(ctx, 'b', 5)
      return 'done'
    })
    const taskId = await submit({ budget: { tokens: 100, soft: 0.8 } })
    await turns()
    const verify = () => runtime.replay(taskId, { mode: 'verify', timeoutMs: 5_000 })
    expect(await verify()).toMatchObject({ verdict: 'agreed', end: { call: 'step', key: 'b' } })
    await runtime.budgets.continue(taskId)
    await runtime.result(taskId)
    expect(await verify()).toMatchObject({ verdict: 'agreed', end: { call: 'return' } })
  })

  test('retry and fork begin with the same unused budget, or another', async () => {
    const { runtime, submit } = await started(async (ctx) => {
      await spend(ctx, 'a', 90)
      return spend(ctx, 'b', 90)
    })
    const taskId = await submit({ budget: { tokens: 100 } })
    await failure(runtime.result(taskId))
    const again = await runtime.retry(taskId)
    expect(await runtime.result(again.taskId)).toBe('b')
    expect(await runtime.budgets.get(again.taskId)).toMatchObject({
      limits: { tokens: 100 },
      used: { tokens: 0, steps: 0 },
    })
    const forked = await runtime.fork(taskId, { fromStep: 'b', budget: { tokens: 80 } })
    expect(await failure(runtime.result(forked.taskId))).toMatchObject({ details: { used: 90, limit: 80 } })
  })

  test('cancel of a parked tree, a signal and a timer meanwhile', async () => {
    const { runtime, submit, elapse } = await started(async (ctx) => {
      const nap = ctx.sleep('nap', 1_000)
      await spend(ctx, 'a', 50)
      await spend(ctx, 'b', 1)
      await nap
      return ctx.waitForSignal('go')
    })
    const budget = { tokens: 100, soft: 0.5 }
    const [first, second] = [await submit({ budget }), await submit({ budget })]
    await elapse(5_000)
    expect(await runtime.status(first)).toMatchObject({ waitingFor: 'budget' })
    expect(await runtime.cancel(first)).toBe(true)
    expect(await runtime.budgets.list()).toMatchObject({ budgets: [{ taskId: second }] })
    await runtime.signal(second, 'go', 'gone')
    expect(await runtime.status(second)).toMatchObject({ waitingFor: 'budget' })
    await runtime.budgets.continue(second)
    await elapse(10)
    expect(await runtime.result(second)).toBe('gone')
  })

  test('a budget, then an approval: each is asked for in its turn', async () => {
    const { runtime, submit, elapse } = await started(async (ctx) => {
      await spend(ctx, 'draft', 90)
      await ctx.requestApproval('text', 'the draft', { mode: 'supervised' })
      return spend(ctx, 'send', 5)
    })
    const taskId = await submit({ budget: { tokens: 100, soft: 0.9 } })
    await elapse(100)
    expect(await runtime.status(taskId)).toMatchObject({ waitingFor: 'budget' })
    expect(await runtime.approvals.list()).toMatchObject({ approvals: [] })
    await runtime.budgets.continue(taskId)
    await elapse(100)
    expect(await runtime.status(taskId)).toMatchObject({ waitingFor: 'approval' })
    const [asked] = (await runtime.approvals.list()).approvals
    await runtime.approvals.approve(asked?.approvalId ?? '')
    await elapse(100)
    expect(await runtime.result(taskId)).toBe('send')
  })

  test('the losers of a race have spent what they charged', async () => {
    const { runtime, submit } = await started(async (ctx) => {
      const { winner } = await ctx.race('race', {
        fast: (branch) => spend(branch, 'fast', 1),
        slow: (branch) =>
          branch.step('slow', async (step) => {
            step.charge({ tokens: 30 })
            await new Promise(() => {})
          }),
      })
      return winner
    })
    const taskId = await submit({ budget: { tokens: 100 } })
    expect(await runtime.result(taskId)).toBe('fast')
    expect(await runtime.budgets.get(taskId)).toMatchObject({ used: { tokens: 31 } })
  })

  test('a graph has one budget for all its nodes', async () => {
    const { runtime, helper, elapse } = await started(() => undefined)
    const graph = (tokens: number) => ({
      nodes: {
        a: { task: helper, input: tokens },
        b: { task: helper, input: tokens, after: ['a'] as const, options: { budget: { tokens: 45 } } },
      },
    })
    const good = await runtime.submitGraph(graph(40), { budget: { tokens: 100 } })
    await elapse(100)
    await runtime.result(good.taskId)
    expect(await runtime.budgets.get(good.taskId)).toMatchObject({ used: { tokens: 80, steps: 2 } })
    const over = await runtime.submitGraph(graph(40), { budget: { tokens: 79 } })
    await elapse(100)
    await expect(runtime.result(over.taskId)).rejects.toMatchObject({ code: 'invalid_argument' })
    const crossed = await runtime.submitGraph(graph(60), { budget: { tokens: 59 } })
    await elapse(100)
    await expect(runtime.result(crossed.taskId)).rejects.toMatchObject({ kind: 'budget_exceeded' })
  })

  test.each<[BudgetOptions | number, string]>([
    [{}, 'at least one limit'],
    [5, 'budget: an object with limits'],
    [{ tokens: 0 }, 'budget.tokens: a whole number of tokens from 1'],
    [{ tokens: 1.5 }, 'budget.tokens: a whole number of tokens from 1'],
    [{ money: -1 }, 'budget.money: a number above 0'],
    [{ cost: Number.NaN }, 'budget.cost: a number above 0'],
    [{ token: 5 } as never, 'budget.token: no such field, did you mean tokens?'],
    [{ soft: 0.5 }, 'at least one limit'],
    [{ tokens: 5, soft: 1.5 }, 'budget.soft: a number above 0 and up to 1'],
    [{ tokens: 5, soft: { tokens: 6 } }, 'budget.soft.tokens: at most the hard limit 5'],
    [{ tokens: 5, soft: { steps: 6 } }, 'budget.soft.steps: no value without a hard limit of steps'],
    [{ tokens: 5, soft: { wall: 6 } as never }, 'budget.soft.wall: no such field, did you mean wallMs?'],
  ])(
    'a value that cannot be a budget is refused where it is given, and nothing is stored: %j',
    async (budget, message) => {
      const { runtime, submit, helper } = await started(() => undefined)
      const wrong = { code: 'invalid_argument', message: expect.stringContaining(message) }
      await expect(submit({ budget: budget as never })).rejects.toMatchObject(wrong)
      for (const task of [helper, 'elsewhere'])
        await expect(
          runtime.schedules.put('s', { everyMs: 1_000 }, task as typeof helper, 1, {
            budget: budget as never,
          }),
        ).rejects.toMatchObject({
          code: 'invalid_argument',
          message: expect.stringMatching(/^schedules\.put option budget/),
        })
      expect(await runtime.stats()).toMatchObject({ totals: { submitted: 0, rejected: 0 } })
      const define = () => defineTask({ type: 'x', input: z.null(), budget: budget as never }, () => 1)
      expect(define).toThrow(expect.objectContaining({ code: 'invalid_config' }) as Error)
    },
  )

  test('a raise beyond what is left above says what it would make, and what is left', async () => {
    const { runtime, submit, helper } = await started(
      async (ctx) => {
        await spend(ctx, 'mine', 30)
        return ctx.call('child', helper, 1, { budget: { tokens: 50, soft: 0.5 } })
      },
      async (ctx) => {
        await spend(ctx, 'one', 25)
        return spend(ctx, 'two', 1)
      },
    )
    const taskId = await submit({ budget: { tokens: 100 } })
    await turns()
    await turns()
    const [child] = (await runtime.budgets.list()).budgets
    await expect(
      runtime.budgets.continue(child?.taskId ?? '', { raise: { tokens: 30 } }),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
      message: `budgets.continue option raise.tokens: 30 more would make the limit 80, with 55 unused; the budget of task ${taskId} has only 45 left`,
    })
  })

  test('answers that fit nothing say why', async () => {
    const { runtime, submit } = await started((ctx) => ctx.waitForSignal('x'))
    const [plain, limited] = [await submit(), await submit({ budget: { tokens: 5 } })]
    const { budgets } = runtime
    const refused = (message: string) => ({
      code: 'invalid_argument',
      message: expect.stringContaining(message),
    })
    await expect(budgets.continue(plain)).rejects.toMatchObject(refused('has a budget'))
    await expect(budgets.stop(limited)).rejects.toMatchObject(
      refused('asks nothing: no soft line was passed'),
    )
    await expect(budgets.continue('nobody')).rejects.toMatchObject({ code: 'not_found' })
    await expect(budgets.get('nobody')).rejects.toMatchObject({ code: 'not_found' })
    await expect(budgets.list({ limit: 0 })).rejects.toMatchObject(refused('limit'))
    const raise = (given: unknown) => budgets.continue(limited, { raise: given as never })
    await expect(raise({ tokens: -1 })).rejects.toMatchObject(refused('raise.tokens'))
    await expect(raise(7)).rejects.toMatchObject(refused('option raise: an object with tokens'))
    expect(await budgets.get(plain)).toBe(undefined)
  })
})

describe('budgets in tests of tasks', () => {
  test('time moves on to where a budget of it ends', async () => {
    const waits = defineTask({ type: 'waits', input: z.null() }, (ctx) => ctx.waitForSignal('never'))
    await using virtual = await createTestRuntime({ tasks: [waits] })
    const receipt = await virtual.runtime.submit(waits, null, { budget: { wallMs: 3_600_000, soft: 0.5 } })
    await expect(virtual.result(receipt)).rejects.toMatchObject({ kind: 'budget_exceeded' })
    expect((await virtual.history(receipt)).toString()).toContain('1800000 wallMs used')
    const parked = defineTask({ type: 'parked', input: z.null() }, async (ctx) => {
      await spend(ctx, 'a', 5)
      await spend(ctx, 'b', 5)
    })
    await using other = await createTestRuntime({ tasks: [parked] })
    const stuck = await other.runtime.submit(parked, null, { budget: { tokens: 10, soft: 0.5 } })
    await expect(other.result(stuck)).rejects.toThrow(TaskStuck)
  })
})
