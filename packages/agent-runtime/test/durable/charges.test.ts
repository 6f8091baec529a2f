import { AsyncResource } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, NonRetryableError, type TaskContext } from '../../src/index.ts'
import { gate, turns, virtualRuntime } from '../virtual-runtime.ts'

async function started(
  body: (ctx: TaskContext, pass: number) => Promise<unknown>,
  options: { readonly timeoutMs?: number } = {},
) {
  let pass = 0
  const task = defineTask({ type: 'spends', input: z.null() }, (ctx) => {
    pass += 1
    return body(ctx, pass)
  })
  const virtual = await virtualRuntime({ tasks: [task] })
  const receipt = await virtual.runtime.submit(task, null, { cost: 2.5, ...options })
  return { ...virtual, taskId: receipt.taskId }
}

const crash = () => new Promise<never>(() => {})

describe('charges', () => {
  test('a charge of a step is stored with its result: a crash after it counts it once', async () => {
    const { runtime, taskId, block } = await started(async (ctx, pass) => {
      await ctx.step('ask', (step) => {
        step.charge({ tokens: 100, money: 0.25 })
        ctx.charge({ tokens: 20 })
        return 'answer'
      })
      return pass === 1 ? crash() : 'done'
    })
    await turns()
    expect(await runtime.status(taskId)).toMatchObject({
      cost: 2.5,
      used: { tokens: 120, money: 0.25, cost: 0 },
    })
    await block(31_000)
    expect(await runtime.result(taskId)).toBe('done')
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 120, money: 0.25, cost: 0 } })
  })

  test('a try that fails has spent what it charged, each try its own', async () => {
    let tries = 0
    const { runtime, taskId, elapse } = await started((ctx) =>
      ctx.step('ask', { retry: { attempts: 3, backoff: { initialMs: 0 } } }, (step) => {
        tries += 1
        step.charge({ tokens: tries })
        if (tries < 3) throw new Error('again')
        return tries
      }),
    )
    await elapse(1_000)
    expect(await runtime.result(taskId)).toBe(3)
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 6 } })
  })

  test('outside of steps the pass that ends the task counts: code that a wait made run twice counts once', async () => {
    const { runtime, taskId, elapse } = await started(async (ctx) => {
      ctx.charge({ cost: 1.5 })
      ctx.charge({ cost: 0.000_001 })
      await ctx.sleep('nap', 60_000)
      return 'done'
    })
    await turns()
    expect(await runtime.status(taskId)).not.toHaveProperty('used')
    await elapse(60_000)
    expect(await runtime.result(taskId)).toBe('done')
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 0, money: 0, cost: 1.500_001 } })
  })

  test('a task that fails has spent it all the same', async () => {
    const { runtime, taskId } = await started((ctx) => {
      ctx.charge({ tokens: 7 })
      throw new NonRetryableError('no')
    })
    await expect(runtime.result(taskId)).rejects.toThrow('no')
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', used: { tokens: 7 } })
  })

  test('a task that says nothing has no figures', async () => {
    const { runtime, taskId } = await started(async (ctx) => ctx.step('s', () => 1))
    await runtime.result(taskId)
    expect(await runtime.status(taskId)).not.toHaveProperty('used')
  })

  test.each([
    [{ token: 1 }, 'there is no token, did you mean tokens?'],
    [{ tokens: 1.5 }, 'tokens is a whole number from 0 to 1000000000, not 1.5'],
    [{ tokens: -1 }, 'tokens is a whole number'],
    [{ money: Number.NaN }, 'money is a number from 0 to 1000000000, not NaN'],
    [{ cost: '3' }, 'cost is a number from 0 to 1000000000, not "3"'],
    [null, 'charge takes { tokens, money, cost }, not null'],
  ])('a value that cannot be a charge is invalid_argument: %j', async (usage, message) => {
    const { runtime, taskId } = await started(async (ctx) => ctx.charge(usage as never))
    await expect(runtime.result(taskId)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message),
    })
  })

  test('a run of a step that came to nothing has spent what it charged: it lost a race, or the race ran out of time', async () => {
    for (const timeoutMs of [undefined, 500]) {
      const { runtime, taskId, elapse } = await started(async (ctx) => {
        const spends = (c: TaskContext) =>
          c.step('spends', (step) => {
            step.charge({ tokens: 1_000 })
            return new Promise<never>(() => {})
          })
        const branches = {
          spends,
          quick: (c: TaskContext) => c.sleep('quick', timeoutMs === undefined ? 500 : 5_000),
        }
        await ctx.race('race', branches, timeoutMs === undefined ? {} : { timeoutMs }).catch(() => 'late')
        await ctx.sleep('nap', 60_000)
        return 'done'
      })
      await elapse(1_000)
      expect(await runtime.status(taskId)).toMatchObject({ state: 'waiting', used: { tokens: 1_000 } })
      await elapse(60_000)
      expect(await runtime.result(taskId)).toBe('done')
      expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 1_000 } })
    }
  })

  test('a charge of a canceled task counts, up to where its handler stops', async () => {
    const { runtime, taskId, elapse } = await started(async (ctx) => {
      await ctx.step('one', (step) => step.charge({ tokens: 10 }))
      ctx.charge({ tokens: 3 })
      await ctx.step('two', async (step) => {
        step.charge({ tokens: 500 })
        await new Promise((resolve) => step.signal.addEventListener('abort', resolve))
        step.charge({ tokens: 7 })
      })
    })
    await turns()
    await runtime.cancel(taskId)
    await elapse(10)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled', used: { tokens: 520 } })
  })

  test('a charge of a task that ran out of time, or is given back, counts once', async () => {
    const { runtime, taskId, elapse } = await started(
      async (ctx, pass) =>
        ctx.step('s', async (step) => {
          step.charge({ tokens: pass })
          await new Promise((resolve) => step.signal.addEventListener('abort', resolve))
          step.charge({ tokens: 100 })
        }),
      { timeoutMs: 1_000 },
    )
    await elapse(2_000)
    await expect(runtime.result(taskId)).rejects.toMatchObject({ kind: 'timeout' })
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 101 } })
  })

  test('a step that has ended takes no charge', async () => {
    let late: ((usage: { tokens: number }) => void) | undefined
    const { runtime, taskId } = await started(async (ctx) => {
      await ctx.step('ask', (step) => {
        late = (usage) => step.charge(usage)
      })
      late?.({ tokens: 1 })
    })
    await expect(runtime.result(taskId)).rejects.toMatchObject({ code: 'step_outside_handler' })
  })

  /** A task whose lease ends in its step, which has charged 40 tokens by then; `outside`: what its handler charges in each pass before that. */
  async function releasedInStep(outside: number) {
    const door = gate()
    const it = await started(async (ctx, pass) => {
      if (outside > 0) ctx.charge({ tokens: outside })
      if (pass > 1) return 'second'
      return ctx.step('ask', async (step) => {
        step.charge({ tokens: 40 })
        await door.promise
      })
    })
    const { runtime, store, taskId } = it
    await turns()
    const [lease] = await runtime.leases(taskId)
    await store.write({ kind: 'release', leaseId: lease?.leaseId ?? '', reason: 'drained' })
    door.resolve()
    expect(await runtime.result(taskId)).toBe('second')
    await turns()
    return it
  }

  test('a charge of a step whose result came too late for its lease is stored once it has stopped', async () => {
    const { runtime, taskId } = await releasedInStep(0)
    expect((await runtime.stats()).staleWrites).toBe(1)
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 40 } })
  })

  test('a pass that lost its lease counts what its steps charged: its code outside of steps runs again', async () => {
    const { runtime, taskId } = await releasedInStep(3)
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 43 } })
  })

  test('a canceled handler that does not stop has its charges stored when it is reported as leaked', async () => {
    const door = gate()
    const { runtime, taskId, elapse } = await started(async (ctx) => {
      ctx.charge({ tokens: 3 })
      await ctx.step('ask', async (step) => {
        step.charge({ tokens: 40 })
        await door.promise
      })
    })
    await turns()
    await runtime.cancel(taskId)
    await elapse(29_999)
    expect(await runtime.status(taskId)).not.toHaveProperty('used')
    await elapse(1)
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 43 } })
    door.resolve()
    await turns()
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 43 } })
  })

  test.each(['step', 'ctx'] as const)(
    'a try that ran out of time charges nothing more, neither before the next try nor beside it: %s.charge',
    async (way) => {
      const late: ((tokens: number) => void)[] = []
      const [doorOfStep, doorOfPass] = [gate(), gate()]
      const options = { timeoutMs: 1_000, retry: { attempts: 2, backoff: { initialMs: 2_000, jitter: 0 } } }
      const { runtime, taskId, elapse } = await started(async (ctx) => {
        const ask = ctx.step('ask', options, (step) => {
          const spend = AsyncResource.bind((tokens: number) =>
            way === 'step' ? step.charge({ tokens }) : ctx.charge({ tokens }),
          )
          spend(1)
          late.push(spend)
          return doorOfStep.promise
        })
        await Promise.all([ask, ctx.step('beside it', () => doorOfPass.promise)])
      })
      const refused = expect.objectContaining({ code: 'step_outside_handler' }) as Error
      const spendLate = () => {
        try {
          late[0]?.(1_000)
          return 'charged'
        } catch (error) {
          return error
        }
      }
      await elapse(1_500)
      expect([late.length, spendLate()]).toEqual([1, refused])
      await elapse(1_750)
      expect([late.length, spendLate()]).toEqual([2, refused])
      doorOfStep.resolve()
      doorOfPass.resolve()
      await runtime.result(taskId)
      expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 2 } })
    },
  )
})
