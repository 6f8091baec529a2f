import { DuplicateStepKey } from '@ku0/agent-runtime-core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type CleanupReason, defineTask, type TaskContext, TimeoutError } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { all, gate, turns, virtualRuntime } from '../virtual-runtime.ts'

const never = () => new Promise<never>(() => {})

/** One task under way. */
async function begun(
  body: (ctx: TaskContext) => unknown,
  options: Partial<Parameters<typeof virtualRuntime>[0]> = {},
) {
  const task = defineTask({ type: 'branching', input: z.any() }, (ctx) => body(ctx))
  const virtual = await virtualRuntime({ tasks: [task], ...options })
  const receipt = await virtual.runtime.submit('branching', null)
  await virtual.elapse(0)
  const { taskId } = receipt
  return {
    ...virtual,
    receipt,
    taskId,
    status: () => virtual.runtime.status(taskId),
    /** What ends a pass, and lets the next one begin. */
    crash: async () => {
      await virtual.block(31_000)
      await virtual.elapse(0)
    },
    events: async (type: string) =>
      (await all(virtual.runtime.events(taskId))).filter((event) => event.type === type),
  }
}

describe('execution: race', () => {
  const approval = (ctx: TaskContext) =>
    ctx.race('decision', {
      approved: (c) => c.waitForSignal<{ by: string }>('approve'),
      late: (c) => c.sleep('patience', 60_000).then(() => 'nobody' as const),
    })

  test('a signal beats a sleep, and the sleep is gone', async () => {
    const { runtime, elapse, receipt, taskId, status } = await begun(async (ctx) => {
      const decision = await approval(ctx)
      await ctx.sleep('after', 1_000)
      return decision
    })
    expect(await status()).toMatchObject({
      state: 'waiting',
      waits: [
        { key: 'approve', position: 0, kind: 'signal' },
        { key: 'patience', position: 0, kind: 'timer' },
      ],
    })
    await runtime.signal(taskId, 'approve', { by: 'ada' })
    await elapse(0)
    expect(await status()).toMatchObject({ waits: [{ key: 'after', position: 1 }] })
    await elapse(1_000)
    expect(await runtime.result(receipt)).toEqual({ winner: 'approved', value: { by: 'ada' } })
  })

  test('a sleep beats a signal that comes later, in every later pass', async () => {
    const { runtime, elapse, receipt, taskId, status, events } = await begun(async (ctx) => {
      const decision = await approval(ctx)
      await ctx.sleep('after', 1_000)
      return decision.winner
    })
    await elapse(60_000)
    expect(await status()).toMatchObject({ waits: [{ key: 'after' }] })
    await runtime.signal(taskId, 'approve', { by: 'ada' })
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe('late')
    expect(await events('step.completed')).toMatchObject([
      { data: { key: 'decision', position: 0, dropped: ['approve'] } },
    ])
  })

  test('types tell the winners apart', async () => {
    const { runtime, elapse, taskId, receipt } = await begun(async (ctx) => {
      const decision = await approval(ctx)
      expectTypeOf(decision).toEqualTypeOf<
        | { readonly winner: 'approved'; readonly value: { by: string } }
        | { readonly winner: 'late'; readonly value: 'nobody' }
      >()
      return decision.winner === 'approved' ? decision.value.by : decision.value
    })
    await runtime.signal(taskId, 'approve', { by: 'ada' })
    await elapse(0)
    expect(await runtime.result(receipt)).toBe('ada')
  })

  test('H04 the branches run once: a later pass has the winner and runs none', async () => {
    const ran: string[] = []
    let passes = 0
    const { runtime, receipt, crash, elapse, status } = await begun(async (ctx) => {
      passes += 1
      const won = await ctx.race('first', {
        a: (c) => c.step('a', () => (ran.push('a'), 'A')),
        b: async (c) => {
          ran.push('b')
          await c.sleep('b', 1_000)
        },
      })
      const after = await ctx.step('after', () => 1)
      return passes === 1 ? never() : [won, after]
    })
    await crash()
    await elapse(0)
    expect(await runtime.result(receipt)).toEqual([{ winner: 'a', value: 'A' }, 1])
    expect(ran).toEqual(['a', 'b'])
    expect(await status()).toMatchObject({ steps: 3, attempt: 2 })
  })

  test('positions are counted alike with and without the memo', async () => {
    const positions: unknown[] = []
    let passes = 0
    const { runtime, receipt, crash } = await begun(async (ctx) => {
      passes += 1
      await ctx.step('before', () => 1)
      await ctx.race('race', { a: (c) => c.step('a1', () => 1).then(() => c.step('a2', () => 2)), b: never })
      await ctx.step('after', () => 1)
      return passes === 1 ? never() : 'done'
    })
    runtime.on('step.replayed', ({ data }) => positions.push([data.key, data.position]))
    await crash()
    expect(await runtime.result(receipt)).toBe('done')
    expect(positions).toEqual([
      ['before', 0],
      ['race', 1],
      ['after', 2],
    ])
    const recorded = (await all(runtime.events(receipt.taskId))).filter(
      ({ type }) => type === 'step.completed',
    )
    expect(
      recorded.map(({ data }) => [(data as { key: string }).key, (data as { position: number }).position]),
    ).toEqual([
      ['before', 0],
      ['a1', 1],
      ['a2', 1],
      ['race', 1],
      ['after', 2],
    ])
  })

  test('H04 a step of the loser is aborted, and what it returns late is not recorded', async () => {
    const door = gate<string>()
    const seen: unknown[] = []
    let kept: TaskContext | undefined
    const { runtime, receipt, elapse, status } = await begun(async (ctx) => {
      const won = await ctx.race('quick', {
        slow: async (c) => {
          kept = c
          c.signal.addEventListener('abort', () => seen.push('branch aborted'))
          await c
            .step('work', (step) => {
              step.signal.addEventListener('abort', () => seen.push((step.signal.reason as Error).message))
              return door.promise
            })
            .catch(({ code }: { code: string }) => seen.push(code))
          await c.step('more', () => seen.push('ran')).catch(({ code }: { code: string }) => seen.push(code))
        },
        fast: (c) => c.sleep('nap', 1_000),
      })
      expect(ctx.signal.aborted).toBe(false)
      await ctx.step('end', () => door.promise)
      return won
    })
    await elapse(1_000)
    expect(seen).toEqual([
      'branch aborted',
      "branch 'slow' of race 'quick' lost to 'fast'; its calls are refused",
      'step_outside_handler',
      'step_outside_handler',
    ])
    door.resolve('late')
    await elapse(0)
    expect(await runtime.result(receipt)).toEqual({ winner: 'fast', value: undefined })
    expect(await status()).toMatchObject({ steps: 2 })
    await expect(kept?.emit(1)).rejects.toMatchObject({ code: 'step_outside_handler' })
  })

  test('the signal of a branch that has lost is aborted, also where it is asked for only then', async () => {
    let loser: TaskContext | undefined
    const { runtime, receipt, elapse } = await begun(async (ctx) => {
      await ctx.race('quick', {
        slow: (c) => {
          loser = c
          return c.sleep('long', 60_000)
        },
        fast: (c) => c.step('now', () => 1),
      })
      return (loser?.signal.reason as Error | undefined)?.message
    })
    await elapse(0)
    expect(await runtime.result(receipt)).toBe(
      "branch 'slow' of race 'quick' lost to 'fast'; its calls are refused",
    )
  })

  test('a step of the loser keeps no pass alive', async () => {
    const { elapse, status } = await begun(async (ctx) => {
      await ctx.race('quick', {
        slow: (c) => c.step('work', never),
        timed: (c) => c.step('limited', { timeoutMs: 500_000 }, never),
        fast: (c) => c.sleep('nap', 1_000),
      })
      await ctx.sleep('then', 1_000)
    })
    await elapse(1_000)
    expect(await status()).toMatchObject({ state: 'waiting', waits: [{ key: 'then' }] })
  })

  test('the error of the branch that settles first is the error of the race, in later passes too', async () => {
    let passes = 0
    const { runtime, receipt, elapse, events } = await begun(async (ctx) => {
      passes += 1
      const outcome = await ctx
        .race('risky', {
          fails: (c) => c.step('boom', () => Promise.reject(new TypeError(`no ${passes}`))),
          sleeps: (c) => c.sleep('nap', 60_000),
        })
        .catch((error: Error) => `${error.name}: ${error.message}`)
      await ctx.sleep('after', 1_000)
      return outcome
    })
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe('TypeError: no 1')
    expect(await events('step.failed')).toMatchObject([
      { data: { key: 'boom', position: 0 } },
      { data: { key: 'risky', position: 0, dropped: ['nap'] } },
    ])
  })

  test('the context of the handler is not used in a branch', async () => {
    const { runtime, receipt } = await begun((ctx) =>
      ctx.race('either', {
        a: async () => {
          await Promise.resolve()
          return ctx.sleep('mine', 10)
        },
        b: (c) => c.sleep('nap', 60_000),
      }),
    )
    await expect(runtime.result(receipt)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining("branch 'a' with the context of the handler") as string,
    })
  })

  test('a patience that ended is an error that wins, again and again', async () => {
    const { runtime, receipt, elapse } = await begun(async (ctx) => {
      const outcome = await ctx
        .race('patient', {
          signal: (c) => c.waitForSignal('go', { timeoutMs: 1_000 }),
          sleep: (c) => c.sleep('nap', 5_000),
        })
        .catch((error: unknown) => error instanceof TimeoutError)
      await ctx.sleep('after', 10_000)
      return outcome
    })
    await elapse(11_000)
    expect(await runtime.result(receipt)).toBe(true)
  })

  test('the branch that ended first wins among branches that memos answer', async () => {
    let passes = 0
    const { runtime, receipt, crash, elapse } = await begun(async (ctx) => {
      passes += 1
      if (passes === 1) {
        // Both branches have all their memos, and the race has none.
        await ctx.step('b', () => 'B')
        await ctx.step('a', () => 'A')
        return never()
      }
      return ctx.race('order', {
        a: (c) => c.step('a', never),
        b: (c) => c.step('b', never).then((x) => x as string),
      })
    })
    await crash()
    await elapse(0)
    expect(await runtime.result(receipt)).toEqual({ winner: 'b', value: 'B' })
  })

  test('a branch that a memo ended wins over one that went on with a step which is recorded only now', async () => {
    let passes = 0
    const { runtime, receipt, crash, elapse } = await begun(async (ctx) => {
      passes += 1
      if (passes === 1) {
        await ctx.step('first', () => 1)
        await ctx.step('second', () => 2)
        return never()
      }
      return ctx.race('mixed', {
        works: (c) => c.step('first', never).then(() => c.step('work', () => 3)),
        ends: (c) => c.step('second', never).then((x) => x as number),
      })
    })
    await crash()
    await elapse(0)
    expect(await runtime.result(receipt)).toEqual({ winner: 'ends', value: 2 })
  })

  test('sleeps that end in one commit are kept apart by their order', async () => {
    const door = gate()
    const { runtime, receipt, block, elapse } = await begun((ctx) =>
      Promise.all([
        ctx.step('work', () => door.promise),
        ctx.race('sleeps', {
          long: (c) => c.sleep('long', 3_000),
          short: async (c) => {
            await c.sleep('short', 1_000)
            await Promise.resolve()
          },
        }),
      ]),
    )
    await block(10_000)
    await elapse(0)
    door.resolve()
    await elapse(0)
    expect(await runtime.result(receipt)).toMatchObject([undefined, { winner: 'short' }])
  })

  test('the key is one of the pass, and so are those of its branches', async () => {
    const { runtime, receipt } = await begun(async (ctx) => {
      await ctx.step('x', () => 1)
      const errors: unknown[] = []
      await ctx.race('x', { a: () => 1 }).catch((error: unknown) => errors.push(error))
      await ctx.race('y', { a: (c) => c.step('x', () => 1) }).catch((error: unknown) => errors.push(error))
      return errors.map((error) => error instanceof DuplicateStepKey)
    })
    expect(await runtime.result(receipt)).toEqual([true, true])
  })

  test.each([
    [{}, 'needs an object with at least one branch by name'],
    [null, 'needs an object with at least one branch by name'],
    [{ a: 1 }, "branch 'a' of race 'r' is a function, not 1"],
  ])('%j is refused', async (branches, message) => {
    const { runtime, receipt } = await begun((ctx) =>
      ctx.race('r', branches as never).catch(({ code, message: text }) => `${code}: ${text}`),
    )
    expect(await runtime.result(receipt)).toContain(message)
  })

  test('a value that cannot be stored fails the race', async () => {
    const { runtime, receipt, elapse } = await begun((ctx) =>
      ctx.race('r', { a: () => () => 1 }).catch(({ code, message }) => `${code}: ${message}`),
    )
    await elapse(0)
    expect(await runtime.result(receipt)).toMatch(
      /^step_not_serializable: the result of race 'r' cannot be stored: \$\.value/,
    )
  })

  test('cancel ends it with its branches', async () => {
    const heard: string[] = []
    const { runtime, taskId } = await begun(async (ctx) => {
      ctx.onCleanup((reason: CleanupReason) => void heard.push(reason))
      await ctx
        .race('r', {
          a: (c) =>
            c.step(
              'work',
              ({ signal }) =>
                new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason as Error))),
            ),
          b: (c) => c.sleep('nap', 60_000),
        })
        .catch((error: Error) => heard.push(error.name))
    })
    await runtime.cancel(taskId)
    await turns()
    expect(heard.toSorted()).toEqual(['TaskCanceled', 'canceled'])
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled' })
    expect(await runtime.stats()).toMatchObject({ inFlight: 0, waiting: 0 })
  })
})

test('a branch that gets over the failure of a race in it is heard before the pass ends at the waits beside it', async () => {
  const nested = defineTask({ type: 'nested', input: z.any() }, (ctx) =>
    ctx.race('outer', {
      quick: async (c) => {
        const inner = c.race('inner', {
          answered: async (b) => {
            await b.sleep('moment', 0)
            throw new Error('no')
          },
          never: (b) => b.sleep('long', 86_400_000),
        })
        return inner.catch((error: unknown) => (error as Error).message)
      },
      slow: (c) => c.sleep('longer', 86_400_000),
    }),
  )
  await using world = await createTestRuntime({ tasks: [nested] })
  expect(await world.run(nested, null)).toEqual({ winner: 'quick', value: 'no' })
})

describe('execution: all', () => {
  test('gives what each branch returned, and is one memo', async () => {
    let passes = 0
    const ran: string[] = []
    const { runtime, receipt, elapse, crash } = await begun(async (ctx) => {
      passes += 1
      const results = await ctx.all('both', {
        one: (c) => c.step('one', () => ran.push('one')),
        two: async (c) => {
          await c.sleep('nap', 1_000)
          return 'two' as const
        },
        three: () => new Date(0),
      })
      expectTypeOf(results).toEqualTypeOf<{
        readonly one: number
        readonly two: 'two'
        readonly three: Date
      }>()
      await ctx.step('after', () => 1)
      return passes < 3 ? never() : results
    })
    await elapse(1_000)
    await crash()
    expect(await runtime.result(receipt)).toEqual({ one: 1, two: 'two', three: new Date(0) })
    expect(ran).toEqual(['one'])
  })

  test('the first that rejects is thrown, and closes the others', async () => {
    const door = gate()
    const heard: unknown[] = []
    const { runtime, receipt, elapse, status } = await begun(async (ctx) => {
      const outcome = await ctx
        .all('both', {
          fails: async (c) => {
            await c.sleep('first', 1_000)
            throw new RangeError('too far')
          },
          works: (c) => c.step('work', () => door.promise).catch((error: Error) => heard.push(error.message)),
          sleeps: (c) => c.sleep('nap', 60_000),
        })
        .catch(({ name }: Error) => name)
      await ctx.sleep('after', 1_000)
      return outcome
    })
    await elapse(1_000)
    expect(heard).toEqual([
      "branch 'works' of all 'both' was stopped because 'fails' failed; its calls are refused",
    ])
    expect(await status()).toMatchObject({ state: 'waiting', waits: [{ key: 'after' }] })
    door.resolve()
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe('RangeError')
  })

  test('code of a branch outside of steps beside a wait is cut off, and the log names the branch', async () => {
    const task = defineTask({ type: 'outside', input: z.null() }, async (ctx) => {
      await ctx.sleep('nothing beside it', 10)
      return ctx.race('race', {
        'in a step': (c) => c.waitForSignal('go'),
        nested: (c) => c.all('all', { works: () => never(), waits: (cc) => cc.sleep('long', 60_000) }),
        works: () => never(),
      })
    })
    const { runtime, log, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(5)
    expect(log.filter(({ level }) => level === 'debug')).toEqual([])
    await elapse(10)
    expect(log.filter(({ message }) => message.includes('cut off'))).toMatchObject([
      {
        level: 'debug',
        fields: {
          taskId,
          type: 'outside',
          branches: ["all 'all' branch 'works'", "race 'race' branch 'works'"],
          count: 2,
        },
      },
    ])
    await runtime.signal(taskId, 'go', 'gone')
    await elapse(10)
    expect(await runtime.result(taskId)).toEqual({ winner: 'in a step', value: 'gone' })
  })

  test('races nest: an inner one is decided for itself, and dropped with the branch around it', async () => {
    const inner = (c: TaskContext, name: string, ms: number) =>
      c.race(`${name} either`, {
        signal: (cc) => cc.waitForSignal(`${name} signal`),
        sleep: (cc) => cc.sleep(`${name} sleep`, ms),
      })
    const { runtime, receipt, elapse, taskId, status } = await begun(async (ctx) => {
      const both = await ctx.all('all', {
        left: (c) => inner(c, 'left', 60_000),
        right: (c) => inner(c, 'right', 1_000),
      })
      const outer = await ctx.race('outer', {
        deep: (c) => c.all('deep', { only: (cc) => inner(cc, 'deep', 60_000) }),
        quick: (c) => c.sleep('quick', 500),
      })
      await ctx.sleep('after', 1_000)
      return [both.left.winner, both.right.winner, outer.winner]
    })
    expect(await status()).toMatchObject({
      waits: ['left signal', 'left sleep', 'right signal', 'right sleep'].map((key) => ({
        key,
        position: 0,
      })),
    })
    await elapse(1_000)
    expect(await status()).toMatchObject({ waits: [{ key: 'left signal' }, { key: 'left sleep' }] })
    await runtime.signal(taskId, 'left signal')
    await elapse(0)
    expect(await status()).toMatchObject({
      waits: ['deep signal', 'deep sleep', 'quick'].map((key) => ({ key, position: 1 })),
    })
    await elapse(500)
    expect(await status()).toMatchObject({ waits: [{ key: 'after', position: 2 }] })
    await elapse(1_000)
    expect(await runtime.result(receipt)).toEqual(['signal', 'sleep', 'quick'])
  })
})
