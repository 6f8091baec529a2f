import { defineTask, type TaskContext, TaskFailed } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type CallOptions, durableOpenAI, readStream } from '../src/index.ts'
import { all } from './all.ts'
import { type Reply, startProvider } from './provider.ts'

const input = z.null()
const ask = { model: 'large', messages: [{ role: 'user' as const, content: 'Weather?' }] }
const used = {
  prompt_tokens: 10,
  completion_tokens: 4,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 6 },
}
const completion: Reply = {
  json: {
    id: 'c-1',
    object: 'chat.completion',
    model: 'large',
    choices: [{ index: 0, message: { role: 'assistant', content: 'It rains.' }, finish_reason: 'stop' }],
    usage: used,
  },
}

const chunk = (delta: unknown, rest: object = {}) =>
  `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', model: 'large', choices: [{ index: 0, delta, finish_reason: null, ...rest }] })}`
const stream: Reply = {
  events: [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'It ' }),
    chunk({ content: 'rains.' }),
    chunk({}, { finish_reason: 'stop' }),
    `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', model: 'large', choices: [], usage: used })}`,
    'data: [DONE]',
  ],
}

/** A client that would try twice more by itself. */
const clientOf = (ctx: TaskContext, url: string, options?: CallOptions) =>
  durableOpenAI(ctx, new OpenAI({ apiKey: 'key', baseURL: url, maxRetries: 2 }), options)

describe('chat.completions.create', () => {
  test('is a step, charged, and answers later passes from the store', async () => {
    await using provider = await startProvider(completion)
    const task = defineTask({ type: 'chat', input }, async (ctx) => {
      const client = clientOf(ctx, provider.url, { price: { input: 10, output: 40, cachedInput: 1 } })
      const { choices } = await client.chat.completions.create(ask, { headers: { 'x-trace': 'abc' } })
      await ctx.sleep('a second', 1_000)
      return choices[0]?.message.content
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const receipt = await runtime.runtime.submit(task, null, { budget: { tokens: 100, money: 1 } })
    expect(await runtime.result(receipt)).toBe('It rains.')
    expect(provider.asked.map(({ path, headers }) => [path, headers['x-trace']])).toEqual([
      ['/chat/completions', 'abc'],
    ])
    const { used: charged } = (await runtime.runtime.budgets.get(receipt)) ?? {}
    // 4 x 10 + 6 x 1 + 4 x 40, for a million
    expect(charged).toMatchObject({ tokens: 14, money: 0.000206 })
  })

  test('streams to readers, and to the handler when all of it is stored', async () => {
    await using provider = await startProvider(stream)
    const task = defineTask({ type: 'chat', input }, async (ctx) => {
      const events = await clientOf(ctx, provider.url).chat.completions.create({ ...ask, stream: true })
      const deltas: unknown[] = []
      for await (const { choices } of events) deltas.push(choices[0]?.delta)
      await ctx.sleep('a second', 1_000)
      return deltas
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const receipt = await runtime.runtime.submit(task, null, { budget: { tokens: 100 } })
    expect(await runtime.result(receipt)).toEqual([{ role: 'assistant', content: 'It rains.' }, {}])
    expect(provider.asked.map(({ body }) => body['stream_options'])).toEqual([{ include_usage: true }])
    const items = await all(readStream(runtime.runtime.output(receipt)))
    expect(items.map((item) => (item.type === 'text' ? item.text : '')).join('')).toBe('It rains.')
    expect((await runtime.runtime.budgets.get(receipt))?.used.tokens).toBe(14)
  })

  test('arguments of a tool come in one piece, and usage that was asked for comes along', async () => {
    const part = (text: string, rest: object = {}) =>
      chunk({ tool_calls: [{ index: 0, ...rest, function: { arguments: text } }] })
    await using provider = await startProvider({
      events: [
        part('', { id: 't1', type: 'function' }),
        part('{"a"'),
        part(':1}'),
        ...(stream.events ?? []).slice(3),
      ],
    })
    const task = defineTask({ type: 'chat', input }, async (ctx) => {
      const create = clientOf(ctx, provider.url).chat.completions.create
      const events = await create({ ...ask, stream: true, stream_options: { include_usage: true } })
      return all(events)
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const chunks = await runtime.run(task, null)
    expect(chunks.map(({ choices }) => choices[0]?.delta.tool_calls?.[0]?.function?.arguments)).toEqual([
      '{"a":1}',
      undefined,
      undefined,
    ])
    expect(chunks.at(-1)?.usage?.total_tokens).toBe(14)
  })

  test('a stream whose connection breaks is tried again, and a reader sees each token once', async () => {
    const events = (stream.events ?? []).slice(0, 3)
    await using provider = await startProvider({ events, breaks: true }, { events }, stream)
    const task = defineTask({ type: 'chat', input }, async (ctx) => {
      const said = await clientOf(ctx, provider.url).chat.completions.create({ ...ask, stream: true })
      return (await all(said)).length
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const receipt = await runtime.runtime.submit(task, null)
    expect(await runtime.result(receipt)).toBe(2)
    expect(provider.asked.length).toBe(3)
    const items = await all(readStream(runtime.runtime.output(receipt)))
    expect(items.map((item) => (item.type === 'text' ? item.text : item.type)).join(' ')).toMatch(
      /^start It ( )?rains\. end$/,
    )
  })
})

describe('the calls that the provider refuses', () => {
  test('for now waits for the time of its headers, without a retry of the client', async () => {
    const headers = { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m30s' }
    await using provider = await startProvider({ status: 429, headers, json: {} }, completion)
    const task = defineTask({ type: 'chat', input }, async (ctx) => {
      await clientOf(ctx, provider.url).chat.completions.create(ask)
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const begun = runtime.now
    await runtime.run(task, null)
    expect([runtime.now - begun, provider.asked.length]).toEqual([90_000, 2])
  })

  test('a call that is refused finally is final after one call', async () => {
    await using provider = await startProvider({ status: 401, json: { error: { message: 'wrong key' } } })
    const task = defineTask({ type: 'chat', input }, async (ctx) => {
      await clientOf(ctx, provider.url).chat.completions.create(ask)
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const failed = await runtime.run(task, null).catch((reason: unknown) => reason)
    expect((failed as TaskFailed).cause).toMatchObject({ code: 'non_retryable' })
    expect(String(failed)).toMatch(/large answered 401: .*wrong key/)
    expect(provider.asked.length).toBe(1)
  })
})
