import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type Receipt, type TaskContext } from '../../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing/index.ts'

const HOUR = 3_600_000

/** A task of this body, beside which an approval `ok` is asked for. */
async function asking(
  body: (ctx: TaskContext, it: TestRuntime) => Promise<unknown>,
  options: Parameters<typeof createTestRuntime>[0] = { tasks: [] },
) {
  const task = defineTask({ type: 'asking', input: z.null() }, async (ctx) => {
    const [value] = await Promise.all([body(ctx, it), ctx.requestApproval('ok', ctx.feedback.length)])
    return value
  })
  const { tasks, ...more } = options
  const it: TestRuntime = await createTestRuntime({ tasks: [task, ...tasks], ...more })
  const receipt: Receipt = await it.runtime.submit(task, null)
  const open = async () => (await it.runtime.approvals.list()).approvals
  const idOf = async (key: string) => (await open()).find((asked) => asked.key === key)?.approvalId ?? ''
  return { it, receipt, open, idOf }
}

describe('the work that goes with a rejection (docs/semantics.md 12.2)', () => {
  test('a back-off: the step runs again at once, with all of its tries', async () => {
    const ran: [generation: number, at: number][] = []
    const retry = { attempts: 2, backoff: { initialMs: HOUR, maxMs: HOUR, jitter: 0 } }
    const { it, receipt, idOf } = await asking((ctx, running) =>
      ctx
        .step('call', { retry }, () => {
          ran.push([ctx.feedback.length, running.now])
          throw new Error('busy')
        })
        .catch(() => 'busy'),
    )
    await using _ = it
    await it.settle()
    await it.advance(1_000)
    expect((await it.runtime.explain(receipt))?.summary).toContain("waits for the next try of 'call' until")
    await it.runtime.approvals.reject(await idOf('ok'))
    await it.advance(10 * HOUR)
    const [[, start] = [0, 0]] = ran
    expect(ran.map(([generation, at]) => [generation, at - start])).toEqual([
      [0, 0],
      [1, 1_000],
      [1, HOUR + 1_000],
    ])
    await it.runtime.approvals.approve(await idOf('ok'))
    await it.result(receipt)
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('the question about a step in doubt: it is revoked, and no verdict on it answers the next one', async () => {
    const runs: number[] = []
    const { it, receipt, open, idOf } = await asking(
      (ctx, running) =>
        ctx.step('charge', { inDoubt: 'ask' }, () => {
          if (runs.push(ctx.feedback.length) < 3) running.crash()
          return `charge ${runs.length}`
        }),
      { tasks: [], crashes: true },
    )
    await using _ = it
    const crashed = async () => {
      await it.settle().catch(() => {})
      await it.restart()
      await it.until(receipt, 'waiting')
    }
    await crashed()
    const question = (await open()).find(({ key }) => key !== 'ok')
    expect((await it.runtime.explain(receipt))?.summary).toContain(
      "an answer to the question whether step 'charge' took effect",
    )
    await it.runtime.approvals.reject(await idOf('ok'))
    await crashed()
    expect(runs).toEqual([0, 1])
    await expect(
      it.runtime.approvals.approve(question?.approvalId ?? '', { value: 'charged' }),
    ).rejects.toMatchObject({
      code: 'already_resolved',
      message: expect.stringContaining(
        "(the question whether step 'charge' took effect) was already revoked",
      ) as string,
      details: { outcome: 'revoked' },
    })
    const next = (await open()).find(({ key }) => key !== 'ok')
    expect(next?.artifact).toMatchObject({ inDoubt: 'charge', starts: 1 })
    await it.runtime.approvals.approve(next?.approvalId ?? '')
    await it.runtime.approvals.approve(await idOf('ok'))
    expect(await it.result(receipt)).toBe('charge 3')
    expect((await it.runtime.approvals.trail(receipt)).map(({ outcome }) => outcome)).toEqual(
      expect.arrayContaining(['revoked', 'rejected', 'approved', 'approved']),
    )
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('the wait of a child for room: that of the next generation is the only one', async () => {
    const hog = defineTask({ type: 'hog', input: z.number() }, (_ctx, n) => n)
    const { it, receipt, idOf } = await asking(
      async (ctx) => {
        await ctx.sleep('first', 1_000)
        return ctx.call('k', hog, ctx.feedback.length)
      },
      {
        tasks: [hog],
        config: { queueDepthLimit: 2, batchBackpressureThreshold: 2 },
        workers: { types: ['asking'] },
      },
    )
    await using _ = it
    await it.settle()
    const hogs = [await it.runtime.submit(hog, 1), await it.runtime.submit(hog, 1)]
    await it.advance(60_000)
    await it.runtime.approvals.reject(await idOf('ok'))
    await it.settle()
    const { waits = [] } = ((await it.runtime.status(receipt)) ?? {}) as {
      waits?: readonly { kind: string }[]
    }
    expect(waits.filter(({ kind }) => kind === 'timer')).toHaveLength(1)
    for (const { taskId } of hogs) await it.runtime.cancel(taskId)
    await it.advance(500)
    expect((await it.runtime.list({ parent: receipt.taskId, states: ['queued'] })).tasks).toHaveLength(1)
  })
})
