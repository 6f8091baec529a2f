import { NonRetryableError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { run } from '../real-processes.ts'
import { gate, turns, until, virtualRuntime } from '../virtual-runtime.ts'

/** A task that runs `body` as its handler, and what became of it. */
async function ended(
  body: (ctx: TaskContext) => unknown,
  { retry, elapseMs = 0 }: { readonly retry?: { attempts: number }; readonly elapseMs?: number } = {},
) {
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', onUnhandled)
  const task = defineTask({ type: 'careless', input: z.null(), ...(retry && { retry }) }, (ctx) => body(ctx))
  const virtual = await virtualRuntime({ tasks: [task] })
  const { taskId } = await virtual.runtime.submit(task, null)
  await virtual.elapse(elapseMs)
  await turns()
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled).toEqual([])
  const status = await virtual.runtime.status(taskId)
  const thrown = await virtual.runtime.result(taskId).catch((error: unknown) => error)
  return { ...virtual, status, thrown, error: (thrown as { cause?: Error } | undefined)?.cause }
}

const never = () => new Promise<never>(() => {})
const failing = () => Promise.reject(Object.assign(new RangeError('x'), { code: 'E_MINE' }))

describe('execution: calls that nobody awaits', () => {
  test('one that failed fails the task with its error, and no other task', async () => {
    const program = run(new URL('../processes/careless.ts', import.meta.url))
    expect(await program.ended).toEqual({ code: 0, signal: null })
    expect(program.lines).toEqual(
      [
        "step 'a' failed and was not awaited: step went wrong",
        "race 'a' failed and was not awaited: race went wrong",
        "all 'a' failed and was not awaited: all went wrong",
        "command '/no/such/command' failed and was not awaited: spawn /no/such/command ENOENT",
      ]
        .map((line, index) => `${['step', 'race', 'all', 'exec'][index]}: ${line}`)
        .concat('beside: done'),
    )
  })

  test('its name, code and cause are those of the error that it failed with', async () => {
    const { status, error } = await ended(async (ctx) => {
      void ctx.step('a', failing)
      await ctx.step('b', () => turns())
    })
    expect(status).toMatchObject({ state: 'failed', kind: 'error' })
    expect(error).toMatchObject({
      name: 'RangeError',
      message: "step 'a' failed and was not awaited: x",
      code: 'handler_failed',
      details: { code: 'E_MINE' },
      cause: { name: 'RangeError', message: 'x', details: { code: 'E_MINE' } },
    })
  })

  test.each([
    ['is retried as if the handler had thrown it', new Error('x'), 3],
    ['is final where it says so', new NonRetryableError('x'), 1],
    ['is final where its code says so', Object.assign(new Error('x'), { retryable: false }), 1],
  ])('its error %s', async (_, error, attempts) => {
    const { status } = await ended(
      async (ctx) => {
        void ctx.step('a', () => Promise.reject(error))
        await ctx.step('b', () => turns())
      },
      { retry: { attempts: 3 }, elapseMs: 10_000 },
    )
    expect(status).toMatchObject({ state: 'failed', attempt: attempts })
  })

  test('a thrown value need be no error', async () => {
    const { error } = await ended(async (ctx) => {
      void ctx.step('a', () => Promise.reject('just text'))
      await turns()
    })
    expect(error).toMatchObject({ message: "step 'a' failed and was not awaited: just text" })
  })

  test('a call that was refused has failed', async () => {
    const twice = await ended(async (ctx) => {
      await ctx.step('a', () => 1)
      void ctx.step('a', () => 2)
    })
    expect(twice.error).toMatchObject({
      name: 'DuplicateStepKey',
      code: 'duplicate_step_key',
      message: expect.stringContaining(
        "step 'a' failed and was not awaited: the key 'a' is used twice in one pass, at ",
      ),
    })
    const { error } = await ended((ctx) => {
      void ctx.sleep(7 as never, 1)
    })
    expect(error).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/^a wait failed and was not awaited: a wait key must be a string/),
    })
  })

  test('the failure keeps its kind when its error cannot be stored', async () => {
    const { status } = await ended(async (ctx) => {
      void ctx.step('a', () => 'x'.repeat(2_000_000))
      await turns()
    })
    expect(status).toMatchObject({ kind: 'limit_exceeded' })
  })

  test('a patience that ended has failed', async () => {
    const { error } = await ended(
      async (ctx) => {
        void ctx.waitForSignal('go', { timeoutMs: 10 })
        await ctx.sleep('nap', 1_000)
      },
      { elapseMs: 1_000 },
    )
    expect(error).toMatchObject({
      code: 'timeout',
      message: /^wait 'go' failed and was not awaited: signal 'go' took/,
    })
  })

  test.each([
    ['step', (ctx: TaskContext) => void ctx.step('a', never)],
    ['race', (ctx: TaskContext) => void ctx.race('a', { only: (c) => c.step('inner', never) })],
    ['all', async (ctx: TaskContext) => void ctx.all('a', { only: (c) => c.step('inner', never) })],
  ])('a %s that still runs fails the task', async (kind, body) => {
    const { status, error } = await ended(body, { retry: { attempts: 3 } })
    expect(status).toMatchObject({ state: 'failed', attempt: 1 })
    expect(error).toMatchObject({
      name: 'RuntimeError',
      code: 'step_outside_handler',
      message: `${kind} 'a' was not awaited: await every step before the handler returns`,
    })
  })

  test('a step that waits between its tries fails the task', async () => {
    const { error } = await ended(async (ctx) => {
      void ctx.step('a', { retry: { attempts: 2 } }, failing)
      await ctx.step('b', () => turns())
    })
    expect(error).toMatchObject({ code: 'step_outside_handler' })
  })

  test('a wait that is still open does no harm', async () => {
    expect(await ended((ctx) => void ctx.sleep('nap', 5_000))).toMatchObject({
      status: { state: 'completed' },
    })
  })

  test('an error of the handler wins', async () => {
    const { error, log } = await ended(async (ctx) => {
      void ctx.step('a', failing)
      void ctx.step('b', never)
      await turns()
      throw new Error('my own')
    })
    expect(error).toMatchObject({ message: 'my own' })
    expect(log).toEqual([])
  })

  test('a task that was canceled, or that waits, says nothing of it', async () => {
    const door = gate()
    const task = defineTask({ type: 'stopped', input: z.null() }, async (ctx) => {
      void ctx.step('a', failing)
      void ctx.step('b', never)
      await door.promise
    })
    const { runtime, log } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    door.resolve()
    await turns()
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled' })
    const suspended = await ended(
      async (ctx) => {
        if (ctx.fencingToken === 1) void ctx.step('a', failing)
        await ctx.sleep('nap', 1_000)
        return 'done'
      },
      { elapseMs: 1_000 },
    )
    expect(suspended.thrown).toBe('done')
    expect([...log, ...suspended.log]).toEqual([])
  })
})

describe('execution: calls that somebody has looked at', () => {
  test.each([
    ['then', (step: Promise<unknown>) => step.then(turns, turns)],
    ['catch', (step: Promise<unknown>) => step.catch(() => {})],
    ['finally', (step: Promise<unknown>) => step.finally(() => {}).catch(() => {})],
    ['Promise.all', (step: Promise<unknown>) => Promise.all([step, turns()]).catch(() => {})],
    ['Promise.allSettled', (step: Promise<unknown>) => Promise.allSettled([step, turns()])],
    [
      'an async function',
      async (step: Promise<unknown>) => {
        await step.catch(() => {})
      },
    ],
  ])('%s is a look', async (_, look) => {
    const { status } = await ended(async (ctx) => {
      await look(ctx.step('a', failing))
      const later = ctx.step('b', failing)
      await turns()
      void look(later)
    })
    expect(status).toMatchObject({ state: 'completed' })
  })

  test.each([
    [
      'async',
      async (ctx: TaskContext, over: Promise<string>) => Promise.race([ctx.step('slow', never), over]),
    ],
    [
      'other',
      (ctx: TaskContext, over: Promise<string>) => {
        void Promise.race([ctx.step('slow', never), over])
        return 'over'
      },
    ],
  ])('work that still runs is dropped, and the log says so: %s handlers', async (_, body) => {
    const { thrown, log } = await ended((ctx) => body(ctx, Promise.resolve('over')))
    expect(thrown).toBe('over')
    expect(log).toMatchObject([
      {
        level: 'warn',
        message: 'steps still ran when the handler returned: their results are dropped',
        fields: { keys: ['slow'], count: 1, type: 'careless', attempt: 1 },
      },
    ])
  })

  test('the line names a few of many', async () => {
    const { log } = await ended((ctx) => {
      void Promise.race(Array.from({ length: 30 }, (unused, index) => ctx.step(`s${index}`, never)))
    })
    expect(log).toMatchObject([{ fields: { count: 30 } }])
    expect(log[0]?.fields['keys']).toHaveLength(10)
  })

  test('a promise made of a step and left alone belongs to its maker', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => unhandled.push((reason as Error).message)
    process.on('unhandledRejection', onUnhandled)
    const task = defineTask({ type: 'derived', input: z.null() }, async (ctx) => {
      void ctx.step('a', failing).then(() => 1)
      await turns()
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await until(() => unhandled.length > 0)
    process.off('unhandledRejection', onUnhandled)
    await runtime.result(receipt)
    expect(unhandled).toEqual(['x'])
  })
})

describe('execution: calls of a branch that nobody awaits', () => {
  test('fail the branch that returned', async () => {
    const { error } = await ended((ctx) =>
      ctx.all('both', {
        a: async (c) => {
          void c.step('inner', failing)
          await turns()
        },
        b: (c) => c.step('other', never),
      }),
    )
    expect(error).toMatchObject({ name: 'RangeError', message: "step 'inner' failed and was not awaited: x" })
    const running = await ended((ctx) => ctx.race('first', { a: (c) => void c.step('inner', never) }))
    expect(running.error).toMatchObject({
      code: 'step_outside_handler',
      message: "step 'inner' was not awaited: await every step before branch 'a' returns",
    })
  })

  test('are nothing to the race that the branch lost', async () => {
    const { thrown, log } = await ended(async (ctx) => {
      const { winner } = await ctx.race('first', {
        slow: async (c) => {
          const early = c.step('early', failing)
          const late = c.step('late', never)
          await c.step('middle', never)
          await Promise.all([early, late])
        },
        fast: (c) => c.step('quick', () => turns()),
      })
      return winner
    })
    expect(thrown).toBe('fast')
    expect(log).toEqual([])
  })
})
