import type {
  LanguageModelV4,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import type { TaskContext } from '@ku0/agent-runtime'
import { simulateReadableStream, wrapLanguageModel } from 'ai'
import { type DurableCallOptions, durableCalls } from '../src/index.ts'

export const usage = (input: number, output: number): LanguageModelV4GenerateResult['usage'] => ({
  inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: output, text: output, reasoning: undefined },
})

/** A whole answer of a model. */
export function answer(
  text: string,
  rest: Partial<LanguageModelV4GenerateResult> = {},
): LanguageModelV4GenerateResult {
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: usage(10, 5),
    warnings: [],
    ...rest,
  }
}

/** A model's wish to call tools. */
export function toolCalls(
  ...calls: readonly (readonly [toolName: string, toolCallId: string, input: unknown])[]
): LanguageModelV4GenerateResult {
  return {
    ...answer(''),
    content: calls.map(([toolName, toolCallId, input]) => ({
      type: 'tool-call',
      toolName,
      toolCallId,
      input: JSON.stringify(input),
    })),
    finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
  }
}

/** The parts of a stream that says these pieces. */
export function parts(...pieces: readonly string[]): LanguageModelV4StreamPart[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r-1', modelId: 'model-1', timestamp: new Date(1_000) },
    { type: 'text-start', id: 't' },
    ...pieces.map((delta) => ({ type: 'text-delta' as const, id: 't', delta })),
    { type: 'text-end', id: 't' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: usage(10, pieces.length) },
  ]
}

export const streamed = (chunks: LanguageModelV4StreamPart[]) => ({
  stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }),
})

/** The model, each call of it a step. */
export const durable = (ctx: TaskContext, model: LanguageModelV4, options?: DurableCallOptions) =>
  wrapLanguageModel({ model, middleware: durableCalls(ctx, options) })
