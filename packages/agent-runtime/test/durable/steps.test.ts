import { DuplicateStepKey, PayloadTooLarge, StepNotSerializable, TaskCanceled } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { all, gate, turns, until, virtualRuntime } from '../virtual-runtime.ts'

/** Runs `body` once, as a handler, and gives what it returned. */
async function runOnce<T>(body: (ctx: TaskContext) => Promise<T>): Promise<T> {
  const task = defineTask({ type: 'once', input: z.null() }, (ctx) => body(ctx))
  const { runtime } = await virtualRuntime({ tasks: [task] })
  return (await runtime.result(await runtime.submit(task, null))) as T
}

/** A handler whose first passes crash: their lease expires under a handler that does not go on. */
async function resumed(body: (ctx: TaskContext, pass: number) => Promise<unknown>, crashes = 1) {
  let pass = 0
  const task = defineTask({ type: 'resumed', input: z.null() }, (ctx) => {
    pass += 1
    return body(ctx, pass)
  })
  const virtual = await virtualRuntime({ tasks: [task], config: { maxInFlightPerWorker: 10 } })
  const replayed: string[] = []
  virtual.runtime.on('step.replayed', ({ data }) => replayed.push(data.key))
  const receipt = await virtual.runtime.submit(task, null)
  for (let crash = 0; crash < crashes; crash += 1) {
    await turns()
    await virtual.block(31_000)
  }
  return { ...virtual, receipt, replayed }
}

const crash = () => new Promise<never>(() => {})

describe('execution: steps', () => {
  test('A08 n steps, a crash, a replay: no step function runs again', async () => {
    const ran: number[] = []
    const { runtime, receipt, replayed } = await resumed(async (ctx, pass) => {
      for (let index = 0; index < 5; index += 1) await ctx.step(`s${index}`, () => ran.push(index))
      return pass === 1 ? crash() : 'done'
    })
    expect(await runtime.result(receipt)).toBe('done')
    expect(ran).toEqual([0, 1, 2, 3, 4])
    expect(replayed).toEqual(['s0', 's1', 's2', 's3', 's4'])
  })

  test('A05 a crash after k steps: k are replayed, the rest run', async () => {
    const ran: string[] = []
    const { runtime, receipt, replayed } = await resumed(async (ctx, pass) => {
      for (let index = 0; index < 5; index += 1) {
        if (pass === 1 && index === 3) await crash()
        await ctx.step(`s${index}`, () => ran.push(`${pass}:${index}`))
      }
    })
    await runtime.result(receipt)
    expect(ran).toEqual(['1:0', '1:1', '1:2', '2:3', '2:4'])
    expect(replayed).toEqual(['s0', 's1', 's2'])
  })

  test('A06 a step in flight at the crash runs again, with the same idempotency key', async () => {
    const keys: string[] = []
    const { runtime, receipt } = await resumed(async (ctx, pass) => {
      await ctx.step('pay', async (step) => {
        keys.push(step.idempotencyKey)
        if (pass === 1) await crash()
      })
      return ctx.idempotencyKey('pay')
    })
    const own = await runtime.result(receipt)
    expect(keys).toEqual([own, own])
    expect(own).toMatch(/^[0-9a-f]{64}$/)
  })

  test.each([[null], [undefined], [false], [0], ['']])(
    'H05 a memo of %s answers, and counts as one',
    async (value) => {
      let calls = 0
      const { runtime, receipt } = await resumed(async (ctx, pass) => {
        const got = await ctx.step('s', () => {
          calls += 1
          return value
        })
        return pass === 1 ? crash() : { got }
      })
      expect(await runtime.result(receipt)).toEqual({ got: value })
      expect(calls).toBe(1)
    },
  )

  test('G09 the caller gets the decoded stored copy, on the first run too', async () => {
    const given = { when: new Date(0), tags: new Map([['a', new Set([1n])]]), nothing: undefined, minus: -0 }
    const got = await runOnce(async (ctx) => {
      const copy = await ctx.step('s', () => given)
      expect(copy).toEqual(given)
      expect(copy).not.toBe(given)
      expect(Object.is(copy.minus, -0)).toBe(true)
      expect(Object.keys(copy)).toEqual(Object.keys(given).toSorted())
      return copy.tags.get('a')
    })
    expect(got).toEqual(new Set([1n]))
  })

  test('errors are not memoized: they reach the handler, and a later pass runs the step again', async () => {
    const ran: number[] = []
    const { runtime, receipt } = await resumed(async (ctx, pass) => {
      const outcome = await ctx
        .step('s', () => {
          ran.push(pass)
          if (pass === 1) throw new TypeError('not yet')
          return 'now'
        })
        .catch((error: Error) => error.message)
      return pass === 1 ? crash() : outcome
    })
    expect(await runtime.result(receipt)).toBe('now')
    expect(ran).toEqual([1, 2])
    const failed = (await all(runtime.events(receipt.taskId))).find(({ type }) => type === 'step.failed')
    expect(failed).toMatchObject({
      data: { key: 's', position: 0, error: { name: 'TypeError', message: 'not yet' } },
    })
  })

  test('a handler that catches the error of a step goes on', async () => {
    const outcome = await runOnce(async (ctx) => {
      const failed = await ctx.step('a', () => Promise.reject(new Error('no'))).catch(() => 'caught')
      return [failed, await ctx.step('b', () => 'went on')]
    })
    expect(outcome).toEqual(['caught', 'went on'])
  })

  test('H03 parallel steps keep the place of their call, whatever order they finish in', async () => {
    const doors = [gate(), gate(), gate()]
    const task = defineTask({ type: 'wide', input: z.null() }, (ctx) =>
      Promise.all(doors.map((door, index) => ctx.step(`s${index}`, () => door.promise.then(() => index)))),
    )
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await turns()
    for (const door of doors.toReversed()) {
      door.resolve()
      await turns()
    }
    expect(await runtime.result(receipt)).toEqual([0, 1, 2])
    const steps = (await all(runtime.events(receipt.taskId))).filter(({ type }) => type === 'step.completed')
    expect(steps.map(({ data }) => data)).toMatchObject([
      { key: 's2', position: 2 },
      { key: 's1', position: 1 },
      { key: 's0', position: 0 },
    ])
  })
})

describe('execution: step keys', () => {
  test('G08 a second use of a key in one pass names both places, on the first run already', async () => {
    const error = await runOnce(async (ctx) => {
      await ctx.step('read', () => 1)
      return ctx.step('read', () => 2).catch((thrown: unknown) => told(thrown))
    })
    expect(error).toMatchObject({ name: 'DuplicateStepKey', code: 'duplicate_step_key' })
    const { firstPlace, secondPlace } = error as { firstPlace: string; secondPlace: string }
    expect(firstPlace).toMatch(/\/steps\.test\.ts:\d+:\d+$/)
    expect(secondPlace).toMatch(/\/steps\.test\.ts:\d+:\d+$/)
    expect(line(secondPlace)).toBe(line(firstPlace) + 1)
  })

  test('G08 concurrent uses too', async () => {
    const outcomes = await runOnce((ctx) =>
      Promise.allSettled([
        ctx.step('read', () => turns()),
        ctx.step('read', () => 2),
        ctx.step('other', () => 3),
      ]),
    )
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('in a loop, when the key does not say which', async () => {
    const task = defineTask({ type: 'loop', input: z.null() }, async (ctx) => {
      for (const file of ['a', 'b']) await ctx.step('read file', () => file)
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const result = runtime.result(await runtime.submit(task, null))
    await expect(result).rejects.toMatchObject({
      name: 'TaskFailed',
      code: 'duplicate_step_key',
      kind: 'error',
    })
    await expect(result).rejects.toThrow("the key 'read file' is used twice in one pass, at ")
  })

  test.each([
    ['', '""'],
    ['x'.repeat(256), '"xxx'],
    [7, '7'],
    [undefined, 'undefined'],
  ])('%j is no key', async (key, shown) => {
    const message = await runOnce((ctx) =>
      ctx.step(key as string, () => 1).catch(({ code, message: text }) => [code, text]),
    )
    expect(message).toEqual([
      'invalid_argument',
      expect.stringContaining(`a step key must be a string of 1 to 255 characters, not ${shown}`),
    ])
  })

  test('G03 names of object members and 255 characters are ordinary keys', async () => {
    const keys = ['constructor', '__proto__', 'toString', 'é', 'e\u0301', 'x'.repeat(255)]
    expect(await runOnce((ctx) => Promise.all(keys.map((key) => ctx.step(key, () => key))))).toEqual(keys)
  })

  test('a step needs a function, and options that make sense', async () => {
    const refusals = await runOnce(async (ctx) => {
      const refusal = (call: () => Promise<unknown>) =>
        call().catch(({ code, message }) => `${code}: ${message}`)
      return [
        await refusal(() => ctx.step('a', 'b' as never)),
        await refusal(() => ctx.step('a', { timeoutMs: -1 }, () => 1)),
        await refusal(() => ctx.step('a', 3 as never, () => 1)),
        await ctx.step('a', () => 'the key is free still'),
      ]
    })
    expect(refusals).toEqual([
      `invalid_argument: step 'a' needs a function to run, not "b"`,
      `invalid_argument: step 'a' option timeoutMs: a number of ms above 0; given -1`,
      `invalid_argument: step 'a' options: an object with input, timeoutMs, retry, inDoubt, verify, rateLimited, toStorable; given 3`,
      'the key is free still',
    ])
  })
})

describe('execution: step values', () => {
  test('G09 a value that cannot be stored fails the step, naming it and the place', async () => {
    const error = await runOnce((ctx) =>
      ctx
        .step('list files', (): unknown => ({ files: [{ open: () => 1 }] }))
        .catch((thrown: unknown) => told(thrown)),
    )
    expect(error).toMatchObject({
      name: 'StepNotSerializable',
      step: "the result of step 'list files'",
      path: '$.files[0].open',
    })
  })

  test('a value that cannot even be looked at fails the step and the task as one that cannot be stored does', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const thrower = new Proxy(
      { a: 1 },
      {
        get() {
          throw new Error('not this one')
        },
      },
    )
    const ofStep = (value: unknown) =>
      runOnce((ctx) => ctx.step('s', () => value).catch((thrown: unknown) => told(thrown)))
    for (const value of [proxy, thrower])
      expect(await ofStep(value)).toMatchObject({
        name: 'StepNotSerializable',
        step: "the result of step 's'",
      })
    await expect(runOnce(() => proxy as never)).rejects.toMatchObject({ code: 'step_not_serializable' })
  })

  test('a result that is too large fails the step, and the task is not retried for it', async () => {
    const task = defineTask({ type: 'large', input: z.null(), retry: { attempts: 5 } }, (ctx) =>
      ctx.step('s', () => 'x'.repeat(2_000)),
    )
    const { runtime } = await virtualRuntime({
      tasks: [task],
      config: { maxPayloadBytes: 1_000, maxInlineBytes: 500 },
    })
    const receipt = await runtime.submit(task, null)
    await expect(runtime.result(receipt)).rejects.toMatchObject({
      code: 'payload_too_large',
      kind: 'limit_exceeded',
    })
    expect(await runtime.status(receipt.taskId)).toMatchObject({ attempt: 1 })
  })

  test('a result that lies in the blob table is replayed as it was', async () => {
    const large = { text: 'x'.repeat(5_000) }
    const { runtime, receipt } = await resumed(async (ctx, pass) => {
      const got = await ctx.step('s', () => large)
      return pass === 1 ? crash() : got
    })
    expect(await runtime.result(receipt)).toEqual(large)
  })

  test('H13 a step whose declared input changed parks its task instead of lying', async () => {
    const { runtime, receipt } = await resumed(async (ctx, pass) => {
      await ctx.step('t', { input: { a: 1, b: [2] } }, () => pass)
      await ctx.step('s', { input: { pass } }, () => pass).catch(() => 'nobody hears of it')
      return pass === 1 ? crash() : 'never'
    })
    expect(await runtime.status(receipt)).toMatchObject({
      state: 'waiting',
      waitingFor: 'divergence',
      divergence: { kind: 'input_changed', key: 's', position: 1 },
    })
  })
})

describe('execution: steps and time', () => {
  test("a step's timeoutMs aborts its signal and throws, whether or not its function stops", async () => {
    const reasons: unknown[] = []
    const task = defineTask({ type: 'slow', input: z.null() }, async (ctx) => {
      const outcome = await ctx
        .step('call', { timeoutMs: 1_000 }, async ({ signal }) => {
          signal.addEventListener('abort', () => reasons.push((signal.reason as Error).message))
          await crash()
        })
        .catch(({ name, message }) => `${name}: ${message}`)
      return [outcome, ctx.signal.aborted, await ctx.step('next', { timeoutMs: 1_000 }, () => 'went on')]
    })
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(1_000)
    const message = "step 'call' took longer than its time limit of 1000 ms"
    expect(await runtime.result(receipt)).toEqual([`TimeoutError: ${message}`, false, 'went on'])
    expect(reasons).toEqual([message])
    expect(environment.clock.pending).toBe(1)
  })

  test("a step's own signal follows the task's", async () => {
    const seen: unknown[] = []
    const task = defineTask({ type: 'slow', input: z.null() }, async (ctx) => {
      await ctx.step('call', { timeoutMs: 1_000 }, ({ signal }) => {
        seen.push(signal === ctx.signal)
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        )
      })
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    await turns()
    expect(seen).toEqual([false])
    expect((await runtime.stats()).inFlight).toBe(0)
  })

  test('a step of a canceled task whose time runs out before its function ends fails with the cancel', async () => {
    const errors: unknown[] = []
    const door = gate()
    const task = defineTask({ type: 'deaf', input: z.null() }, async (ctx) => {
      await ctx
        .step('call', { timeoutMs: 1_000 }, () => door.promise)
        .catch((error: unknown) => errors.push(error))
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    await elapse(2_000)
    expect(errors).toEqual([])
    door.resolve()
    await turns()
    expect(errors).toMatchObject([{ name: 'TaskCanceled' }])
  })

  test('a step that has ended is not aborted any more', async () => {
    const kept: AbortSignal[] = []
    const door = gate()
    const task = defineTask({ type: 'kept', input: z.null() }, async (ctx) => {
      await ctx.step('call', { timeoutMs: 1_000 }, ({ signal }) => void kept.push(signal))
      const failing = ctx.step('fail', { timeoutMs: 1_000 }, ({ signal }) => {
        kept.push(signal)
        throw new Error('refused')
      })
      await failing.catch(() => {})
      await door.promise
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(5_000)
    await runtime.cancel(taskId)
    await turns()
    expect(kept.map(({ aborted }) => aborted)).toEqual([false, false])
    door.resolve()
  })
})

describe('execution: steps outside their handler', () => {
  test('a step that the handler did not await is refused once the handler has ended', async () => {
    const errors: unknown[] = []
    const door = gate()
    let late: (() => Promise<unknown>) | undefined
    const task = defineTask({ type: 'hasty', input: z.null() }, (ctx) => {
      ctx.step('floating', () => door.promise).catch((error: { code: string }) => errors.push(error.code))
      late = () => ctx.step('afterwards', () => errors.push('ran'))
      return 'done'
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    expect(await runtime.result(receipt)).toBe('done')
    door.resolve()
    await until(() => errors.length === 1)
    await expect(late?.()).rejects.toMatchObject({ code: 'step_outside_handler' })
    expect(errors).toEqual(['step_outside_handler'])
    expect(await runtime.status(receipt.taskId)).toMatchObject({ steps: 0 })
    expect((await runtime.stats()).staleWrites).toBe(0)
  })

  test('no rejection of the runtime ever counts as unhandled', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', onUnhandled)
    const door = gate()
    const task = defineTask({ type: 'careless', input: z.null() }, async (ctx) => {
      void ctx.step('one', () => door.promise)
      void ctx.step('one', () => 1)
      void ctx.step(
        'two',
        ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      )
      void ctx.step('three', { timeoutMs: 10 }, () => crash())
      void ctx.step('four', (): unknown => () => 1)
      void ctx.emit<unknown>(() => 1)
      await door.promise
      void ctx.step('five', () => 1)
      void ctx.emit(1)
      void ctx.checkpoint(1)
      void ctx.heartbeat({ progress: 1 })
      void ctx.exec('true')
      await ctx.step('six', () => 1)
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(10)
    await runtime.cancel(receipt.taskId)
    door.resolve()
    await turns()
    await expect(runtime.result(receipt)).rejects.toThrow(TaskCanceled)
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled).toEqual([])
  })
})

/** What a test can return from a handler of an error: its own properties and its name. */
function told(error: unknown): Record<string, unknown> {
  expect([DuplicateStepKey, StepNotSerializable, PayloadTooLarge].some((kind) => error instanceof kind)).toBe(
    true,
  )
  const { name, code, details } = error as DuplicateStepKey
  return { name, code, ...details }
}

function line(place: string): number {
  return Number(place.split(':').at(-2))
}

describe('execution: calls inside a step', () => {
  test.each([
    ['step', (ctx: TaskContext) => ctx.step('inner', () => 1)],
    ['sleep', (ctx: TaskContext) => ctx.sleep('inner', 1)],
    ['signal', (ctx: TaskContext) => ctx.waitForSignal('inner')],
    ['approval', (ctx: TaskContext) => ctx.requestApproval('inner', 1)],
    ['race', (ctx: TaskContext) => ctx.race('inner', { a: () => 1 })],
  ])('a %s is refused by name, also after something was awaited', async (what, call) => {
    const task = defineTask({ type: 'nested', input: z.any() }, (ctx) =>
      ctx.step('outer', async () => {
        await Promise.resolve()
        return call(ctx)
      }),
    )
    await using it = await createTestRuntime({ tasks: [task] })
    await expect(it.run(task, null)).rejects.toMatchObject({
      code: 'inside_step',
      message: expect.stringContaining(`${what} 'inner' was called inside step 'outer'`) as string,
    })
  })

  test('a call that needs no key may be made there, and steps beside it do not matter', async () => {
    const task = defineTask({ type: 'nested', input: z.any() }, async (ctx) => {
      const [one, two] = await Promise.all([
        ctx.step('one', async () => {
          await ctx.emit('half')
          await ctx.heartbeat()
          return 1
        }),
        ctx.step('two', () => 2),
      ])
      return ctx.step('sum', () => one + two)
    })
    await using it = await createTestRuntime({ tasks: [task] })
    expect(await it.run(task, null)).toBe(3)
  })
})
