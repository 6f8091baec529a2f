import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineTask,
  NonRetryableError,
  StepInDoubt,
  type StepOptions,
  type TaskContext,
} from '../../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing/index.ts'

/** A task whose step pays, and crashes the process once it has. */
async function paying(options: StepOptions, more: { readonly crashes?: number } = {}) {
  let left = more.crashes ?? 1
  const paid: string[] = []
  let running: TestRuntime | undefined
  const pay = async (ctx: TaskContext) => {
    await ctx.step('before', () => 1)
    return ctx.step('pay', options, ({ idempotencyKey }) => {
      paid.push(idempotencyKey)
      if (left-- > 0) running?.crash()
      return `paid ${paid.length}`
    })
  }
  const task = defineTask({ type: 'payer', input: z.any() }, (ctx) => pay(ctx))
  running = await createTestRuntime({ tasks: [task], crashes: true })
  const receipt = await running.runtime.submit(task, null)
  await running.settle().catch(() => undefined)
  await running.restart()
  const it = running
  const open = async () => {
    await it.until(receipt, 'waiting')
    return (await it.runtime.approvals.list()).approvals[0]?.approvalId ?? ''
  }
  const types = async () => (await it.history(receipt)).events
  return { it, receipt, paid, open, types }
}

describe('execution: steps in doubt', () => {
  test('retry, the default: it runs again with the same key, and nothing is written first', async () => {
    const { it, receipt, paid, types } = await paying({})
    await using _ = it
    expect(await it.result(receipt)).toBe('paid 2')
    expect(new Set(paid).size).toBe(1)
    expect(await types()).not.toContain('step.started')
  })

  test('fail: it does not run again, the error says so, and later passes stay in doubt', async () => {
    const { it, receipt, paid } = await paying({ inDoubt: 'fail', retry: { attempts: 5 } })
    await using _ = it
    await expect(it.result(receipt)).rejects.toMatchObject({
      code: 'in_doubt',
      message: expect.stringContaining("step 'pay' is in doubt") as string,
    })
    expect(paid).toHaveLength(1)
    const again = await it.runtime.retry(receipt)
    await expect(it.result(again)).rejects.toMatchObject({ code: 'in_doubt' })
    expect(paid).toHaveLength(1)
  })

  test.each([
    [{ done: true, result: 'paid by 1' }, 'paid by 1', 1],
    [{ done: false }, 'paid 2', 2],
  ] as const)('verify that answers %j gives %j', async (answer, result, runs) => {
    const asked: string[] = []
    const { it, receipt, paid, types } = await paying({
      inDoubt: 'verify',
      verify: ({ idempotencyKey }) => {
        asked.push(idempotencyKey)
        return Promise.resolve(answer)
      },
    })
    await using _ = it
    expect(await it.result(receipt)).toBe(result)
    expect(asked).toEqual(paid.slice(0, 1))
    expect(paid).toHaveLength(runs)
    expect((await types()).filter((type) => type === 'step.started')).toHaveLength(runs)
  })

  test('verify that throws is tried again by the policy of the step, and keeps the doubt', async () => {
    let asked = 0
    const { it, receipt, paid } = await paying({
      inDoubt: 'verify',
      retry: { attempts: 4, backoff: { initialMs: 1_000 } },
      verify: () => {
        asked += 1
        if (asked === 2) it.crash()
        if (asked < 4) throw new Error('bank is away')
        return { done: true, result: 'paid' }
      },
    })
    await using _ = it
    await it.result(receipt).catch(() => it.restart())
    expect(await it.result(receipt)).toBe('paid')
    expect([asked, paid.length]).toEqual([4, 1])
  })

  test('an error says how verify has to answer when it answers something else', async () => {
    const { it, receipt, paid } = await paying({ inDoubt: 'verify', verify: () => 'yes' as never })
    await using _ = it
    await expect(it.result(receipt)).rejects.toMatchObject({
      code: 'in_doubt',
      cause: expect.objectContaining({
        message: expect.stringContaining('its verify function failed') as string,
      }) as object,
    })
    expect(paid).toHaveLength(1)
  })

  test('ask: a human says that it happened, and with which result', async () => {
    const { it, receipt, paid, open } = await paying({ inDoubt: 'ask' })
    await using _ = it
    const approvalId = await open()
    expect(await it.runtime.status(receipt)).toMatchObject({ waitingFor: 'approval' })
    const { events } = await it.record(receipt)
    const begunAt = events.find(({ type }) => type === 'step.started')?.at
    expect((await it.runtime.approvals.list()).approvals[0]).toMatchObject({
      artifact: {
        inDoubt: 'pay',
        starts: 1,
        startedAt: begunAt,
        attempt: 2,
        idempotencyKey: paid[0],
      },
    })
    await it.runtime.approvals.approve(approvalId, { by: 'Ada', value: 'paid, says the bank' })
    expect(await it.result(receipt)).toBe('paid, says the bank')
    expect(paid).toHaveLength(1)
  })

  test('fail: the handler asks itself, with what a reviewer needs', async () => {
    const runs: string[] = []
    const task = defineTask({ type: 'buy', input: z.object({ orderId: z.string() }) }, async (ctx, order) => {
      try {
        return await ctx.step('charge', { inDoubt: 'fail' }, () => {
          runs.push('charge')
          it.crash()
          return 'charged'
        })
      } catch (error) {
        if (!(error instanceof StepInDoubt)) throw error
        const { value } = await ctx.requestApproval<string>('was it charged?', order)
        return value
      }
    })
    await using it = await createTestRuntime({ tasks: [task], crashes: true })
    const receipt = await it.runtime.submit(task, { orderId: 'o17' })
    await it.settle().catch(() => undefined)
    await it.restart()
    await it.until(receipt, 'waiting')
    const [question] = (await it.runtime.approvals.list()).approvals
    expect(question?.artifact).toEqual({ orderId: 'o17' })
    await it.runtime.approvals.approve(question?.approvalId ?? '', { value: 'it was' })
    expect(await it.result(receipt)).toBe('it was')
    expect(runs).toHaveLength(1)
  })

  test('ask: approved without a value it runs again, and is asked about again when that is in doubt', async () => {
    const { it, receipt, paid, open } = await paying({ inDoubt: 'ask' }, { crashes: 2 })
    await using _ = it
    await it.runtime.approvals.approve(await open())
    await it.result(receipt).catch(() => it.restart())
    expect(paid).toHaveLength(2)
    await it.runtime.approvals.approve(await open(), { value: 'second' })
    expect(await it.result(receipt)).toBe('second')
    expect(paid).toHaveLength(2)
  })

  test.each([
    [{ by: 'Ada', feedback: 'call the bank' }, /it was given up by Ada: call the bank$/],
    [{}, /it was given up$/],
  ])('ask: rejected with %j, the step fails with that, and nothing runs again', async (said, message) => {
    const { it, receipt, paid, open } = await paying({ inDoubt: 'ask', retry: { attempts: 5 } })
    await using _ = it
    await it.runtime.approvals.reject(await open(), said)
    await expect(it.result(receipt)).rejects.toMatchObject({
      code: 'in_doubt',
      message: expect.stringMatching(message) as string,
    })
    expect(paid).toHaveLength(1)
  })

  test('a crash right after the intent is in doubt too, although nothing ran', async () => {
    const ran: string[] = []
    const task = defineTask({ type: 'payer', input: z.any() }, (ctx) =>
      ctx.step('pay', { inDoubt: 'verify', verify: () => ({ done: false }) as const }, () => ran.push('pay')),
    )
    // The submission with its claim, then the intent.
    await using it = await createTestRuntime({ tasks: [task], crashAfterCommit: 3 })
    const receipt = await it.runtime.submit(task, null)
    await it.settle().catch(() => undefined)
    await it.restart()
    expect(await it.result(receipt)).toBe(1)
    expect(ran).toEqual(['pay'])
  })

  test('a try that ran out of time is in doubt; one that threw is not', async () => {
    const asked: string[] = []
    const body = (how: 'late' | 'throws') => {
      let tries = 0
      return (ctx: TaskContext) =>
        ctx.step(
          'pay',
          {
            inDoubt: 'verify',
            verify: () => {
              asked.push(how)
              return { done: true, result: 'paid in time' }
            },
            timeoutMs: 1_000,
            retry: { attempts: 2, backoff: { initialMs: 10 } },
          },
          () => {
            tries += 1
            if (tries > 1) return 'paid'
            if (how === 'throws') throw new Error('refused')
            return new Promise<string>(() => undefined)
          },
        )
    }
    const late = defineTask({ type: 'late', input: z.any() }, body('late'))
    const throws = defineTask({ type: 'throws', input: z.any() }, body('throws'))
    await using it = await createTestRuntime({ tasks: [late, throws] })
    expect(await it.run(late, null)).toBe('paid in time')
    expect(await it.run(throws, null)).toBe('paid')
    expect(asked).toEqual(['late'])
  })

  test('a rejection begins a new generation: what it voids is not in doubt, it runs again', async () => {
    const paid: string[] = []
    const task = defineTask({ type: 'payer', input: z.any() }, async (ctx) => {
      await ctx.step('pay', { inDoubt: 'fail' }, ({ idempotencyKey }) => paid.push(idempotencyKey))
      await ctx.requestApproval('receipt', null)
      return paid.length
    })
    await using it = await createTestRuntime({ tasks: [task] })
    const receipt = await it.runtime.submit(task, null)
    const open = async () => {
      await it.until(receipt, 'waiting')
      return (await it.runtime.approvals.list()).approvals[0]?.approvalId ?? ''
    }
    await it.runtime.approvals.reject(await open())
    await it.runtime.approvals.approve(await open())
    expect(await it.result(receipt)).toBe(2)
    expect(new Set(paid).size).toBe(2)
  })

  test('an error that is final ends it at once', async () => {
    const task = defineTask({ type: 'payer', input: z.any() }, (ctx) =>
      ctx.step('pay', { inDoubt: 'ask', retry: { attempts: 3 } }, () => {
        throw new NonRetryableError('card refused')
      }),
    )
    await using it = await createTestRuntime({ tasks: [task] })
    await expect(it.run(task, null)).rejects.toMatchObject({ code: 'non_retryable' })
  })

  test.each([
    [{ inDoubt: 'maybe' }, 'retry, verify, ask or fail'],
    [{ inDoubt: 'verify' }, 'needs a verify function'],
    [{ inDoubt: 'ask', verify: () => ({ done: false }) }, "works only with inDoubt 'verify'"],
  ])('options %j are refused', async (options, message) => {
    const task = defineTask({ type: 'payer', input: z.any() }, (ctx) =>
      ctx.step('pay', options as StepOptions, () => 1),
    )
    await using it = await createTestRuntime({ tasks: [task] })
    await expect(it.run(task, null)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    })
  })
})
