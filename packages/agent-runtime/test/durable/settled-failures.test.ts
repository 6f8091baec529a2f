import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, NonRetryableError, type TaskContext } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

/** The error that a program looks at, as far as it looks. */
interface Told {
  readonly name: string
  readonly message: string
  readonly code?: string
}

describe('execution: a step that finally failed and was caught', () => {
  test('fails so in every later pass of the try, and its function runs no more', async () => {
    const ran: string[] = []
    const seen: Told[] = []
    const task = defineTask({ type: 'charge', input: z.any() }, async (ctx) => {
      const how = await ctx
        .step('card', () => {
          ran.push('card')
          if (ran.length === 1) throw Object.assign(new NonRetryableError('no money'), { code: 'declined' })
          return 'by card'
        })
        .catch(({ name, message, code }: Told & { code: string }) => {
          seen.push({ name, message, code })
          return ctx.step('invoice', () => ran.push('invoice')).then(() => 'by invoice')
        })
      await ctx.sleep('a month', 30 * 86_400_000)
      return how
    })
    await using it = await createTestRuntime({ tasks: [task], crashes: true })
    const receipt = await it.runtime.submit(task, null)
    await it.until(receipt, 'waiting')
    it.crash()
    await it.restart()
    expect(await it.result(receipt)).toBe('by invoice')
    expect(ran).toEqual(['card', 'invoice'])
    expect(seen).toEqual([seen[0], seen[0]])
    expect(seen[0]).toMatchObject({ name: 'NonRetryableError', message: 'no money', code: 'declined' })
    expect((await it.runtime.replay(receipt, { mode: 'verify' })).verdict).toBe('agreed')
  })

  test('a race that failed, and steps whose tries were used up, fail so again; those beside them keep their results', async () => {
    const ran: Record<string, number> = {}
    const note = (name: string) => (ran[name] = (ran[name] ?? 0) + 1)
    const task = defineTask({ type: 'search', input: z.any() }, async (ctx) => {
      const found = await Promise.allSettled([
        ctx.step('a', () => note('a')),
        ctx.step('b', { retry: { attempts: 2, backoff: { initialMs: 10 } } }, () => {
          note('b')
          throw new Error('away')
        }),
        ctx.race('c', {
          only: (branch: TaskContext) =>
            branch.step('inner', () => {
              note('inner')
              throw new Error('lost')
            }),
        }),
      ])
      await ctx.sleep('one', 1_000)
      await ctx.sleep('two', 1_000)
      return found.map(({ status }) => status)
    })
    await using it = await createTestRuntime({ tasks: [task] })
    expect(await it.run(task, null)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(ran).toEqual({ a: 1, b: 2, inner: 1 })
  })

  test('a step runs again when the handler is tried again, and when a crash came before the pass was put aside', async () => {
    let ran = 0
    const flaky = (ctx: TaskContext) =>
      ctx.step('flaky', () => {
        ran += 1
        if (ran === 1) throw new Error('away')
        return ran
      })
    const tried = defineTask(
      { type: 'tried', input: z.any(), retry: { attempts: 2, backoff: { initialMs: 10 } } },
      async (ctx) => {
        const first = await flaky(ctx).catch(() => 'caught')
        await ctx.sleep('nap', 1_000)
        if (first === 'caught') throw new Error('not like this')
        return first
      },
    )
    const crashed = defineTask({ type: 'crashed', input: z.any() }, async (ctx) => {
      const first = await flaky(ctx).catch(() => 'caught')
      if (first === 'caught') it.crash()
      return first
    })
    await using it = await createTestRuntime({ tasks: [tried, crashed], crashes: true })
    expect(await it.run(tried, null)).toBe(2)
    ran = 0
    const receipt = await it.runtime.submit(crashed, null)
    await it.result(receipt).catch(() => it.restart())
    expect(await it.result(receipt)).toBe(2)
  })

  test('a rejection takes it back like every other record since the last approval', async () => {
    let ran = 0
    const task = defineTask({ type: 'draft', input: z.any() }, async (ctx) => {
      const text = await ctx
        .step('write', () => {
          ran += 1
          if (ran === 1) throw new Error('away')
          return 'written'
        })
        .catch(() => 'nothing')
      await ctx.requestApproval('text', text)
      return text
    })
    await using it = await createTestRuntime({ tasks: [task] })
    const receipt = await it.runtime.submit(task, null)
    const open = async () => {
      await it.until(receipt, 'waiting')
      return (await it.runtime.approvals.list()).approvals[0]
    }
    expect((await open())?.artifact).toBe('nothing')
    await it.runtime.approvals.reject((await open())?.approvalId ?? '')
    expect((await open())?.artifact).toBe('written')
    await it.runtime.approvals.approve((await open())?.approvalId ?? '')
    expect(await it.result(receipt)).toBe('written')
  })
})
