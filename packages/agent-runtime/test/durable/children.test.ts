import { expect, expectTypeOf, describe, test } from 'vitest'
import { z } from 'zod'
import {
  type ChildTask,
  defineTask,
  type Runtime,
  TaskCanceled,
  TaskFailed,
  TaskRejected,
  TimeoutError,
} from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { gate, virtualRuntime } from '../virtual-runtime.ts'
import { double, broken } from './children-scene.ts'

const forever = defineTask({ type: 'forever', input: z.unknown() }, async (ctx) => {
  await ctx.waitForSignal('never')
})
const childrenOf = async (runtime: Runtime, parent: string) =>
  (await runtime.list({ parent })).tasks.toReversed()

describe('children (docs/semantics.md 5.5)', () => {
  test('a parent calls its children, waits without a slot, and gets what they return', async () => {
    const passes: number[] = []
    const sum = defineTask({ type: 'sum', input: z.array(z.number()) }, async (ctx, numbers) => {
      passes.push(ctx.attempt)
      const first = await ctx.call('first', double, numbers[0] ?? 0)
      expectTypeOf(first).toEqualTypeOf<number>()
      const rest = await Promise.all(
        numbers.slice(1).map((number, index) => ctx.call(`n${index}`, double, number)),
      )
      return rest.reduce((total, number) => total + number, first)
    })
    await using it = await createTestRuntime({ tasks: [sum, double], workers: { capacity: 1 } })
    const receipt = await it.runtime.submit(sum, [1, 2, 3, 4], { lane: 'interactive', client: 'ann' })
    expect(await it.result(receipt)).toBe(20)
    expect(it.now - Date.UTC(2026, 0, 1)).toBe(2_000)
    const children = await childrenOf(it.runtime, receipt.taskId)
    expect(
      children.map(({ type, lane, client, parent, input }) => [type, lane, client, parent, input]),
    ).toEqual([1, 2, 3, 4].map((number) => ['double', 'interactive', 'ann', receipt.taskId, number]))
    expect((await it.history(receipt)).attempts).toBe(1)
    expect(passes.length).toBeGreaterThan(2)
  })

  test('a child is a handle: its id, its result as often as asked for, and its end', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const child = await ctx.spawn('child', double, 4, { labels: { a: 'b' }, lane: 'batch', taskId: 'mine' })
      const [one, two] = await Promise.all([child.result(), child.result({ timeoutMs: 5_000 })])
      return [child.taskId, one, two, await child.result(), await child.cancel()]
    })
    await using it = await createTestRuntime({ tasks: [parent, double] })
    expect(await it.run(parent, null)).toEqual(['mine', 8, 8, 8, false])
    expect(await it.runtime.status('mine')).toMatchObject({ lane: 'batch', labels: { a: 'b' } })
  })

  test('a failed child throws TaskFailed with its error, a canceled one TaskCanceled; both can be caught', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const failed = await ctx.call('failed', broken, 'oh').catch((error: unknown) => error)
      const child = await ctx.spawn('canceled', forever, null)
      await child.cancel('enough')
      const canceled = await child.result().catch((error: unknown) => error)
      if (!(failed instanceof TaskFailed) || !(canceled instanceof TaskCanceled))
        throw new Error('other errors')
      const { kind, cause, taskId } = failed
      return [kind, (cause as Error).message, taskId, canceled.message]
    })
    await using it = await createTestRuntime({ tasks: [parent, broken, forever] })
    const receipt = await it.runtime.submit(parent, null)
    const [failed, canceled] = [await it.result(receipt), await childrenOf(it.runtime, receipt.taskId)]
    expect(failed.slice(0, 3)).toEqual(['error', 'oh', canceled[0]?.taskId])
    expect(failed[3]).toContain('enough')
  })

  test('a failure that nobody catches fails the parent, whose retries cannot change it', async () => {
    const parent = defineTask({ type: 'parent', input: z.null(), retry: { attempts: 3 } }, (ctx) =>
      ctx.call('child', broken, 'oh'),
    )
    await using it = await createTestRuntime({ tasks: [parent, broken] })
    const receipt = await it.runtime.submit(parent, null)
    await expect(it.result(receipt)).rejects.toMatchObject({ name: 'TaskFailed', kind: 'error' })
    expect(await it.runtime.status(receipt)).toMatchObject({ attempt: 1, error: { name: 'TaskFailed' } })
  })

  test('patience: the child goes on, and can be waited for again; every pass gets the same answers', async () => {
    const slow = defineTask({ type: 'slow', input: z.null() }, async (ctx) => {
      await ctx.sleep('long', 10_000)
      return 'late'
    })
    const seen: unknown[][] = []
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const child = await ctx.spawn('child', slow, null)
      const log: unknown[] = []
      seen.push(log)
      for (const timeoutMs of [1_000, 1_000, 60_000])
        log.push(
          await child.result({ timeoutMs }).catch((error: unknown) => {
            if (!(error instanceof TimeoutError)) throw error
            return error.timeoutMs
          }),
        )
      await ctx.sleep('more', 100_000)
      log.push(await child.result({ timeoutMs: 1 }))
      return log
    })
    await using it = await createTestRuntime({ tasks: [parent, slow] })
    expect(await it.run(parent, null)).toEqual([1_000, 1_000, 'late', 'late'])
    for (const log of seen) expect([1_000, 1_000, 'late', 'late'].slice(0, log.length)).toEqual(log)
    expect(it.now - Date.UTC(2026, 0, 1)).toBe(110_000)
  })

  const narrow = { queueDepthLimit: 2, batchBackpressureThreshold: 1 }

  test('a full queue is waited out: children are submitted when there is room', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const keys = Array.from({ length: 10 }, (_, n) => `child ${n}`)
      const sums = await Promise.all(keys.map((key, n) => ctx.call(key, double, n)))
      await ctx.spawn('another', forever, null)
      const { value } = await ctx.race('race', {
        child: (c) => c.call('raced', double, 4),
        late: (c) => c.sleep('patience', 600_000),
      })
      return [...sums, value]
    })
    const options = { tasks: [parent, double, forever], config: narrow, workers: { capacity: 1 } }
    await using it = await createTestRuntime(options)
    const receipt = await it.runtime.submit(parent, null, { lane: 'batch' })
    expect(await it.result(receipt)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 8])
    expect((await it.runtime.stats()).totals.rejected).toBe(0)
    expect((await it.runtime.list({ parent: receipt.taskId })).tasks).toHaveLength(12)
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    expect(await it.result(await it.runtime.fork(receipt))).toEqual(await it.result(receipt))
  })

  test('explain says that a parent waits for room for its child', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) =>
      Promise.all([ctx.call('first', double, 1), ctx.call('second', double, 2)]),
    )
    const config = { queueDepthLimit: 1, batchBackpressureThreshold: 1 }
    await using it = await createTestRuntime({ tasks: [parent, double], config, workers: { capacity: 1 } })
    const receipt = await it.runtime.submit(parent, null)
    await it.until(receipt, 'waiting')
    const { summary, waits } = (await it.runtime.explain(receipt)) ?? {}
    expect(summary).toMatch(
      /^waits for the child 'first' \(task [0-9a-f-]+, [a-z ]+\) or room for the child 'second' until /,
    )
    expect(waits).toHaveLength(2)
    expect(await it.result(receipt)).toEqual([2, 4])
  })

  test('a submission that is refused throws TaskRejected where it is not to wait, and the same call may be made again', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      await ctx.spawn('first', forever, null)
      for (let turn = 1; ; turn++) {
        const child = await ctx
          .spawn('second', double, 4, { whenFull: 'throw' })
          .catch((error: unknown) => error)
        if (!(child instanceof TaskRejected)) return (child as ChildTask<number>).result()
        expect([child.reason, turn]).toEqual(['queue_full', 1])
        await ctx.sleep(`wait ${turn}`, 1_000)
      }
    })
    const config = { queueDepthLimit: 1, batchBackpressureThreshold: 1 }
    await using it = await createTestRuntime({
      tasks: [parent, forever, double],
      workers: { capacity: 1 },
      config,
    })
    expect(await it.run(parent, null)).toBe(8)
    expect((await it.runtime.stats()).totals.rejected).toBe(1)
  })

  test('a child that there will never be room for is refused at once', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const refused = await ctx.call('child', double, 4, { model: 'one' }).catch((error: unknown) => error)
      return [(refused as TaskRejected).forGood, (refused as TaskRejected).message]
    })
    await using it = await createTestRuntime({
      tasks: [parent, double],
      config: { quotaConfig: { models: { one: { maxInFlight: 1 } } } },
    })
    expect(await it.run(parent, null, { model: 'one' })).toEqual([
      true,
      expect.stringContaining('the parent is that task'),
    ])
  })

  test('an input that does not fit is a recorded rejection, as for any submission', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) =>
      ctx.call('child', double, 'four' as never),
    )
    await using it = await createTestRuntime({ tasks: [parent, double] })
    await expect(it.run(parent, null)).rejects.toMatchObject({ cause: { code: 'invalid_payload' } })
    expect((await it.runtime.stats()).totals.rejected).toBe(1)
  })

  test('limits, keys and options are checked', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      await ctx.spawn('a', forever, null)
      await ctx.spawn('b', 'forever', null)
      const codes = await Promise.all(
        [
          ctx.spawn('c', forever, null),
          ctx.spawn('a', forever, null),
          ctx.spawn('', forever, null),
          ctx.spawn('d', undefined as never, null),
          ctx.spawn('e', forever, null, { onParentEnd: 'keep' as never }),
          ctx.spawn('f', forever, null, { lane: 'fast' as never }),
          ctx.spawn('g', forever, null, { idempotencyKey: 'x' } as never),
        ].map((call) =>
          call.then(
            () => 'spawned',
            (error: { code: string }) => error.code,
          ),
        ),
      )
      return codes
    })
    await using it = await createTestRuntime({ tasks: [parent, forever], config: { maxChildren: 2 } })
    expect(await it.run(parent, null)).toEqual([
      'limit_exceeded',
      'duplicate_step_key',
      'invalid_argument',
      'invalid_argument',
      'invalid_argument',
      'invalid_argument',
      'invalid_argument',
    ])
  })

  test('a definition that the runtime was not given is refused, as in submit', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) =>
      ctx.call('child', double, 1).catch(({ reason }: { reason?: string }) => reason),
    )
    await using it = await createTestRuntime({ tasks: [parent] })
    expect(await it.run(parent, null)).toBe('unknown_task_type')
  })

  test('a child under the same key of another type parks the task: its code has changed', async () => {
    const other = defineTask({ type: 'other', input: z.any() }, () => 1)
    let changed = false
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      await ctx.spawn('child', changed ? other : double, 1)
      await ctx.waitForSignal('go')
    })
    await using it = await createTestRuntime({ tasks: [parent, double, other] })
    const receipt = await it.runtime.submit(parent, null)
    await it.until(receipt, 'waiting')
    changed = true
    await it.runtime.signal(receipt, 'go')
    await it.settle()
    expect(await it.runtime.status(receipt)).toMatchObject({
      state: 'waiting',
      waitingFor: 'divergence',
      divergence: { kind: 'unexpected_step', key: 'child', expected: 'child double', actual: 'child other' },
    })
  })

  test('the result of a child is not asked for inside a step', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const child = await ctx.spawn('child', double, 1)
      return ctx.step('a', () => child.result())
    })
    await using it = await createTestRuntime({ tasks: [parent, double] })
    await expect(it.run(parent, null)).rejects.toMatchObject({ code: 'inside_step' })
  })

  test('more children than maxWaits may be waited for side by side', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const all = Array.from({ length: 30 }, (_, n) => ctx.call(`c${n}`, double, n))
      return (await Promise.all(all)).length
    })
    await using it = await createTestRuntime({ tasks: [parent, double], config: { maxWaits: 10 } })
    expect(await it.run(parent, null)).toBe(30)
  })

  test('a call takes its places when it is made: what is called beside it has the same place in every pass', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      await Promise.all([
        ctx.call('child', double, 1),
        ctx.all('both', { a: (c) => c.step('s', () => 1), b: (c) => c.sleep('z', 37) }),
      ])
      await ctx.waitForSignal('go')
    })
    await using it = await createTestRuntime({ tasks: [parent, double] })
    const receipt = await it.runtime.submit(parent, null)
    await it.until(receipt, (task) => task.state === 'waiting' && task.waitingFor === 'signal')
    expect((await it.runtime.replay(receipt, { mode: 'verify' })).verdict).toBe('agreed')
  })

  test('a type that this process does not define is refused in every pass, also by its name, as in submit', async () => {
    const refusals: unknown[] = []
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      for (const key of ['spawned', 'called']) {
        const child: Promise<unknown> =
          key === 'spawned' ? ctx.spawn(key, 'doubel', 1) : ctx.call(key, 'doubel', 1)
        refusals.push(await child.catch((error: unknown) => error))
      }
      await ctx.waitForSignal('go')
    })
    await using it = await createTestRuntime({ tasks: [parent, double] })
    const receipt = await it.runtime.submit(parent, null)
    await it.until(receipt, 'waiting')
    await it.runtime.signal(receipt, 'go')
    expect(await it.result(receipt)).toBeUndefined()
    const submitted = await it.runtime.submit('doubel', 1)
    expect(submitted).toMatchObject({ accepted: false, reason: 'unknown_task_type' })
    const { reason, message } = submitted as { reason: string; message: string }
    expect(refusals).toHaveLength(4)
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(TaskRejected)
      expect(refusal).toMatchObject({ reason, message: expect.stringContaining(message) as string })
    }
  })

  test('a parent that ends takes its children with it; an abandoned one goes on', async () => {
    const stopped: unknown[] = []
    const entered = gate()
    const holding = defineTask({ type: 'holding', input: z.null() }, async (ctx) => {
      entered.resolve()
      await new Promise((_, reject) =>
        ctx.signal.addEventListener('abort', () => {
          stopped.push((ctx.signal.reason as Error).message)
          reject(ctx.signal.reason as Error)
        }),
      )
    })
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      await ctx.spawn('held', holding, null)
      await ctx.spawn('free', double, 1, { onParentEnd: 'abandon' })
      await ctx.waitForSignal('never')
    })
    await using it = await createTestRuntime({ tasks: [parent, holding, double] })
    const receipt = await it.runtime.submit(parent, null)
    await it.settle()
    await entered.promise
    await it.until(receipt, 'waiting')
    await it.runtime.cancel(receipt, { reason: 'enough' })
    await it.settle()
    await it.advance(2_000)
    const children = await childrenOf(it.runtime, receipt.taskId)
    expect(children.map(({ state }) => state)).toEqual(['canceled', 'completed'])
    expect(stopped).toEqual([expect.stringContaining('its parent was canceled: enough')])
  })

  test('a race cancels the children of the branches that lost, and keeps those of the winner', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const { winner, value } = await ctx.race('race', {
        slow: (branch) => branch.call('slow', forever, null),
        quick: async (branch) => {
          await branch.spawn('kept', forever, null)
          return branch.call('quick', double, 2)
        },
      })
      await ctx.sleep('after', 1_000)
      return [winner, value]
    })
    await using it = await createTestRuntime({ tasks: [parent, forever, double] })
    const receipt = await it.runtime.submit(parent, null)
    await it.until(receipt, (status) => status.state === 'waiting' && it.now > Date.UTC(2026, 0, 1) + 999)
    const states = async () => (await childrenOf(it.runtime, receipt.taskId)).map(({ state }) => state)
    expect(await states()).toEqual(['canceled', 'waiting', 'completed'])
    expect(await it.result(receipt)).toEqual(['quick', 4])
    expect(await states()).toEqual(['canceled', 'canceled', 'completed'])
  })

  test('a failed all cancels the children beside the failure; when it is run again it spawns its own', async () => {
    let tries = 0
    const parent = defineTask({ type: 'parent', input: z.null(), retry: { attempts: 2 } }, async (ctx) =>
      ctx.all('all', {
        child: (branch) => branch.call('child', double, 2),
        step: async (branch) => {
          await branch.sleep('first', 10)
          return branch.step('maybe', () => {
            if (++tries === 1) throw new Error('not yet')
            return 'fine'
          })
        },
      }),
    )
    await using it = await createTestRuntime({ tasks: [parent, double] })
    const receipt = await it.runtime.submit(parent, null)
    expect(await it.result(receipt)).toEqual({ child: 4, step: 'fine' })
    const children = await childrenOf(it.runtime, receipt.taskId)
    expect(children.map(({ state }) => state)).toEqual(['canceled', 'completed'])
  })

  test('12.0 a child with an id of its own that is spawned again gets an error that says what to do', async () => {
    const small = defineTask({ type: 'small', input: z.any() }, (_ctx, it) => it)
    const parent = defineTask({ type: 'parent', input: z.boolean() }, async (ctx, isFixed) => {
      const taskId = isFixed ? 'fixed' : `${ctx.taskId}/small/${ctx.feedback.length}`
      const value = await ctx.call('small', small, ctx.feedback.length, { taskId })
      await ctx.requestApproval('ok', value)
      return value
    })
    await using it = await createTestRuntime({ tasks: [small, parent] })
    const asked = async (task: string, as: 'approve' | 'reject') => {
      await it.until(task, 'waiting')
      const [open] = (await it.runtime.approvals.list({ task })).approvals
      await it.runtime.approvals[as](open?.approvalId ?? '')
    }
    const fixed = await it.runtime.submit(parent, true)
    await asked(fixed.taskId, 'reject')
    await expect(it.result(fixed)).rejects.toMatchObject({
      message: expect.stringMatching(
        /child 'small': the task id "fixed" is taken.*leave taskId out.*ctx.feedback.length/,
      ) as string,
    })
    const derived = await it.runtime.submit(parent, false)
    await asked(derived.taskId, 'reject')
    await asked(derived.taskId, 'approve')
    expect(await it.result(derived)).toBe(1)
  })

  test('retry keeps the children that completed and runs the others again', async () => {
    let fails = true
    const moody = defineTask({ type: 'moody', input: z.null() }, () => {
      if (fails) throw new Error('not today')
      return 'well'
    })
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => [
      await ctx.call('double', double, 5),
      await ctx.call('moody', moody, null),
    ])
    await using it = await createTestRuntime({ tasks: [parent, double, moody] })
    const receipt = await it.runtime.submit(parent, null)
    await expect(it.result(receipt)).rejects.toThrow('not today')
    fails = false
    const again = await it.runtime.retry(receipt)
    expect(await it.result(again)).toEqual([10, 'well'])
    const children = await childrenOf(it.runtime, again.taskId)
    expect(children.map(({ type }) => type)).toEqual(['moody'])
    const forked = await it.runtime.fork(again, { fromStep: 'double' })
    expect(await it.result(forked)).toEqual([10, 'well'])
    expect(await childrenOf(it.runtime, forked.taskId)).toHaveLength(2)
  })

  test('6.3 retry repeats no step of a child that failed, nor of a child of that', async () => {
    const paid: string[] = []
    let fails = true
    const leaf = defineTask({ type: 'leaf', input: z.null() }, async (ctx) => {
      await ctx.step('read', () => paid.push('leaf'))
      if (fails) throw new Error('not today')
    })
    const middle = defineTask({ type: 'middle', input: z.null() }, async (ctx) => {
      await ctx.step('plan', () => paid.push('middle'))
      await ctx.call('leaf', leaf, null)
    })
    const top = defineTask({ type: 'top', input: z.null() }, (ctx) => ctx.call('middle', middle, null))
    await using it = await createTestRuntime({ tasks: [top, middle, leaf] })
    const first = await it.runtime.submit(top, null)
    await expect(it.result(first)).rejects.toThrow('not today')
    const second = await it.runtime.retry(first)
    await expect(it.result(second)).rejects.toThrow('not today')
    fails = false
    await it.result(await it.runtime.retry(second))
    expect(paid).toEqual(['middle', 'leaf'])
  })

  test('a call that is not awaited fails the attempt, like a step', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) => {
      void ctx.call('child', double, 1)
    })
    await using it = await createTestRuntime({ tasks: [parent, double] })
    await expect(it.run(parent, null)).rejects.toMatchObject({ code: 'step_outside_handler' })
  })

  test('an end that comes in a pass before the handler asks for it answers when it does', async () => {
    const [ended, asks, goesOn] = [gate(), gate(), gate()]
    let passes = 0
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) => {
      const pass = ++passes
      const child = await ctx.spawn('child', double, 3)
      void ctx.waitForSignal('something else')
      const awaited = async () => {
        // Work outside steps: a later pass comes to the wait later than the one before it did.
        if (pass > 1) await asks.promise
        return child.result()
      }
      const [result] = await Promise.all([
        awaited(),
        ctx.waitForSignal('go').then(() => ctx.step('long', () => goesOn.promise)),
      ])
      return result
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [parent, double] })
    using _ = runtime.on('child.ended', () => ended.resolve())
    const receipt = await runtime.submit(parent, null)
    await elapse(500)
    await runtime.signal(receipt, 'go')
    await elapse(100)
    expect(passes).toBe(2)
    await elapse(1_000)
    await ended.promise
    await elapse(1_000)
    asks.resolve()
    await elapse(1_000)
    goesOn.resolve()
    await elapse(1_000)
    expect(await runtime.status(receipt)).toMatchObject({ state: 'completed', output: 6 })
  })

  test('the history of a test has the children', async () => {
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) => ctx.call('child', double, 1))
    await using it = await createTestRuntime({ tasks: [parent, double] })
    const receipt = await it.runtime.submit(parent, null)
    await it.result(receipt)
    const text = (await it.history(receipt)).toString()
    expect(text).toContain("child.spawned    'child', a double")
    expect(text).toContain("for child 'child'")
    expect(text).toContain("child.ended      'child' completed with 2")
    expect(text).toContain("child 'child' has ended")
    const { waits } = await it.history(receipt)
    expect(waits).toEqual([])
  })
})
