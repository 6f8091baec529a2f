import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, NonRetryableError, type StepOptions, type TaskContext } from '../../src/index.ts'
import { all, gate, virtualRuntime } from '../virtual-runtime.ts'

const plain = { initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0 }

async function begun(
  body: (ctx: TaskContext, pass: number) => unknown,
  options: Partial<Parameters<typeof virtualRuntime>[0]> = {},
  retry?: { attempts: number },
) {
  let passes = 0
  const task = defineTask(
    { type: 'retried', input: z.any(), ...(retry === undefined ? {} : { retry }) },
    (ctx) => {
      passes += 1
      return body(ctx, passes)
    },
  )
  const virtual = await virtualRuntime({ tasks: [task], workers: { capacity: 2 }, ...options })
  const receipt = await virtual.runtime.submit(task, null)
  await virtual.elapse(0)
  return { ...virtual, receipt, taskId: receipt.taskId, passes: () => passes }
}

/** A step that fails so many times. */
function flaky(failures: number, error: (n: number) => Error = (n) => new Error(`failure ${n}`)) {
  const tries: number[] = []
  const keys = new Set<string>()
  return {
    tries,
    keys,
    run: (ctx: TaskContext, options: StepOptions) =>
      ctx.step('flaky', options, (step) => {
        tries.push(tries.length + 1)
        keys.add(step.idempotencyKey)
        if (tries.length <= failures) throw error(tries.length)
        return `after ${tries.length}`
      }),
  }
}

describe('execution: retries of steps', () => {
  test('each try is recorded with its own duration, and the wait before it belongs to none', async () => {
    const doors = [gate(), gate()]
    let tries = 0
    const { runtime, elapse, receipt } = await begun((ctx) =>
      ctx.step('slow', { retry: { attempts: 2, backoff: plain } }, async () => {
        const door = doors[tries++]
        await door?.promise
        if (tries === 1) throw new Error('again')
        return 'done'
      }),
    )
    await elapse(400)
    doors[0]?.resolve()
    await elapse(1_000)
    await elapse(250)
    doors[1]?.resolve()
    expect(await runtime.result(receipt)).toBe('done')
    const events = await all(runtime.events(receipt.taskId))
    const durations = events.flatMap(({ type, data }) =>
      type === 'step.failed' || type === 'step.completed' ? [[type, Math.round(data.durationMs)]] : [],
    )
    expect(durations).toEqual([
      ['step.failed', 400],
      ['step.completed', 250],
    ])
  })

  test('a step is tried again after waits that grow, without a slot', async () => {
    const step = flaky(3)
    const { runtime, elapse, receipt, taskId } = await begun((ctx) =>
      step.run(ctx, { retry: { attempts: 5, backoff: plain } }),
    )
    for (const [wait, tries] of [
      [1_000, 1],
      [2_000, 2],
      [4_000, 3],
    ] as const) {
      expect(step.tries).toHaveLength(tries)
      expect(await runtime.status(taskId)).toMatchObject({
        state: 'waiting',
        waits: [{ key: `$ku0/retry/${tries}/flaky`, kind: 'timer', position: 0 }],
      })
      await elapse(wait - 1)
      expect(step.tries).toHaveLength(tries)
      await elapse(1)
    }
    expect(await runtime.result(receipt)).toBe('after 4')
    expect(step.keys.size).toBe(1)
    const failed = (await all(runtime.events(taskId))).filter(({ type }) => type === 'step.failed')
    expect(failed.map(({ data }) => data)).toMatchObject([
      { key: 'flaky', retry: 1, error: { message: 'failure 1' } },
      { key: 'flaky', retry: 2 },
      { key: 'flaky', retry: 3 },
    ])
  })

  test('the last error is thrown when the tries are used up', async () => {
    const step = flaky(10)
    const { runtime, elapse, receipt, taskId } = await begun((ctx) =>
      step.run(ctx, { retry: { attempts: 3, backoff: plain } }).catch((error: Error) => error.message),
    )
    await elapse(10_000)
    expect(await runtime.result(receipt)).toBe('failure 3')
    const failed = (await all(runtime.events(taskId))).filter(({ type }) => type === 'step.failed')
    expect(failed.map(({ data }) => (data as { retry?: number }).retry)).toEqual([1, 2, undefined])
  })

  test('by default chance takes up to a fifth off a second, two, four', async () => {
    const step = flaky(2)
    const { elapse, receipt, runtime, environment } = await begun((ctx) =>
      step.run(ctx, { retry: { attempts: 3 } }),
    )
    await elapse(799)
    expect(step.tries).toHaveLength(1)
    await elapse(201)
    expect(step.tries).toHaveLength(2)
    await elapse(1_599)
    expect(step.tries).toHaveLength(2)
    await elapse(401)
    expect(await runtime.result(receipt)).toBe('after 3')
    expect(environment.clock.now()).toBeGreaterThan(0)
  })

  test.each<[string, () => Error]>([
    ['a NonRetryableError', () => new NonRetryableError('hopeless')],
    [
      'one among the causes',
      () => new Error('outer', { cause: new Error('mid', { cause: new NonRetryableError('hopeless') }) }),
    ],
    ['an error of that name', () => Object.assign(new Error('hopeless'), { name: 'NonRetryableError' })],
    ['retryable: false', () => Object.assign(new Error('hopeless'), { retryable: false })],
  ])('%s ends the tries', async (_, error) => {
    const step = flaky(1, error)
    const { runtime, receipt } = await begun((ctx) =>
      step.run(ctx, { retry: { attempts: 3, backoff: plain } }).catch(() => 'given up'),
    )
    expect(await runtime.result(receipt)).toBe('given up')
    expect(step.tries).toHaveLength(1)
  })

  test('a result that cannot be stored is not tried again; a step that took too long is', async () => {
    let calls = 0
    const { runtime, receipt, elapse } = await begun(async (ctx) => {
      const retry = { attempts: 2, backoff: plain }
      const first = await ctx
        .step('a', { retry }, (): unknown => (calls++, () => 1))
        .catch(({ code }: { code: string }) => code)
      const signals: boolean[] = []
      const second = await ctx.step('b', { retry, timeoutMs: 500 }, ({ signal }) => {
        signals.push(signal.aborted)
        return signals.length === 1 && calls++ === 1 ? new Promise<string>(() => {}) : 'in time'
      })
      return [first, second, signals]
    })
    await elapse(1_500)
    expect(await runtime.result(receipt)).toEqual(['step_not_serializable', 'in time', [false]])
  })

  test('tries survive a crash, while the step waits and while it runs', async () => {
    const tries: number[] = []
    const { runtime, receipt, taskId, block, elapse } = await begun((ctx, pass) =>
      ctx
        .step('flaky', { retry: { attempts: 3, backoff: plain } }, () => {
          tries.push(pass)
          if (tries.length === 2) return new Promise<never>(() => {})
          throw new Error(`failure ${tries.length}`)
        })
        .catch((error: Error) => error.message),
    )
    await elapse(1_000)
    expect(tries).toEqual([1, 2])
    await block(31_000)
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'waiting', attempt: 2, crashes: 1 })
    await elapse(2_000)
    expect(await runtime.result(receipt)).toBe('failure 4')
    expect(tries).toEqual([1, 2, 3, 4])
  })

  test('two steps retry side by side, each at its own time', async () => {
    const times: (readonly [string, number])[] = []
    const started = Date.UTC(2026, 0, 1)
    let now = () => 0
    const { runtime, receipt, elapse, environment } = await begun((ctx) =>
      ctx.all('both', {
        quick: (c) => attempt(c, 'quick', 1_000),
        slow: (c) => attempt(c, 'slow', 5_000),
      }),
    )
    now = () => Math.round((environment.clock.now() - started) / 100) * 100
    function attempt(c: TaskContext, key: string, initialMs: number) {
      return c.step(key, { retry: { attempts: 3, backoff: { ...plain, initialMs, factor: 1 } } }, () => {
        times.push([key, now()])
        if (times.filter(([name]) => name === key).length < 3) throw new Error('not yet')
        return key
      })
    }
    await elapse(20_000)
    expect(await runtime.result(receipt)).toEqual({ quick: 'quick', slow: 'slow' })
    expect(times).toEqual([
      ['quick', 0],
      ['slow', 0],
      ['quick', 1_000],
      ['quick', 2_000],
      ['slow', 5_000],
      ['slow', 10_000],
    ])
  })

  test('a step beside it keeps the pass: the retry comes in it, at its time', async () => {
    const door = gate()
    const step = flaky(1)
    const { runtime, receipt, elapse, passes } = await begun((ctx) =>
      Promise.all([
        ctx.step('long', () => door.promise),
        step.run(ctx, { retry: { attempts: 2, backoff: plain } }),
      ]),
    )
    await elapse(999)
    expect(step.tries).toHaveLength(1)
    await elapse(1)
    expect(step.tries).toHaveLength(2)
    door.resolve()
    await elapse(0)
    expect(await runtime.result(receipt)).toEqual([undefined, 'after 2'])
    expect(passes()).toBe(1)
  })

  test('a retry that lost a race does not come', async () => {
    const step = flaky(5)
    const { runtime, receipt, elapse } = await begun(async (ctx) => {
      const { winner } = await ctx.race('r', {
        flaky: (c) => step.run(c, { retry: { attempts: 5, backoff: { ...plain, initialMs: 10_000 } } }),
        patience: (c) => c.sleep('patience', 5_000),
      })
      await ctx.sleep('after', 60_000)
      return winner
    })
    await elapse(5_000)
    expect(await runtime.status(receipt.taskId)).toMatchObject({ waits: [{ key: 'after' }] })
    await elapse(60_000)
    expect(await runtime.result(receipt)).toBe('patience')
    expect(step.tries).toHaveLength(1)
  })

  test('works for keys of 255 characters', async () => {
    let calls = 0
    const { runtime, receipt, elapse } = await begun((ctx) =>
      ctx.step('x'.repeat(255), { retry: { attempts: 2, backoff: plain } }, () => {
        calls += 1
        if (calls === 1) throw new Error('once')
        return calls
      }),
    )
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe(2)
  })

  test.each<[unknown, string]>([
    [3, "step 's' option retry: an object with attempts, backoff; given 3"],
    [{}, "step 's' option retry.attempts: a whole number, 1 or more; not given"],
    [{ attempts: 0 }, "step 's' option retry.attempts: a whole number, 1 or more; given 0"],
    [
      { attempts: 2, backoff: { factor: 0.5 } },
      "step 's' option retry.backoff.factor: a number, 1 or more; given 0.5",
    ],
    [
      { attempts: 2, backoff: { jitter: 2 } },
      "step 's' option retry.backoff.jitter: a number from 0 to 1; given 2",
    ],
    [
      { attempts: 2, backoff: { initialMs: -1 } },
      "step 's' option retry.backoff.initialMs: a number of ms from 0",
    ],
  ])('%j is no policy', async (retry, message) => {
    const { runtime, receipt } = await begun((ctx) =>
      ctx.step('s', { retry: retry as never }, () => 1).catch((error: Error) => error.message),
    )
    expect(await runtime.result(receipt)).toContain(message)
  })
})
