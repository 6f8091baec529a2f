import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import { plain } from './plain.ts'
import { epochMs } from './system.ts'
import { type TokenUsage, tokens } from './token-usage.ts'

/**
 * The answer of a model call, as its step stores it: plain data, without the bodies and headers of the request and the response. A URL of a file is a text.
 */
export interface StoredCall extends Pick<
  LanguageModelV4GenerateResult,
  'finishReason' | 'usage' | 'providerMetadata' | 'warnings' | 'structuredOutputText'
> {
  readonly content: readonly unknown[]
  readonly response: { readonly id: string; readonly modelId: string; readonly timestamp: Date }
}

/** The identity of a call whose model names neither an id nor a time: every pass has to see the same ones. */
export interface CallIdentity {
  readonly id: string
  readonly modelId: string
}

/** The result of a call, for its step to return. */
export function storedCall(result: LanguageModelV4GenerateResult, identity: CallIdentity): StoredCall {
  const { content, finishReason, usage, providerMetadata, warnings, structuredOutputText, response } = result
  const { id = identity.id, modelId = identity.modelId, timestamp = new Date(epochMs()) } = response ?? {}
  return plain({
    content,
    finishReason,
    usage,
    providerMetadata,
    warnings,
    structuredOutputText,
    response: { id, modelId, timestamp },
  } as StoredCall)
}

/** The result that the SDK gets, in every pass the same. */
export function resultOf({ content, ...stored }: StoredCall): LanguageModelV4GenerateResult {
  return { ...stored, content: content.map((part) => withUrl(part as LanguageModelV4Content)) }
}

/** The usage of a call, as its provider reports it. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): TokenUsage {
  return {
    input: tokens(inputTokens.total),
    cachedInput: tokens(inputTokens.cacheRead),
    cacheWrite: tokens(inputTokens.cacheWrite),
    output: tokens(outputTokens.total),
    reasoning: tokens(outputTokens.reasoning),
  }
}

function withUrl(part: LanguageModelV4Content): LanguageModelV4Content {
  if ((part.type !== 'file' && part.type !== 'reasoning-file') || part.data.type !== 'url') return part
  return { ...part, data: { ...part.data, url: new URL(part.data.url) } }
}
