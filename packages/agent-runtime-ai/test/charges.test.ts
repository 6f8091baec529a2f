import { defineTask, type TaskFailed } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import { generateText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer, durable, usage } from './models.ts'

const input = z.null()

describe('the usage of a call', () => {
  test('is charged to the budget, with its price', async () => {
    const model = new MockLanguageModelV4({
      doGenerate: async () =>
        answer('yes', {
          usage: {
            inputTokens: { total: 1_000, noCache: 300, cacheRead: 600, cacheWrite: 100 },
            outputTokens: { total: 200, text: 50, reasoning: 150 },
          },
        }),
    })
    const price = { input: 10, output: 40, cachedInput: 1, cacheWrite: 12.5 }
    const ask = defineTask({ type: 'ask', input }, async (ctx) => {
      await generateText({ model: durable(ctx, model, { price }), prompt: 'Well?' })
      await ctx.sleep('a second', 1_000)
    })
    await using runtime = await createTestRuntime({ tasks: [ask] })
    const receipt = await runtime.runtime.submit(ask, null, { budget: { tokens: 10_000, money: 1 } })
    await runtime.result(receipt)
    const { used } = (await runtime.runtime.budgets.get(receipt)) ?? {}
    // 300 x 10 + 600 x 1 + 100 x 12.5 + 200 x 40, for a million
    expect(used).toMatchObject({ tokens: 1_200, money: 0.01285 })
  })

  test('ends the task at the hard line, with what was said by then', async () => {
    const model = new MockLanguageModelV4({
      doGenerate: async () => answer('on', { usage: usage(500, 100) }),
    })
    const talk = defineTask({ type: 'talk', input }, async (ctx) => {
      for (;;) await generateText({ model: durable(ctx, model), prompt: 'Go on.' })
    })
    await using runtime = await createTestRuntime({ tasks: [talk] })
    const receipt = await runtime.runtime.submit(talk, null, { budget: { tokens: 1_000 } })
    const failed = await runtime.result(receipt).catch((reason: unknown) => reason)
    expect((failed as TaskFailed).kind).toBe('budget_exceeded')
    expect((failed as TaskFailed).details['partial']).toHaveLength(2)
  })

  test('can be charged in another way, and counts at the quota of its model', async () => {
    const model = new MockLanguageModelV4({ doGenerate: async () => answer('yes') })
    const charge = ({ input: said, output }: { input: number; output: number }) => ({
      tokens: said + 4 * output,
    })
    const ask = defineTask({ type: 'ask', input, model: 'large' }, async (ctx) => {
      await generateText({ model: durable(ctx, model, { charge }), prompt: 'Well?' })
    })
    await using runtime = await createTestRuntime({
      tasks: [ask],
      config: { quotaConfig: { models: { large: { tokensPerWindow: 1_000 } }, windowMs: 86_400_000 } },
    })
    await runtime.run(ask, null)
    expect((await runtime.runtime.stats()).quotas[0]?.window?.tokens).toBe(30)
  })
})
