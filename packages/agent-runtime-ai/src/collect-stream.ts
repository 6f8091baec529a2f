import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Reasoning,
  LanguageModelV4StreamPart,
  LanguageModelV4Text,
} from '@ai-sdk/provider'
import { RuntimeError } from '@ku0/agent-runtime'
import type { LivePiece } from './stream-chunk.ts'

/**
 * Reads the stream of a model to its end and gives the whole, as a call that does not stream returns it. `heard` gets what a reader can follow. Throws what the model
 * reports in the stream, and an error that can be tried again where the stream breaks off.
 */
export async function collectStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  heard: (piece: LivePiece) => void,
): Promise<LanguageModelV4GenerateResult> {
  const whole = new Whole()
  for await (const part of stream) {
    const piece = livePieceOf(part)
    if (piece !== undefined) heard(piece)
    whole.take(part)
  }
  return whole.result()
}

function livePieceOf(part: LanguageModelV4StreamPart): LivePiece | undefined {
  switch (part.type) {
    case 'text-delta':
      return { stream: 'text', text: part.delta }
    case 'reasoning-delta':
      return { stream: 'reasoning', text: part.delta }
    case 'tool-call':
      return { stream: 'tool-call', toolName: part.toolName, input: part.input }
    default:
      return undefined
  }
}

type Finish = Pick<LanguageModelV4GenerateResult, 'finishReason' | 'usage' | 'providerMetadata'>

/** The parts of a stream put together, in the order in which they began. */
class Whole {
  readonly #content: LanguageModelV4Content[] = []
  readonly #texts = new Map<string, LanguageModelV4Text>()
  readonly #reasonings = new Map<string, LanguageModelV4Reasoning>()
  #warnings: LanguageModelV4GenerateResult['warnings'] = []
  #response: LanguageModelV4GenerateResult['response'] = {}
  #finish: Finish | undefined

  take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'stream-start':
        this.#warnings = part.warnings
        return
      case 'response-metadata': {
        const { type: _, ...response } = part
        this.#response = { ...this.#response, ...response }
        return
      }
      case 'text-start':
      case 'text-delta':
      case 'text-end': {
        const text = this.#block(this.#texts, part.id, { type: 'text', text: '' })
        if (part.type === 'text-delta') text.text += part.delta
        if (part.type === 'text-end' && part.citations !== undefined) text.citations = part.citations
        // A provider may say it at the start, with a piece or at the end: the last word counts.
        if (part.providerMetadata !== undefined) text.providerMetadata = part.providerMetadata
        return
      }
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const reasoning = this.#block(this.#reasonings, part.id, { type: 'reasoning', text: '' })
        if (part.type === 'reasoning-delta') reasoning.text += part.delta
        if (part.providerMetadata !== undefined) reasoning.providerMetadata = part.providerMetadata
        return
      }
      case 'finish': {
        const { type: _, ...finish } = part
        this.#finish = finish
        return
      }
      case 'error':
        throw part.error
      // The call of the tool that follows has all of its input.
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'raw':
      case 'ping':
        return
      case 'tool-result':
        // A later one of the same call takes its place.
        if (part.preliminary !== true) this.#content.push(part)
        return
      case 'tool-call':
      case 'tool-approval-request':
      case 'custom':
      case 'file':
      case 'reasoning-file':
      case 'source':
        this.#content.push(part)
    }
  }

  result(): LanguageModelV4GenerateResult {
    if (this.#finish === undefined)
      throw new RuntimeError('handler_failed', 'the stream of the model broke off before its end')
    return {
      ...this.#finish,
      content: this.#content,
      warnings: this.#warnings,
      response: this.#response ?? {},
    }
  }

  #block<B extends LanguageModelV4Text | LanguageModelV4Reasoning>(
    blocks: Map<string, B>,
    id: string,
    empty: NoInfer<B>,
  ): B {
    const known = blocks.get(id)
    if (known !== undefined) return known
    blocks.set(id, empty)
    this.#content.push(empty)
    return empty
  }
}
