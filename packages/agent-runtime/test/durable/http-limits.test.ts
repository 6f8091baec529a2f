import type { RateLimit } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineTask,
  RateLimited,
  type RateLimitRule,
  type RuntimeEvent,
  type StepOptions,
  TaskFailed,
  type TaskContext,
  type TaskDefinitionOptions,
} from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const secret = 'Bearer sk-secret'

/** An error as SDKs on fetch throw it. */
const refusal = (status: number, headers: Record<string, string> = {}) =>
  Object.assign(new Error(`${status} from the provider`), {
    status,
    headers: new Headers({ ...headers, 'x-request-id': 'req_1', 'set-cookie': 'a=b' }),
    config: { headers: { Authorization: secret } },
    body: 'the prompt',
  })

/** A provider that refuses so often, and then answers. */
function provider(refusals: number, error: () => Error) {
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

type Options = Partial<TaskDefinitionOptions<string, z.ZodAny, undefined>>

async function begun(
  body: (ctx: TaskContext) => unknown,
  options: Options = { model: 'big' },
  rateLimited?: RateLimitRule,
) {
  const task = defineTask({ ...options, type: 'asks', input: z.any() }, (ctx) => body(ctx))
  const other = defineTask({ type: 'other', input: z.any(), model: 'big' }, () => 'done')
  const virtual = await virtualRuntime({ tasks: [task, other], workers: { capacity: 2 }, rateLimited })
  const receipt = await virtual.runtime.submit(task, null)
  await virtual.elapse(0)
  return { ...virtual, receipt, other }
}

describe('2.8 an HTTP answer that refuses for now is a rate limit', () => {
  test.each([
    [429, { 'retry-after': '20' }],
    [503, { 'retry-after': '20' }],
    [529, { 'retry-after': '20' }],
  ])(
    '%d with %j: the task goes on then, in the same attempt, and its model rests',
    async (status, headers) => {
      const { ask, asked } = provider(1, () => refusal(status, headers))
      const { runtime, environment, elapse, receipt, other } = await begun((ctx) => ctx.step('ask', ask))
      const until = environment.clock.now() + 20_000
      const waiting = await runtime.submit(other, null)
      await elapse(19_000)
      expect(await runtime.explain(waiting)).toMatchObject({ waitsFor: 'quota:model:big', until })
      expect(asked()).toBe(1)
      await elapse(1_100)
      expect(await runtime.result(receipt)).toBe('answer 2')
      expect(await runtime.status(receipt)).toMatchObject({ attempt: 1 })
    },
  )

  test('a step with a retry waits, and has all its tries left', async () => {
    const { ask, asked } = provider(3, () => refusal(429, { 'retry-after-ms': '5000' }))
    const options: StepOptions = { retry: { attempts: 1 } }
    const { runtime, elapse, receipt } = await begun((ctx) => ctx.step('ask', options, ask), {})
    expect(await runtime.status(receipt)).toMatchObject({ waits: [{ key: '$ku0/retry/limit-1/ask' }] })
    for (let n = 0; n < 3; n += 1) await elapse(5_000)
    expect(await runtime.result(receipt)).toBe('answer 4')
    expect(asked()).toBe(4)
  })

  test('without a time to come back it is an ordinary error', async () => {
    const { ask } = provider(1, () => refusal(429))
    const { runtime, receipt } = await begun((ctx) => ctx.step('ask', ask))
    await expect(runtime.result(receipt)).rejects.toThrow(TaskFailed)
  })

  test('the rule of the step goes before that of the task type and of the program', async () => {
    const said: string[] = []
    const rule =
      (name: string, answer: RateLimit | boolean | undefined): RateLimitRule =>
      (_, found) => {
        said.push(`${name} ${found?.model} ${found?.retryAfterMs}`)
        return answer
      }
    const headers = { 'retry-after': '20' }
    const { ask } = provider(1, () => refusal(429, headers))
    const rateLimited = rule('step', { tool: 'search', retryAfterMs: 3_000 })
    const { runtime, elapse, receipt } = await begun(
      (ctx) => ctx.step('ask', { rateLimited }, ask),
      { model: 'big', rateLimited: rule('type', false) },
      rule('program', false),
    )
    expect((await runtime.stats()).quotas).toMatchObject([{ key: 'tool:search' }])
    await elapse(3_000)
    expect(await runtime.result(receipt)).toBe('answer 2')
    expect(said).toEqual(['step big 20000'])

    const second = provider(1, () => refusal(429, headers))
    const ofType = await begun(
      (ctx) => ctx.step('ask', second.ask),
      { rateLimited: rule('type', false) },
      rule('program', true),
    )
    await expect(ofType.runtime.result(ofType.receipt)).rejects.toThrow('429 from the provider')
    expect(said.slice(1)).toEqual(['type undefined 20000'])
  })

  test('the rule of the program decides on any error; undefined leaves what was found', async () => {
    const busy = () => Object.assign(new Error('busy'), { code: 'SLOW_DOWN' })
    const { ask } = provider(1, busy)
    const rateLimited: RateLimitRule = (error) =>
      (error as { code?: string }).code === 'SLOW_DOWN' || undefined
    const { runtime, elapse, receipt } = await begun(ask, { model: 'big' }, rateLimited)
    expect((await runtime.stats()).quotas).toMatchObject([{ key: 'model:big' }])
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe('answer 2')
    const second = provider(1, () => refusal(429, { 'retry-after': '2' }))
    const found = await begun(second.ask, {}, rateLimited)
    await found.elapse(2_000)
    expect(await found.runtime.result(found.receipt)).toBe('answer 2')
  })

  test('a rule that throws is logged, and what was found counts; what was thrown as a limit is one', async () => {
    const { ask } = provider(1, () => refusal(429, { 'retry-after': '2' }))
    const rule: RateLimitRule = () => {
      throw new Error('broken')
    }
    const { runtime, elapse, receipt, log } = await begun(ask, {}, rule)
    expect(log.map(({ message }) => message)).toContain(
      'rateLimited has failed: what the error itself says counts',
    )
    await elapse(2_000)
    expect(await runtime.result(receipt)).toBe('answer 2')
    const thrown = provider(1, () => new RateLimited({ retryAfterMs: 1_000 }))
    const second = await begun(thrown.ask, { rateLimited: () => false })
    await second.elapse(1_000)
    expect(await second.runtime.result(second.receipt)).toBe('answer 2')
  })
})

describe('7.2 the error of an HTTP client in later passes', () => {
  test('has its status and the headers that matter where they stood, and nothing of the request', async () => {
    const seen: unknown[] = []
    const { runtime, elapse, receipt } = await begun(async (ctx) => {
      try {
        await ctx.step('ask', () => {
          throw refusal(409, { 'retry-after': '20' })
        })
      } catch (error) {
        const { status, headers } = error as ReturnType<typeof refusal>
        seen.push([status, headers.get('Retry-After'), headers.get('x-request-id'), headers.get('other')])
      }
      await ctx.sleep('a while', 1_000)
      return 'done'
    })
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe('done')
    expect(seen).toEqual([
      [409, '20', 'req_1', null],
      [409, '20', 'req_1', null],
    ])
    const events: RuntimeEvent[] = []
    for await (const event of runtime.events(receipt)) events.push(event)
    const failed = events.find(({ type }) => type === 'step.failed')
    expect(failed?.data).toMatchObject({
      error: { status: 409, headers: { 'retry-after': '20', 'x-request-id': 'req_1' } },
    })
    expect(JSON.stringify(events)).not.toMatch(/sk-secret|the prompt|a=b/)
  })

  test('tells runtime.result of the status', async () => {
    const { runtime, receipt } = await begun((ctx) => ctx.step('ask', () => Promise.reject(refusal(401))))
    await expect(runtime.result(receipt)).rejects.toMatchObject({ cause: { status: 401 } })
    expect(await runtime.status(receipt)).toMatchObject({ error: { status: 401 } })
  })
})
