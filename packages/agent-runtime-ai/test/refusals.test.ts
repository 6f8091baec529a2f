import { APICallError } from '@ai-sdk/provider'
import { defineTask, NonRetryableError, TaskFailed } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import { generateText, streamText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer, durable } from './models.ts'

const input = z.null()

describe('a call that a provider refuses', () => {
  const refusal = (statusCode: number, responseHeaders: Record<string, string> = {}, data?: unknown) =>
    new APICallError({
      message: `status ${statusCode}`,
      url: 'http://model.test',
      requestBodyValues: {},
      statusCode,
      responseHeaders,
      data,
    })

  test('for now, by 429, blocks its model for the time it says, and is no try', async () => {
    const errors = [1, 2, 3, 4].map(() => refusal(429, { 'retry-after': '30' }))
    const model = new MockLanguageModelV4({
      modelId: 'large-2',
      doGenerate: async () => {
        const error = errors.pop()
        if (error !== undefined) throw error
        return answer('yes')
      },
    })
    const ask = defineTask({ type: 'ask', input, model: 'large' }, async (ctx) => {
      const { text } = await generateText({ model: durable(ctx, model), prompt: 'Well?', maxRetries: 2 })
      return text
    })
    await using runtime = await createTestRuntime({ tasks: [ask] })
    const begun = runtime.now
    const receipt = await runtime.runtime.submit(ask, null)
    await runtime.settle()
    const { quotas } = await runtime.runtime.stats()
    expect(quotas).toMatchObject([{ key: 'model:large', blockedUntil: begun + 30_000 }])
    expect(await runtime.result(receipt)).toBe('yes')
    expect([runtime.now - begun, model.doGenerateCalls.length]).toEqual([120_000, 5])
  })

  test.each([
    ['400', refusal(400)],
    ['401', refusal(401)],
    ['404', refusal(404)],
    ['422', refusal(422)],
    ['a quota that is used up', refusal(429, {}, { error: { code: 'insufficient_quota' } })],
  ])('a final refusal by %s is final', async (_, error) => {
    const model = new MockLanguageModelV4({ doGenerate: () => Promise.reject(error) })
    const ask = defineTask({ type: 'ask', input, retry: { attempts: 3 } }, async (ctx) => {
      await generateText({ model: durable(ctx, model), prompt: 'Well?' })
    })
    await using runtime = await createTestRuntime({ tasks: [ask] })
    const failed = await runtime.run(ask, null).catch((reason: unknown) => reason)
    expect(failed).toBeInstanceOf(TaskFailed)
    expect((failed as TaskFailed).cause).toMatchObject({ code: 'non_retryable' })
    expect(String(failed)).toContain(`mock-model-id answered ${error.statusCode}: status ${error.statusCode}`)
    expect(model.doGenerateCalls.length).toBe(1)
  })

  test('to streamText reaches its onError as it is', async () => {
    const model = new MockLanguageModelV4({ doStream: () => Promise.reject(refusal(401)) })
    const ask = defineTask({ type: 'ask', input }, async (ctx) => {
      const errors: unknown[] = []
      const onError = ({ error }: { error: unknown }) => void errors.push(error)
      const { text } = streamText({ model: durable(ctx, model), prompt: 'Well?', onError })
      return text.then(
        () => 'no error',
        () => errors.map((error) => error instanceof NonRetryableError && error.message),
      )
    })
    await using runtime = await createTestRuntime({ tasks: [ask] })
    expect(await runtime.run(ask, null)).toEqual(['mock-model-id answered 401: status 401'])
    expect(model.doStreamCalls.length).toBe(1)
  })

  test('an error 5xx and one of the network are tried again by the step, with its waits', async () => {
    const errors: Error[] = [refusal(500), new TypeError('fetch failed')]
    const model = new MockLanguageModelV4({
      doGenerate: async () => {
        const error = errors.pop()
        if (error !== undefined) throw error
        return answer('yes')
      },
    })
    const retry = { attempts: 3, backoff: { jitter: 0 } }
    const ask = defineTask({ type: 'ask', input }, async (ctx) => {
      const { text } = await generateText({ model: durable(ctx, model, { retry }), prompt: 'Well?' })
      return text
    })
    await using runtime = await createTestRuntime({ tasks: [ask] })
    const begun = runtime.now
    expect(await runtime.run(ask, null)).toBe('yes')
    expect([runtime.now - begun, model.doGenerateCalls.length]).toEqual([3_000, 3])
  })

  test("the caller's own signal ends the call", async () => {
    const model = new MockLanguageModelV4({
      doGenerate: ({ abortSignal }) =>
        new Promise((_, reject) => {
          abortSignal?.addEventListener('abort', () => reject(abortSignal.reason as Error), { once: true })
        }),
    })
    const ask = defineTask({ type: 'ask', input }, async (ctx) => {
      const controller = new AbortController()
      const asked = generateText({
        model: durable(ctx, model),
        prompt: 'Well?',
        abortSignal: controller.signal,
      })
      controller.abort()
      await asked
    })
    await using runtime = await createTestRuntime({ tasks: [ask] })
    await expect(runtime.run(ask, null)).rejects.toThrow(/abort/)
    expect(model.doGenerateCalls.length).toBe(0)
  })
})
