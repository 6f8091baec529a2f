// The agent: it waits for what a person says, answers with a model that may look outside, and waits again.
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { defineTask } from '@ku0/agent-runtime'
import { durableCalls, durableTools } from '@ku0/agent-runtime-ai'
import { generateText, isStepCount, type ModelMessage, tool, wrapLanguageModel } from 'ai'
import { z } from 'zod'
import { chooseModel } from './model.ts'

const weather: Readonly<Record<string, string>> = { Bergen: 'rain', Cairo: 'sun' }

const lookOutside = tool({
  description: 'Says what the weather is like in a town.',
  inputSchema: z.object({ town: z.string() }),
  execute: ({ town }) => weather[town] ?? 'fog',
})

/** The chat with a model of its own: tests have one that does not take its time. */
export const chatWith = (model: () => LanguageModelV4) =>
  defineTask({ type: 'chat', input: z.object({}) }, async (ctx) => {
    // Each call of the model is a step of this task, and what it streams goes to whoever follows the task.
    const durable = wrapLanguageModel({
      model: model(),
      middleware: durableCalls(ctx, { name: 'answer', stream: true, emit: ['text', 'tool-call'] }),
    })
    const tools = durableTools(ctx, { lookOutside })
    const messages: ModelMessage[] = []
    for (let turn = 1; ; turn += 1) {
      const said = await ctx.waitForSignal<string>(`message ${turn}`, { signal: 'message' })
      if (said === 'bye') return `${turn - 1} answers`
      await ctx.emit({ said })
      messages.push({ role: 'user', content: said })
      const { response } = await generateText({ model: durable, tools, messages, stopWhen: isStepCount(4) })
      messages.push(...response.messages)
    }
  })

export const chat = chatWith(chooseModel)
