import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'

/** The stream of a result that is there as a whole: each text comes in one piece. */
export function streamOf(result: LanguageModelV4GenerateResult): ReadableStream<LanguageModelV4StreamPart> {
  const parts = partsOf(result)
  return new ReadableStream<LanguageModelV4StreamPart>({
    pull(controller) {
      const { value, done } = parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
}

function* partsOf(result: LanguageModelV4GenerateResult): Generator<LanguageModelV4StreamPart, void> {
  const { content, finishReason, usage, providerMetadata, warnings, response } = result
  yield { type: 'stream-start', warnings }
  yield { type: 'response-metadata', ...response }
  for (const [index, part] of content.entries()) yield* partsOfContent(part, String(index))
  yield {
    type: 'finish',
    finishReason,
    usage,
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  }
}

function* partsOfContent(
  part: LanguageModelV4Content,
  id: string,
): Generator<LanguageModelV4StreamPart, void> {
  switch (part.type) {
    case 'text': {
      const { text, citations } = part
      yield { type: 'text-start', id, ...metadataOf(part) }
      if (text !== '') yield { type: 'text-delta', id, delta: text }
      yield { type: 'text-end', id, ...(citations === undefined ? {} : { citations }), ...metadataOf(part) }
      return
    }
    case 'reasoning':
      yield { type: 'reasoning-start', id, ...metadataOf(part) }
      if (part.text !== '') yield { type: 'reasoning-delta', id, delta: part.text }
      yield { type: 'reasoning-end', id, ...metadataOf(part) }
      return
    case 'tool-call': {
      const { toolCallId, toolName, input, providerExecuted, dynamic } = part
      const how = {
        ...(providerExecuted === undefined ? {} : { providerExecuted }),
        ...(dynamic === undefined ? {} : { dynamic }),
      }
      yield { type: 'tool-input-start', id: toolCallId, toolName, ...how }
      yield { type: 'tool-input-delta', id: toolCallId, delta: input }
      yield { type: 'tool-input-end', id: toolCallId }
      yield part
      return
    }
    default:
      yield part
  }
}

function metadataOf({ providerMetadata }: Pick<LanguageModelV4Content, 'providerMetadata'>) {
  return providerMetadata === undefined ? {} : { providerMetadata }
}
