import { RuntimeError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineTask,
  NonRetryableError,
  RateLimited,
  type StepOptions,
  TaskFailed,
  type TaskContext,
} from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const plain = { initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0 }
const refusal = (retryAfterMs = 20_000) => new RateLimited({ model: 'big', retryAfterMs })

async function begun(body: (ctx: TaskContext) => unknown, retry?: { attempts: number }) {
  const attempts: number[] = []
  const task = defineTask(
    { type: 'asks', input: z.any(), model: 'big', ...(retry === undefined ? {} : { retry }) },
    (ctx) => {
      attempts.push(ctx.attempt)
      return body(ctx)
    },
  )
  const other = defineTask({ type: 'other', input: z.any(), model: 'big' }, () => 'done')
  const virtual = await virtualRuntime({ tasks: [task, other], workers: { capacity: 2 } })
  const receipt = await virtual.runtime.submit(task, null)
  await virtual.elapse(0)
  return { ...virtual, receipt, taskId: receipt.taskId, attempts, other }
}

/** What a provider refuses so often. */
function provider(refusals: number, error: () => Error = refusal) {
  let asked = 0
  return {
    asked: () => asked,
    ask: () => {
      asked += 1
      if (asked <= refusals) throw error()
      return `answer ${asked}`
    },
  }
}

describe('rate limits', () => {
  test('a task whose step was refused goes on when the provider said, in the same attempt, without a retry policy', async () => {
    const { ask, asked } = provider(2)
    let prepared = 0
    const { runtime, elapse, receipt, taskId, attempts } = await begun(async (ctx) => {
      await ctx.step('prepare', () => (prepared += 1))
      return ctx.step('ask', ask)
    })
    expect(await runtime.status(taskId)).toMatchObject({ state: 'queued', attempt: 1 })
    await elapse(19_900)
    expect(asked()).toBe(1)
    await elapse(200)
    expect(asked()).toBe(2)
    await elapse(20_100)
    expect(await runtime.result(receipt)).toBe('answer 3')
    expect(runtime.pool.stats()).toMatchObject({ totalCompleted: 1, totalFailed: 0 })
    expect(attempts).toEqual([1, 1, 1])
    expect(prepared).toBe(1)
  })

  test('nothing else that names the model starts before, and explain says until when', async () => {
    const { ask } = provider(1)
    const { runtime, elapse, environment, other } = await begun((ctx) => ctx.step('ask', ask))
    const until = environment.clock.now() + 20_000
    const waiting = await runtime.submit(other, null)
    await elapse(10_000)
    expect(await runtime.explain(waiting.taskId)).toMatchObject({ waitsFor: 'quota:model:big', until })
    expect((await runtime.stats()).quotas).toMatchObject([{ key: 'model:big', blockedUntil: until }])
    await elapse(10_100)
    expect(await runtime.result(waiting)).toBe('done')
  })

  test('a step with a retry waits as the task’s own wait, and has all its tries left', async () => {
    const refused = provider(3)
    const options: StepOptions = { retry: { attempts: 2, backoff: plain } }
    let failures = 0
    const { runtime, elapse, receipt, taskId, attempts } = await begun((ctx) =>
      ctx.step('ask', options, () => {
        refused.ask()
        failures += 1
        if (failures === 1) throw new Error('flaky')
        return 'answer'
      }),
    )
    for (let n = 1; n <= 3; n += 1) {
      expect(await runtime.status(taskId)).toMatchObject({
        state: 'waiting',
        waits: [{ key: `$ku0/retry/limit-${n}/ask` }],
      })
      await elapse(20_100)
    }
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe('answer')
    expect(refused.asked()).toBe(5)
    expect(new Set(attempts)).toEqual(new Set([1]))
  })

  test('a step with a retry is tried again when the provider said and no sooner, whatever wakes the task before', async () => {
    const { ask, asked } = provider(1, () => new RateLimited({ retryAfterMs: 20_000 }))
    const options: StepOptions = { retry: { attempts: 2, backoff: plain } }
    const { elapse, runtime, receipt, attempts } = await begun((ctx) =>
      Promise.all([ctx.step('ask', options, ask), ctx.sleep('nap', 5_000)]),
    )
    await elapse(19_900)
    expect(asked()).toBe(1)
    expect(attempts).toHaveLength(2)
    await elapse(200)
    expect(await runtime.result(receipt)).toEqual(['answer 2', undefined])
  })

  test('the tries of a step are counted on through refusals and crashes', async () => {
    const options: StepOptions = { retry: { attempts: 2, backoff: plain } }
    const said = ['fail', 'refuse', 'fail']
    const { runtime, elapse, receipt } = await begun((ctx) =>
      ctx.step('ask', options, () => {
        const next = said.shift()
        if (next === 'refuse') throw refusal()
        throw new Error('flaky')
      }),
    )
    await elapse(1_000)
    await elapse(20_100)
    await expect(runtime.result(receipt)).rejects.toThrow(TaskFailed)
    expect(said).toEqual([])
  })

  test('a refusal outside of steps, or as a cause of what is thrown, counts as well', async () => {
    const { ask, asked } = provider(1, () => new Error('the client gave up', { cause: refusal() }))
    const { runtime, elapse, receipt, attempts } = await begun(ask, { attempts: 1 })
    await elapse(20_100)
    expect(await runtime.result(receipt)).toBe('answer 2')
    expect(asked()).toBe(2)
    expect(attempts).toEqual([1, 1])
  })

  test('a handler may deal with it: the model is blocked all the same, and the task goes on', async () => {
    const { ask } = provider(1)
    const { runtime, receipt, environment } = await begun(async (ctx) => {
      try {
        return await ctx.step('ask', ask)
      } catch (error) {
        return error instanceof RateLimited ? `fell back after ${error.retryAfterMs}` : 'no'
      }
    })
    expect(await runtime.result(receipt)).toBe('fell back after 20000')
    const blockedUntil = environment.clock.now() + 20_000
    expect((await runtime.stats()).quotas).toMatchObject([{ key: 'model:big', blockedUntil }])
  })

  test('an error that says that trying again cannot help fails, and the model is blocked', async () => {
    const { runtime, receipt } = await begun(() => {
      throw new NonRetryableError('out of credit', { cause: refusal() })
    })
    await expect(runtime.result(receipt)).rejects.toThrow('out of credit')
    expect((await runtime.stats()).quotas).toMatchObject([{ key: 'model:big' }])
  })

  test('one that names nothing keeps only the task waiting, 100 ms at least', async () => {
    const { ask, asked } = provider(3, () => new RateLimited({ retryAfterMs: 0 }))
    const { runtime, elapse, receipt } = await begun(ask)
    expect((await runtime.stats()).quotas).toEqual([])
    await elapse(99)
    expect(asked()).toBe(1)
    await elapse(400)
    expect(await runtime.result(receipt)).toBe('answer 4')
  })

  test('a charge before a refusal counts once', async () => {
    const { ask } = provider(1)
    const { runtime, elapse, receipt, taskId } = await begun((ctx) =>
      ctx.step('ask', () => {
        ctx.charge({ tokens: 7 })
        return ask()
      }),
    )
    await elapse(20_100)
    await runtime.result(receipt)
    expect(await runtime.status(taskId)).toMatchObject({ used: { tokens: 14 } })
  })

  test.each<[unknown, string]>([
    [undefined, 'takes { model, tool, client, labels, retryAfterMs }, not undefined'],
    [{ model: 'm', retryAfter: 3 }, 'there is no retryAfter, did you mean retryAfterMs?'],
    [{ model: 'm', zone: 3 }, 'there is no zone; there are model, tool, client, labels, retryAfterMs'],
    [{ model: '', retryAfterMs: 3 }, 'model must be a string of 1 to 255 characters, not ""'],
    [{ labels: { team: 3 }, retryAfterMs: 3 }, 'labels must be an object of strings, not '],
    [{ model: 'm' }, 'retryAfterMs must be a number of ms from 0 to 31536000000, not undefined'],
    [{ retryAfterMs: Number.NaN }, 'retryAfterMs must be a number of ms from 0 to 31536000000, not NaN'],
    [{ retryAfterMs: -1 }, 'retryAfterMs must be a number of ms from 0 to 31536000000, not -1'],
  ])('%j is refused', (limit, message) => {
    const make = () => new RateLimited(limit as never)
    expect(make).toThrow(RuntimeError)
    expect(make).toThrow(`RateLimited: ${message}`)
  })
})
