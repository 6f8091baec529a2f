import { defineTask } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { durableTools } from '../src/index.ts'
import { answer, durable, parts, streamed, toolCalls } from './models.ts'

const input = z.null()

describe('durableTools', () => {
  test('each turn of a loop with tools is a step, and so is each tool', async () => {
    const model = new MockLanguageModelV4({
      doGenerate: [
        toolCalls(['add', 'c1', { a: 1, b: 2 }], ['add', 'c2', { a: 3, b: 4 }]),
        answer('3 and 7'),
      ],
    })
    let added = 0
    const sum = defineTask({ type: 'sum', input }, async (ctx) => {
      const add = tool({
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: ({ a, b }) => {
          added += 1
          return { sum: a + b }
        },
      })
      const { text, steps } = await generateText({
        model: durable(ctx, model),
        tools: durableTools(ctx, { add }),
        stopWhen: stepCountIs(5),
        prompt: 'Add.',
      })
      await ctx.sleep('a second', 1_000)
      return [text, steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output))]
    })

    await using runtime = await createTestRuntime({ tasks: [sum] })
    const receipt = await runtime.runtime.submit(sum, null)
    expect(await runtime.result(receipt)).toEqual(['3 and 7', [{ sum: 3 }, { sum: 7 }]])
    expect([model.doGenerateCalls.length, added]).toEqual([2, 2])
    const { steps } = await runtime.history(receipt)
    expect(steps.map(({ key }) => key)).toEqual(['model 1', 'add c1', 'add c2', 'model 2'])
  })

  test('an error of a tool goes to the model, and stays what it was', async () => {
    const model = new MockLanguageModelV4({
      doGenerate: [toolCalls(['look', 'c1', {}]), answer('it is gone')],
    })
    let looks = 0
    const look = defineTask({ type: 'look', input }, async (ctx) => {
      const tools = durableTools(ctx, {
        look: tool({
          inputSchema: z.object({}),
          execute: (): string => {
            looks += 1
            throw new TypeError(`nothing there, ${looks}`)
          },
        }),
      })
      const { text } = await generateText({
        model: durable(ctx, model),
        tools,
        stopWhen: stepCountIs(5),
        prompt: 'Look.',
      })
      await ctx.sleep('a second', 1_000)
      return text
    })

    await using runtime = await createTestRuntime({ tasks: [look] })
    expect(await runtime.run(look, null)).toBe('it is gone')
    expect(looks).toBe(1)
    expect(JSON.stringify(model.doGenerateCalls[1]?.prompt)).toContain('nothing there, 1')
  })

  test('tools that are called in a stream are steps', async () => {
    const call = toolCalls(['add', 'c1', { a: 1 }])
    const model = new MockLanguageModelV4({
      doStream: [
        streamed([
          { type: 'stream-start', warnings: [] },
          { type: 'tool-input-start', id: 'c1', toolName: 'add' },
          { type: 'tool-input-delta', id: 'c1', delta: '{"a":1}' },
          { type: 'tool-input-end', id: 'c1' },
          ...call.content.filter((part) => part.type === 'tool-call'),
          { type: 'finish', finishReason: call.finishReason, usage: call.usage },
        ]),
        streamed(parts('done')),
      ],
    })
    const started: string[] = []
    const write = defineTask({ type: 'write', input }, async (ctx) => {
      const add = tool({
        inputSchema: z.object({ a: z.number() }),
        onInputStart: ({ toolCallId }) => void started.push(toolCallId),
        execute: async function* ({ a }) {
          yield 'so far'
          yield a + 1
        },
      })
      const { text } = streamText({
        model: durable(ctx, model, { emit: ['text', 'tool-call'] }),
        tools: durableTools(ctx, { add }),
        stopWhen: stepCountIs(3),
        prompt: 'Add.',
      })
      return text
    })
    await using runtime = await createTestRuntime({ tasks: [write] })
    const receipt = await runtime.runtime.submit(write, null)
    expect(await runtime.result(receipt)).toBe('done')
    expect(started).toEqual(['c1'])
    const { steps } = await runtime.history(receipt)
    expect(steps.map(({ key }) => key)).toEqual(['model 1', 'add c1', 'model 2'])
    expect(steps[1]?.result).toEqual({ output: 2 })
  })

  test('a tool that is refused for now is waited for, under its own name', async () => {
    const model = new MockLanguageModelV4({
      doGenerate: [toolCalls(['search', 'c1', {}]), answer('found')],
    })
    let calls = 0
    const find = defineTask({ type: 'find', input }, async (ctx) => {
      const search = tool({
        inputSchema: z.object({}),
        execute: () => {
          calls += 1
          const headers = { 'retry-after': '20' }
          if (calls === 1) throw Object.assign(new Error('slow down'), { status: 429, headers })
          return 'a page'
        },
      })
      const { text } = await generateText({
        model: durable(ctx, model),
        tools: durableTools(ctx, { search }),
        stopWhen: stepCountIs(3),
        prompt: 'Find it.',
      })
      return text
    })
    await using runtime = await createTestRuntime({ tasks: [find] })
    const begun = runtime.now
    const receipt = await runtime.runtime.submit(find, null)
    await runtime.settle()
    expect((await runtime.runtime.stats()).quotas).toMatchObject([
      { key: 'tool:search', blockedUntil: begun + 20_000 },
    ])
    expect(await runtime.result(receipt)).toBe('found')
    expect([runtime.now - begun, calls]).toEqual([20_000, 2])
  })
})
