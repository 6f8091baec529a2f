/** @module @ku0/agent-runtime-ai */

// The Vercel AI SDK
export { type DurableCallOptions, durableCalls, type DurableCalls } from './durable-calls.ts'
export type { CallOptions } from './model-step.ts'
export { durableTools, type DurableToolOptions, type ToolShape } from './durable-tools.ts'
export type { ChargeOptions, TokenPrice, TokenUsage } from './token-usage.ts'

// What a reader sees of a stream
export { readStream, type StreamItem } from './read-stream.ts'
export { isStreamChunk, type LiveKind, type LivePiece, type StreamChunk } from './stream-chunk.ts'

// The clients of OpenAI and Anthropic, by their shapes
export { durableOpenAI, type DurableOpenAI, type OpenAIClient } from './openai.ts'
export { durableAnthropic, type AnthropicClient, type DurableAnthropic } from './anthropic.ts'
export type { Create, DurableCreate, RequestOptions } from './durable-create.ts'
