import { defineTask, type TaskContext } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import { generateText, streamText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readStream } from '../src/index.ts'
import { all } from './all.ts'
import { answer, durable, parts, streamed } from './models.ts'

const input = z.null()

describe('generateText', () => {
  test('is a step: after a wait its result comes from the store, down to the id and the time', async () => {
    const seen: unknown[] = []
    const model = new MockLanguageModelV4({
      modelId: 'large',
      doGenerate: async () =>
        answer('rain', { response: { headers: { secret: 'no' }, body: {} }, request: { body: 'long' } }),
    })
    const ask = defineTask({ type: 'ask', input }, async (ctx) => {
      const {
        text,
        response,
        usage: used,
      } = await generateText({
        model: durable(ctx, model),
        prompt: 'Weather?',
      })
      seen.push([text, response.id, response.timestamp, used.totalTokens])
      await ctx.sleep('a day', 86_400_000)
      return text
    })

    await using runtime = await createTestRuntime({ tasks: [ask] })
    const receipt = await runtime.runtime.submit(ask, null)
    expect(await runtime.result(receipt)).toBe('rain')
    expect(model.doGenerateCalls.length).toBe(1)
    expect(seen.length).toBe(2)
    expect(seen[1]).toEqual(seen[0])
    const { steps } = await runtime.history(receipt)
    expect(steps.map(({ key }) => key)).toEqual(['model 1'])
    expect(steps[0]?.result).toEqual({
      content: [{ type: 'text', text: 'rain' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 10, noCache: 10 },
        outputTokens: { total: 5, text: 5 },
      },
      warnings: [],
      response: { id: expect.stringMatching(/^call-/), modelId: 'large', timestamp: expect.any(Date) },
    })
  })

  test('calls of one name side by side are refused, and named ones are not', async () => {
    const model = new MockLanguageModelV4({ doGenerate: async () => answer('yes') })
    const asked = async (ctx: TaskContext, names: readonly [string, string]) => {
      const texts = await Promise.all(
        names.map((name) => generateText({ model: durable(ctx, model, { name }), prompt: name })),
      )
      return texts.map(({ text }) => text)
    }
    const same = defineTask({ type: 'same', input }, (ctx) => asked(ctx, ['model', 'model']))
    const named = defineTask({ type: 'named', input }, (ctx) => asked(ctx, ['page 1', 'page 2']))

    await using runtime = await createTestRuntime({ tasks: [same, named] })
    await expect(runtime.run(same, null)).rejects.toThrow(/two model calls named 'model' run side by side/)
    expect(await runtime.run(named, null)).toEqual(['yes', 'yes'])
  })

  test('with checkInput a pass that asks something else is parked', async () => {
    const model = new MockLanguageModelV4({ doGenerate: async () => answer('yes') })
    let passes = 0
    const ask = defineTask({ type: 'ask', input }, async (ctx) => {
      passes += 1
      await generateText({ model: durable(ctx, model, { checkInput: true }), prompt: `pass ${passes}` })
      await ctx.sleep('a second', 1_000)
    })
    await using runtime = await createTestRuntime({ tasks: [ask] })
    const receipt = await runtime.runtime.submit(ask, null)
    await runtime.until(receipt, (status) => 'waitingFor' in status && status.waitingFor === 'divergence')
    expect(model.doGenerateCalls.length).toBe(1)
  })

  test('files come back as bytes and URLs', async () => {
    const model = new MockLanguageModelV4({
      doGenerate: async () =>
        answer('', {
          content: [
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) } },
            { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://a.test/b') } },
          ],
        }),
    })
    const draw = defineTask({ type: 'draw', input }, async (ctx) => {
      const wrapped = durable(ctx, model)
      const { content } = await wrapped.doGenerate({ prompt: [] })
      await ctx.sleep('a second', 1_000)
      return content.map((part) => (part.type === 'file' ? kindOf(part.data) : part.type))
    })
    const kindOf = (data: { type: string; data?: unknown; url?: unknown }) => [
      data.data instanceof Uint8Array,
      data.url instanceof URL,
    ]
    await using runtime = await createTestRuntime({ tasks: [draw] })
    expect(await runtime.run(draw, null)).toEqual([
      [true, false],
      [false, true],
    ])
  })
})

describe('streamText', () => {
  test('emits the tokens, stores the whole, and replays it as a stream', async () => {
    const model = new MockLanguageModelV4({ doStream: async () => streamed(parts('It ', 'rains', '.')) })
    const write = defineTask({ type: 'write', input }, async (ctx) => {
      const result = streamText({ model: durable(ctx, model), prompt: 'Weather?' })
      const pieces = await all(result.textStream)
      await ctx.sleep('a second', 1_000)
      return [pieces, (await result.response).id, (await result.usage).outputTokens]
    })

    await using runtime = await createTestRuntime({ tasks: [write] })
    const receipt = await runtime.runtime.submit(write, null)
    expect(await runtime.result(receipt)).toEqual([['It rains.'], 'r-1', 3])
    expect(model.doStreamCalls.length).toBe(1)
    const emitted = await all(runtime.runtime.output(receipt))
    const chunks = emitted.flatMap((item) => (item.type === 'chunk' ? [item.data] : []))
    expect(chunks[0]).toEqual({ stream: 'start', step: 'model 1', pass: 1, try: 1, index: 0 })
    expect(chunks.map((chunk) => (chunk as { text?: string }).text ?? '').join('')).toBe('It rains.')
    expect(chunks.at(-1)).toMatchObject({ stream: 'end', index: chunks.length - 1 })
  })

  test('is not needed: generateText streams as well', async () => {
    const model = new MockLanguageModelV4({ doStream: async () => streamed(parts('It ', 'rains', '.')) })
    const write = defineTask({ type: 'write', input }, async (ctx) => {
      const { text } = await generateText({
        model: durable(ctx, model, { stream: true }),
        prompt: 'Weather?',
      })
      return text
    })
    await using runtime = await createTestRuntime({ tasks: [write] })
    const receipt = await runtime.runtime.submit(write, null)
    expect(await runtime.result(receipt)).toBe('It rains.')
    const items = await all(readStream(runtime.runtime.output(receipt)))
    expect(items.map((item) => (item.type === 'text' ? item.text : '')).join('')).toBe('It rains.')
  })

  test('a stream that breaks off is tried again', async () => {
    const broken = [...parts('It ').slice(0, -2), { type: 'error' as const, error: new Error('reset') }]
    const model = new MockLanguageModelV4({
      doStream: [streamed(broken), streamed(parts('It ').slice(0, 3)), streamed(parts('It ', 'snows.'))],
    })
    const write = defineTask({ type: 'write', input }, async (ctx) => {
      const { text } = streamText({ model: durable(ctx, model), prompt: 'Weather?' })
      return text
    })
    await using runtime = await createTestRuntime({ tasks: [write] })
    expect(await runtime.run(write, null)).toBe('It snows.')
    expect(model.doStreamCalls.length).toBe(3)
  })
})
