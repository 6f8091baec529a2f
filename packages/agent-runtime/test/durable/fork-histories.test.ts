import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type RetryOptions, TaskFailed, type TaskContext, TimeoutError } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const child = defineTask({ type: 'child', input: z.number() }, async (ctx, ms) => {
  await ctx.sleep('nap', ms)
  return ms
})

/** A test runtime with a task of this body, submitted, whose step `publish` fails until the net is there. */
async function unlucky(
  body: (ctx: TaskContext, publish: () => Promise<number>) => unknown,
  options: { readonly retry?: { attempts: number } } = {},
) {
  const net = { works: false }
  const task = defineTask({ type: 'unlucky', input: z.null(), ...options }, (ctx) =>
    body(ctx, () =>
      ctx.step('publish', () => {
        if (!net.works) throw new Error('no network')
        return 1
      }),
    ),
  )
  const it = await createTestRuntime({ tasks: [task, child] })
  return { it, net, receipt: await it.runtime.submit(task, null) }
}

describe('histories of forks (docs/semantics.md 6.3)', () => {
  test('a retry goes the way that a rejection had led to, with the feedback in hand', async () => {
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const text = await ctx.step('write', () => `text of ${ctx.feedback.length}`)
      for (const { feedback } of ctx.feedback) await ctx.step(`heed ${feedback ?? ''}`, () => feedback)
      await ctx.requestApproval('text', text)
      await publish()
      return text
    })
    await using _ = it
    const ask = async () => {
      await it.until(receipt, 'waiting')
      return (await it.runtime.approvals.list()).approvals[0]?.approvalId ?? ''
    }
    await it.runtime.approvals.reject(await ask(), { feedback: 'shorter' })
    await it.runtime.approvals.approve(await ask())
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    net.works = true
    const again = await it.runtime.retry(receipt)
    expect(await it.result(again)).toBe('text of 1')
    expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed', unused: 0 })
    // A fork of it, from the end and from what the feedback led to.
    for (const options of [{}, { fromStep: 'publish' }] satisfies object[])
      expect(await it.result(await it.runtime.fork(again, options))).toBe('text of 1')
  })

  test('a retry takes plan B again where patience with a child had ended', async () => {
    const ran: string[] = []
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const spawned = await ctx.spawn('slow', child, 80)
      const value = await spawned.result({ timeoutMs: 50 }).catch((error: unknown) => {
        if (error instanceof TimeoutError) return 'late'
        throw error
      })
      if (value === 'late') await ctx.step('plan b', () => ran.push('plan b'))
      await ctx.sleep('more', 100)
      await publish()
      return [value, await spawned.result()]
    })
    await using _ = it
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    net.works = true
    const again = await it.runtime.retry(receipt)
    expect(await it.result(again)).toEqual(['late', 80])
    expect(ran).toEqual(['plan b'])
    expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed', unused: 0 })
  })

  const retried = { retry: { attempts: 3, backoff: { initialMs: 10 } } }

  test('a retry gives a step all of its tries', async () => {
    const tries: number[] = []
    const { it, receipt } = await unlucky(async (ctx) => {
      await ctx.step('flaky', retried, () => {
        if (tries.push(tries.length) < 6) throw new Error('no')
      })
      return tries.length
    })
    await using _ = it
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    expect(tries).toHaveLength(3)
    expect(await it.result(await it.runtime.retry(receipt))).toBe(6)
  })

  test('every attempt of the task gives a step all of its tries', async () => {
    const tries: number[] = []
    const { it, receipt } = await unlucky(
      async (ctx) => {
        await ctx.step('flaky', retried, () => {
          if (tries.push(ctx.attempt) < 6) throw new Error('no')
        })
        return tries
      },
      { retry: { attempts: 2 } },
    )
    await using _ = it
    expect(await it.result(receipt)).toEqual([1, 1, 1, 2, 2, 2])
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('an edit of what a race or an all was decided with is refused by name', async () => {
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const found = await ctx.all('search', {
        web: (branch) => branch.step('search web', () => 'web'),
        book: (branch) => branch.step('search book', () => 'book'),
      })
      await publish()
      return found
    })
    await using _ = it
    net.works = true
    await it.result(receipt)
    await expect(it.runtime.fork(receipt, { edits: { 'search web': 'edited' } })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/'search web'.*'search'.*edit 'search'/) as string,
    })
    const edited = await it.runtime.fork(receipt, { edits: { search: { web: 'edited', book: 'b' } } })
    expect(await it.result(edited)).toEqual({ web: 'edited', book: 'b' })
  })

  test('2.7 another fork under the same key is a conflict', async () => {
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const value = await ctx.step('a', () => 1)
      await publish()
      return value
    })
    await using _ = it
    net.works = true
    await it.result(receipt)
    const options = { idempotencyKey: 'k' } satisfies RetryOptions
    const first = await it.runtime.fork(receipt, { ...options, edits: { a: 2 } })
    const same = await it.runtime.fork(receipt, { ...options, edits: { a: 2 } })
    expect([same.taskId, await it.result(same)]).toEqual([first.taskId, 2])
    for (const other of [{ edits: { a: 3 } }, { fromStep: 'a' }, {}])
      await expect(it.runtime.fork(receipt, { ...options, ...other })).rejects.toMatchObject({
        code: 'idempotency_conflict',
      })
  })
})
