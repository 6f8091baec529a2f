import { defineTask, type TaskContext } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { durableOpenAI } from '../src/index.ts'
import { all } from './all.ts'
import { startProvider } from './provider.ts'

const input = z.null()
const clientOf = (ctx: TaskContext, url: string) =>
  durableOpenAI(ctx, new OpenAI({ apiKey: 'key', baseURL: url, maxRetries: 2 }))

describe('responses.create', () => {
  const response = {
    id: 'r-1',
    object: 'response',
    status: 'completed',
    output: [],
    usage: { input_tokens: 10, output_tokens: 4, total_tokens: 14 },
  }
  const event = (data: { type: string; [key: string]: unknown }) =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}`
  const delta = (text: string, n: number) =>
    event({
      type: 'response.output_text.delta',
      item_id: 'm',
      output_index: 0,
      content_index: 0,
      delta: text,
      logprobs: [],
      sequence_number: n,
    })

  test('is a step, with and without a stream', async () => {
    await using provider = await startProvider(
      { json: response },
      {
        events: [
          event({ type: 'response.created', response: { ...response, usage: null } }),
          delta('It ', 1),
          delta('rains.', 2),
          event({ type: 'response.completed', response, sequence_number: 3 }),
        ],
      },
    )
    const task = defineTask({ type: 'respond', input }, async (ctx) => {
      const { responses } = clientOf(ctx, provider.url)
      const { id } = await responses.create({ model: 'large', input: 'Weather?' })
      const events = await responses.create({ model: 'large', input: 'Weather?', stream: true })
      const said = await all(events)
      await ctx.sleep('a second', 1_000)
      return [
        id,
        said.map(({ type }) => type),
        said.flatMap((it) => (it.type === 'response.output_text.delta' ? [it.delta] : [])),
      ]
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const receipt = await runtime.runtime.submit(task, null, { budget: { tokens: 100 } })
    expect(await runtime.result(receipt)).toEqual([
      'r-1',
      ['response.created', 'response.output_text.delta', 'response.completed'],
      ['It rains.'],
    ])
    expect(provider.asked.length).toBe(2)
    expect((await runtime.runtime.budgets.get(receipt))?.used.tokens).toBe(28)
  })

  test('a failure that the stream reports is an error of the call', async () => {
    const error = { code: 'invalid_prompt', message: 'no such thing' }
    await using provider = await startProvider({
      events: [event({ type: 'response.failed', response: { ...response, status: 'failed', error } })],
    })
    const task = defineTask({ type: 'respond', input }, async (ctx) => {
      await clientOf(ctx, provider.url).responses.create({ model: 'large', input: 'W?', stream: true })
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    await expect(runtime.run(task, null)).rejects.toThrow(/no such thing/)
    expect(provider.asked.length).toBe(1)
  })
})
