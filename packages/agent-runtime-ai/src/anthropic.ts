import type { TaskContext } from '@ku0/agent-runtime'
import {
  type Create,
  type Data,
  dataIn,
  durableCreate,
  type DurableCreate,
  type Protocol,
  textIn,
} from './durable-create.ts'
import type { CallOptions } from './model-step.ts'
import { tokens } from './token-usage.ts'

/** A client of the package `@anthropic-ai/sdk`, or of one like it, as far as it matters here. */
export interface AnthropicClient {
  readonly messages: { create: Create }
}

/** The calls of a client that are steps. */
export interface DurableAnthropic<Client extends AnthropicClient> {
  readonly messages: { readonly create: DurableCreate<Client['messages']['create']> }
}

/**
 * Makes `messages.create` of an Anthropic client a step of the task, with and without `stream: true`.
 *
 *     const anthropic = durableAnthropic(ctx, new Anthropic())
 *     const { content } = await anthropic.messages.create({ model: 'claude-sonnet-4-5', max_tokens: 500, messages })
 *
 * All that holds for {@link durableOpenAI} holds here.
 */
export function durableAnthropic<Client extends AnthropicClient>(
  ctx: TaskContext,
  client: Client,
  options: CallOptions = {},
): DurableAnthropic<Client> {
  const { messages } = client
  const create: Create = (body, request) => messages.create(body, request)
  return { messages: { create: durableCreate(ctx, create, messageEvents, options) } }
}

const messageEvents: Protocol = {
  join: (last, next) => {
    const isSame = isDelta(last) && isDelta(next) && last['index'] === next['index']
    const delta = isSame ? joinDeltas(dataIn(last, 'delta') ?? {}, dataIn(next, 'delta') ?? {}) : undefined
    return delta === undefined ? undefined : { ...last, delta }
  },
  pieceOf: (event) => {
    const delta = isDelta(event) ? dataIn(event, 'delta') : undefined
    const [text, thinking] = [textIn(delta, 'text'), textIn(delta, 'thinking')]
    if (text !== undefined) return { stream: 'text', text }
    return thinking === undefined ? undefined : { stream: 'reasoning', text: thinking }
  },
  isEnd: ({ type }) => type === 'message_stop',
  usageOf: (said) => {
    // A stream says it twice, and the second time more of it.
    const known = said.flatMap((event) => [
      dataIn(dataIn(event, 'message'), 'usage') ?? {},
      dataIn(event, 'usage') ?? {},
    ])
    const usage: Data = Object.fromEntries(
      known.flatMap((part) => Object.entries(part).filter(([, value]) => value !== null)),
    )
    const cachedInput = tokens(usage['cache_read_input_tokens'])
    const cacheWrite = tokens(usage['cache_creation_input_tokens'])
    return {
      // Anthropic counts beside the cache what others count with it.
      input: tokens(usage['input_tokens']) + cachedInput + cacheWrite,
      cachedInput,
      cacheWrite,
      output: tokens(usage['output_tokens']),
      reasoning: tokens(dataIn(usage, 'output_tokens_details')?.['thinking_tokens']),
    }
  },
}

const isDelta = ({ type }: Data): boolean => type === 'content_block_delta'

/** Two pieces of one text. */
function joinDeltas(last: Data, next: Data): Data | undefined {
  if (last['type'] !== next['type']) return undefined
  const key = ['text', 'thinking', 'partial_json'].find((it) => it in next)
  if (key === undefined) return undefined
  return { ...last, [key]: `${textIn(last, key) ?? ''}${textIn(next, key) ?? ''}` }
}
