import { defineTask } from '@ku0/agent-runtime'
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { generateText, stepCountIs, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { draws } from '../../../tools/draws.ts'
import { durableTools, readStream } from '../src/index.ts'
import { all } from './all.ts'
import { durable, parts, streamed, toolCalls } from './models.ts'

/** A turn that calls a tool and then answers, a wait, and another answer. `paid` has each call that the model was asked to make. */
function chat() {
  const paid: string[] = []
  const { content, finishReason, usage } = toolCalls(['look', 'c1', {}])
  const wish = [
    { type: 'stream-start' as const, warnings: [] },
    ...content.filter((part) => part.type === 'tool-call'),
    { type: 'finish' as const, finishReason, usage },
  ]
  const model = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const last = prompt.at(-1)
      const asked = last?.role === 'tool' ? 'with the weather' : JSON.stringify(last?.content)
      paid.push(asked)
      return streamed(asked.includes('Weather?') ? wish : parts('It ', 'rains', ' in ', 'Bergen', '.'))
    },
  })
  const talk = defineTask({ type: 'talk', input: z.null() }, async (ctx) => {
    const wrapped = durable(ctx, model, { stream: true })
    const look = tool({ inputSchema: z.object({}), execute: () => 'rain' })
    const { text } = await generateText({
      model: wrapped,
      tools: durableTools(ctx, { look }),
      stopWhen: stepCountIs(3),
      prompt: 'Weather?',
    })
    await ctx.sleep('an hour', 3_600_000)
    return [text, (await generateText({ model: wrapped, prompt: `Again: ${text}` })).text]
  })
  return { talk, paid }
}

test('crashed after every commit, each call is paid once, save the one under way, and each token is shown once', async () => {
  const { talk, paid } = chat()
  const repeated: number[] = []
  const { commits, crashedAfter } = await sweepCrashes({
    tasks: [talk],
    every: draws(12, 1),
    script: async (process) => {
      paid.length = 0
      const receipt = await process.runtime.submit(talk, null, { idempotencyKey: 'talk' })
      const said = await process.result(receipt)
      const items = await all(readStream(process.runtime.output(receipt)))
      const shown = items.map((item) => (item.type === 'text' ? item.text : '')).join('')
      return { said, shown, restarts: items.filter(({ type }) => type === 'restart').length }
    },
    check: (_, { said, shown, restarts }) => {
      repeated.push(paid.length - new Set(paid).size)
      expect(new Set(paid).size).toBe(3)
      expect(said).toEqual(['It rains in Bergen.', 'It rains in Bergen.'])
      expect([shown, restarts]).toEqual(['It rains in Bergen.It rains in Bergen.', 0])
    },
  })
  expect(crashedAfter.length).toBe(draws(Math.ceil(commits / 12), commits))
  // A crash between the first token and the commit of the whole costs that one call again.
  expect(repeated[0]).toBe(0)
  expect(Math.max(...repeated)).toBeLessThanOrEqual(1)
})
