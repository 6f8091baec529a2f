import { setTimeout as sleep } from 'node:timers/promises'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'

/**
 * The model of the chat: one that speaks OpenAI's protocol, by `KU0_MODEL_BASE_URL`, `KU0_MODEL` and, where it wants one, `KU0_MODEL_API_KEY`. Without them it is
 * a small one that needs no network and always says the same.
 */
export function chooseModel(): LanguageModelV4 {
  const { KU0_MODEL_BASE_URL: baseURL, KU0_MODEL: name, KU0_MODEL_API_KEY: apiKey } = process.env
  if (baseURL === undefined || name === undefined) return new SmallModel({ wordMs: 60 })
  const key = apiKey === undefined ? {} : { apiKey }
  return createOpenAICompatible({ name: 'model', baseURL, includeUsage: true, ...key })(name)
}

const advice: Readonly<Record<string, string>> = {
  rain: 'It rains there, softly and with some patience, as it has rained all week. Take boots and a coat, and leave the umbrella: the wind would have it.',
  sun: 'The sun is out there, and nothing stands between you and it. Take a hat, much water and a slow walk on the side of the street that has shade.',
  fog: 'There is fog, so that nobody can say what lies behind it. Take your time, a lamp, and somebody who knows the way.',
}

/** A model behind the provider interface of the AI SDK, as any other: it asks a tool for the weather, then gives advice. */
export class SmallModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4'
  readonly provider = 'small'
  readonly modelId = 'small'
  readonly supportedUrls = {}
  readonly #wordMs: number

  /** `wordMs` is the time between two words. */
  constructor({ wordMs }: { readonly wordMs: number }) {
    this.#wordMs = wordMs
  }

  doGenerate(): never {
    throw new Error('the small model only streams: durableCalls(ctx, { stream: true })')
  }

  doStream({ prompt }: LanguageModelV4CallOptions) {
    const words = answerTo(prompt)
    const stream = ReadableStream.from(typeof words === 'string' ? this.#say(words) : lookAt(words.town))
    return Promise.resolve({ stream })
  }

  async *#say(text: string): AsyncGenerator<LanguageModelV4StreamPart> {
    yield { type: 'text-start', id: 'text' }
    for (const delta of text.split(/(?<= )/)) {
      yield { type: 'text-delta', id: 'text', delta }
      await sleep(this.#wordMs)
    }
    yield { type: 'text-end', id: 'text' }
    yield finish('stop', text.length)
  }
}

async function* lookAt(town: string): AsyncGenerator<LanguageModelV4StreamPart> {
  yield {
    type: 'tool-call',
    toolCallId: `look at ${town}`,
    toolName: 'lookOutside',
    input: JSON.stringify({ town }),
  }
  yield finish('tool-calls', town.length)
}

function answerTo(prompt: LanguageModelV4CallOptions['prompt']): string | { readonly town: string } {
  const last = prompt.at(-1)
  if (last?.role === 'tool') {
    const seen = Object.keys(advice).find((kind) => JSON.stringify(last.content).includes(`"${kind}"`))
    return advice[seen ?? 'fog'] ?? ''
  }
  const [, town] = /\b(?:in|to) (\p{Lu}\p{L}+)/u.exec(JSON.stringify(last?.content)) ?? []
  return town === undefined
    ? 'Tell me which town you go to, and I look outside there before you pack: what it is like now is all that I know.'
    : { town }
}

function finish(unified: 'stop' | 'tool-calls', letters: number): LanguageModelV4StreamPart {
  const output = Math.ceil(letters / 4)
  return {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: 20, noCache: 20, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
  }
}
