import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type Receipt, type StepOptions } from '../../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing/index.ts'

/** A task whose step charges, crashes the process once it has, and was started again by a new process. */
async function charging(options: StepOptions, run?: (starts: number) => unknown) {
  const keys: string[] = []
  const told: string[] = []
  const buy = defineTask({ type: 'buy', input: z.null() }, async (ctx) => {
    told.push(ctx.idempotencyKey('charge'))
    await ctx.step('before', () => 1)
    return ctx.step('charge', options, ({ idempotencyKey }) => {
      if (keys.push(idempotencyKey) === 1) it.crash()
      return run === undefined ? `charge ${keys.length}` : run(keys.length)
    })
  })
  const it: TestRuntime = await createTestRuntime({ tasks: [buy], crashes: true })
  const receipt = await it.runtime.submit(buy, null)
  await it.settle().catch(() => {})
  await it.restart()
  const open = async (task: Receipt) => {
    await it.until(task, 'waiting')
    const { approvals } = await it.runtime.approvals.list({ task })
    expect(approvals).toHaveLength(1)
    return approvals[0] as (typeof approvals)[number]
  }
  const agrees = async (task: Receipt) =>
    expect(await it.runtime.replay(task, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  return { it, receipt, keys, told, open, agrees }
}

describe('steps in doubt of forks (docs/semantics.md 6.3, 7.6)', () => {
  test.each(['canceled', 'rejected', 'waiting'])(
    'ask: the retry or fork of a task that is %s asks, and runs the step again under the first key',
    async (how) => {
      const { it, receipt, keys, told, open, agrees } = await charging({ inDoubt: 'ask' })
      await using _ = it
      const { approvalId } = await open(receipt)
      if (how === 'canceled') await it.runtime.cancel(receipt)
      if (how === 'rejected') {
        await it.runtime.approvals.reject(approvalId, { by: 'Ada', feedback: 'not again' })
        await it.settle()
      }
      const again = how === 'waiting' ? await it.runtime.fork(receipt) : await it.runtime.retry(receipt)
      const { approvalId: asked, artifact } = await open(again)
      expect(artifact).toMatchObject({ inDoubt: 'charge', starts: 1, idempotencyKey: keys[0] })
      expect(keys).toHaveLength(1)
      await it.runtime.approvals.approve(asked)
      expect(await it.result(again)).toBe('charge 2')
      expect(keys[1]).toBe(keys[0])
      expect(told.at(-1)).toBe(keys[0])
      await agrees(again)
      await agrees(receipt)
      // One that is made of it has the result.
      expect(await it.result(await it.runtime.fork(again))).toBe('charge 2')
    },
  )

  test('a doubt goes on from fork to fork, with the key of the first start and all starts', async () => {
    const { it, receipt, keys, open, agrees } = await charging({ inDoubt: 'ask' }, (starts) => {
      if (starts === 2) it.crash()
      return 'charged'
    })
    await using _ = it
    await open(receipt)
    const second = await it.runtime.fork(receipt)
    await it.runtime.approvals.approve((await open(second)).approvalId)
    await it.settle().catch(() => {})
    await it.restart()
    expect((await open(second)).artifact).toMatchObject({ starts: 2, idempotencyKey: keys[0] })
    await it.runtime.cancel(second)
    const third = await it.runtime.retry(second)
    const { approvalId, artifact } = await open(third)
    expect(artifact).toMatchObject({ starts: 2, idempotencyKey: keys[0] })
    await it.runtime.approvals.approve(approvalId)
    expect(await it.result(third)).toBe('charged')
    expect(new Set(keys).size).toBe(1)
    await agrees(third)
  })

  test('fail holds in the retry as in the task itself', async () => {
    const failing = await charging({ inDoubt: 'fail' })
    await using _ = failing.it
    await expect(failing.it.result(failing.receipt)).rejects.toMatchObject({ code: 'in_doubt' })
    const again = await failing.it.runtime.retry(failing.receipt)
    await expect(failing.it.result(again)).rejects.toMatchObject({ code: 'in_doubt' })
    expect(failing.keys).toHaveLength(1)
  })

  test('verify is asked again in the retry, and gets the first key', async () => {
    const asked: string[] = []
    const verifying = await charging({
      inDoubt: 'verify',
      verify: ({ idempotencyKey }) => {
        if (asked.push(idempotencyKey) === 1) throw new Error('the bank is away')
        return { done: true, result: 'charged, says the bank' }
      },
    })
    await using _ = verifying.it
    await expect(verifying.it.result(verifying.receipt)).rejects.toMatchObject({ code: 'in_doubt' })
    const next = await verifying.it.runtime.retry(verifying.receipt)
    expect(await verifying.it.result(next)).toBe('charged, says the bank')
    expect(asked).toEqual([verifying.keys[0], verifying.keys[0]])
  })

  test('an edit may say how a step in doubt ended', async () => {
    const { it, receipt, keys, open, agrees } = await charging({ inDoubt: 'fail' })
    await using _ = it
    await expect(it.result(receipt)).rejects.toMatchObject({ code: 'in_doubt' })
    const fork = await it.runtime.fork(receipt, { edits: { charge: 'charged' } })
    expect(await it.result(fork)).toBe('charged')
    expect(keys).toHaveLength(1)
    await agrees(fork)
    expect((await it.history(fork)).events).not.toContain('doubt.inherited')
    await expect(it.runtime.fork(receipt, { fromStep: 'charge' })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining("edits: { 'charge': RESULT }") as string,
    })
    await expect(it.runtime.fork(receipt, { fromStep: 'before', edits: { charge: 1 } })).rejects.toThrow(
      "a fork from 'before' runs this step again",
    )
    void open
  })

  test('a branch that was decided over is in doubt no more', async () => {
    const ran: string[] = []
    const task = defineTask({ type: 'racer', input: z.null() }, async (ctx) => {
      const won = await ctx.race('first', {
        slow: (branch) =>
          branch.step('slow', { inDoubt: 'ask' }, () => {
            ran.push('slow')
            return new Promise<string>(() => {})
          }),
        nap: (branch) => branch.step('nap', () => new Promise<string>((done) => setImmediate(done, 'slept'))),
      })
      throw new Error(won.winner)
    })
    await using it = await createTestRuntime({ tasks: [task] })
    const receipt = await it.runtime.submit(task, null)
    await expect(it.result(receipt)).rejects.toThrow('nap')
    const again = await it.runtime.retry(receipt)
    await expect(it.result(again)).rejects.toThrow('nap')
    expect((await it.history(again)).events).not.toContain('doubt.inherited')
    await expect(it.runtime.fork(receipt, { edits: { slow: 1 } })).rejects.toThrow("in a branch of 'first'")
    expect(ran).toHaveLength(1)
  })

  test('a rejection ends the doubts of its generation for forks too, and the doubts after it keep their key', async () => {
    const keys: string[] = []
    const task = defineTask({ type: 'sent-back', input: z.null() }, async (ctx) => {
      const rejections = ctx.feedback.length
      const charge = (key: string) =>
        ctx.step(key, { inDoubt: 'ask' }, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          it.crash()
          return 'charged'
        })
      await Promise.all([
        rejections === 0 ? charge('old') : charge('new'),
        ctx.requestApproval('ok', rejections),
      ])
    })
    await using it = await createTestRuntime({ tasks: [task], crashes: true })
    const receipt = await it.runtime.submit(task, null)
    const restart = async () => {
      await it.settle().catch(() => {})
      await it.restart()
      await it.until(receipt, 'waiting')
    }
    const open = async (of: Receipt) => (await it.runtime.approvals.list({ task: of })).approvals
    await restart()
    const ok = (await open(receipt)).find(({ key }) => key === 'ok')
    await it.runtime.approvals.reject(ok?.approvalId ?? '')
    await restart()
    const fork = await it.runtime.fork(receipt)
    await it.until(fork, 'waiting')
    expect((await open(fork)).map(({ artifact }) => artifact)).toContainEqual(
      expect.objectContaining({ inDoubt: 'new', idempotencyKey: keys[1] }),
    )
    const { events } = await it.record(fork)
    expect(events.flatMap(({ type, data }) => (type === 'doubt.inherited' ? [data] : []))).toMatchObject([
      { key: 'new', starts: 1 },
    ])
    expect(keys).toHaveLength(2)
  })

  test('a timeout is asked about in the retry of the task, and of the attempt', async () => {
    let runs = 0
    const late = defineTask({ type: 'late', input: z.null(), retry: { attempts: 2 } }, (ctx) =>
      ctx.step('charge', { inDoubt: 'fail', timeoutMs: 50 }, () => {
        runs += 1
        return new Promise<string>(() => {})
      }),
    )
    await using it = await createTestRuntime({ tasks: [late] })
    const receipt = await it.runtime.submit(late, null)
    await expect(it.result(receipt)).rejects.toMatchObject({ code: 'in_doubt' })
    await expect(it.result(await it.runtime.retry(receipt))).rejects.toMatchObject({ code: 'in_doubt' })
    expect(runs).toBe(1)
  })
})

describe('a last try that ran out of time (docs/semantics.md 7.6)', () => {
  const hang = () => new Promise<string>(() => {})

  test('ask: a human is asked at once, and may have it run again', async () => {
    let runs = 0
    const task = defineTask({ type: 'late', input: z.null() }, (ctx) =>
      ctx.step('charge', { inDoubt: 'ask', timeoutMs: 50 }, () => (++runs < 3 ? hang() : 'charged')),
    )
    await using it = await createTestRuntime({ tasks: [task] })
    const receipt = await it.runtime.submit(task, null)
    for (const starts of [1, 2]) {
      await it.until(receipt, 'waiting')
      const [question] = (await it.runtime.approvals.list()).approvals
      expect(question?.artifact).toMatchObject({ inDoubt: 'charge', starts })
      await it.runtime.approvals.approve(question?.approvalId ?? '')
    }
    expect(await it.result(receipt)).toBe('charged')
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test.each([
    [{ done: true, result: 'charged' }, 'charged'],
    [{ done: false }, 'timeout'],
  ] as const)('verify is asked, with a signal of its own: %j', async (answer, result) => {
    const aborted: boolean[] = []
    const task = defineTask({ type: 'late', input: z.null() }, (ctx) =>
      ctx.step(
        'charge',
        {
          inDoubt: 'verify',
          timeoutMs: 50,
          verify: ({ signal }) => {
            aborted.push(signal.aborted)
            return answer
          },
        },
        hang,
      ),
    )
    await using it = await createTestRuntime({ tasks: [task] })
    const end = await it.run(task, null).catch((error: { code: string }) => error.code)
    expect(end).toBe(result)
    expect(aborted).toEqual([false])
  })
})
