import Anthropic from '@anthropic-ai/sdk'
import { defineTask, type TaskContext } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { durableAnthropic, readStream } from '../src/index.ts'
import { all } from './all.ts'
import { type Reply, startProvider } from './provider.ts'

const input = z.null()
const ask = { model: 'large', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Weather?' }] }
const usage = {
  input_tokens: 10,
  cache_read_input_tokens: 5,
  cache_creation_input_tokens: 2,
  output_tokens: 1,
}
const message = { id: 'm-1', type: 'message', role: 'assistant', model: 'large', content: [], usage }

const event = (data: { type: string; [key: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}`
const delta = (index: number, what: object) => event({ type: 'content_block_delta', index, delta: what })
const stream: Reply = {
  events: [
    event({ type: 'message_start', message }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'ping' }),
    delta(0, { type: 'text_delta', text: 'It ' }),
    delta(0, { type: 'text_delta', text: 'rains.' }),
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 't', name: 'look' },
    }),
    delta(1, { type: 'input_json_delta', partial_json: '{"a"' }),
    delta(1, { type: 'input_json_delta', partial_json: ':1}' }),
    event({ type: 'content_block_stop', index: 1 }),
    event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 8 } }),
    event({ type: 'message_stop' }),
  ],
}

const clientOf = (ctx: TaskContext, url: string) =>
  durableAnthropic(ctx, new Anthropic({ apiKey: 'key', baseURL: url, maxRetries: 2 }))

test('messages.create is a step, charged, and answers later passes from the store', async () => {
  await using provider = await startProvider({
    json: { ...message, content: [{ type: 'text', text: 'Rain.' }] },
  })
  const task = defineTask({ type: 'chat', input }, async (ctx) => {
    const { content } = await clientOf(ctx, provider.url).messages.create(ask)
    await ctx.sleep('a second', 1_000)
    return content.map((block) => (block.type === 'text' ? block.text : ''))
  })
  await using runtime = await createTestRuntime({ tasks: [task] })
  const receipt = await runtime.runtime.submit(task, null, { budget: { tokens: 100 } })
  expect(await runtime.result(receipt)).toEqual(['Rain.'])
  expect(provider.asked.length).toBe(1)
  expect((await runtime.runtime.budgets.get(receipt))?.used.tokens).toBe(18)
})

test('a stream goes to readers while it comes, and to the handler when all of it is stored', async () => {
  await using provider = await startProvider(stream)
  const task = defineTask({ type: 'chat', input }, async (ctx) => {
    const events = await clientOf(ctx, provider.url).messages.create({ ...ask, stream: true })
    const deltas: unknown[] = []
    for await (const said of events) if (said.type === 'content_block_delta') deltas.push(said.delta)
    await ctx.sleep('a second', 1_000)
    return deltas
  })
  await using runtime = await createTestRuntime({ tasks: [task] })
  const receipt = await runtime.runtime.submit(task, null, { budget: { tokens: 100 } })
  expect(await runtime.result(receipt)).toEqual([
    { type: 'text_delta', text: 'It rains.' },
    { type: 'input_json_delta', partial_json: '{"a":1}' },
  ])
  expect(provider.asked.length).toBe(1)
  const items = await all(readStream(runtime.runtime.output(receipt)))
  expect(items.map((item) => (item.type === 'text' ? item.text : '')).join('')).toBe('It rains.')
  expect((await runtime.runtime.budgets.get(receipt))?.used.tokens).toBe(25)
})

test.each([
  ['overloaded', { status: 529, json: {} }, 1_000],
  ['refused for now', { status: 429, headers: { 'retry-after': '20' }, json: {} }, 20_000],
  [
    'overloaded in the middle of the stream',
    {
      events: [
        ...(stream.events ?? []).slice(0, 4),
        `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}`,
      ],
    },
    1_000,
  ],
] as readonly [string, Reply, number][])(
  'a call that was %s is made again by the runtime',
  async (_, reply, ms) => {
    await using provider = await startProvider(reply, stream)
    const task = defineTask({ type: 'chat', input }, async (ctx) => {
      const client = new Anthropic({ apiKey: 'key', baseURL: provider.url, maxRetries: 2 })
      const retry = { attempts: 2, backoff: { jitter: 0 } }
      const said = await durableAnthropic(ctx, client, { retry }).messages.create({ ...ask, stream: true })
      return (await all(said)).length
    })
    await using runtime = await createTestRuntime({ tasks: [task] })
    const begun = runtime.now
    expect(await runtime.run(task, null)).toBe(9)
    expect([runtime.now - begun, provider.asked.length]).toEqual([ms, 2])
  },
)
