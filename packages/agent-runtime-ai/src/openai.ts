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
import { type TokenUsage, tokens } from './token-usage.ts'

/** A client of the package `openai`, or of one like it, as far as it matters here. */
export interface OpenAIClient {
  readonly chat: { readonly completions: { create: Create } }
  readonly responses: { create: Create }
}

/** The calls of a client that are steps. */
export interface DurableOpenAI<Client extends OpenAIClient> {
  readonly chat: {
    readonly completions: { readonly create: DurableCreate<Client['chat']['completions']['create']> }
  }
  readonly responses: { readonly create: DurableCreate<Client['responses']['create']> }
}

/**
 * Makes `chat.completions.create` and `responses.create` of an OpenAI client steps of the task, with and without `stream: true`.
 *
 *     const openai = durableOpenAI(ctx, new OpenAI())
 *     const { output } = await openai.responses.create({ model: 'gpt-5', input: 'Hello' })
 *
 * A stream is emitted while it comes; the handler gets it when all of it is stored, with neighbouring pieces of text as one. The client's own retries are off. Its
 * other methods are left out: they would make calls that are no steps.
 */
export function durableOpenAI<Client extends OpenAIClient>(
  ctx: TaskContext,
  client: Client,
  options: CallOptions = {},
): DurableOpenAI<Client> {
  const { chat, responses } = client
  const completion: Create = (body, request) => chat.completions.create(body, request)
  const response: Create = (body, request) => responses.create(body, request)
  return {
    chat: { completions: { create: durableCreate(ctx, completion, completions, options) } },
    responses: { create: durableCreate(ctx, response, responseEvents, options) },
  }
}

const completions: Protocol = {
  prepare: (body) => ({ stream_options: { include_usage: true }, ...body }),
  // The chunk that says what was used has no choices, for which a caller who did not ask for it is not prepared.
  isAsked: (event, body) => 'stream_options' in body || !isEmpty(event['choices']),
  join: joinChunks,
  pieceOf: (event) => {
    const text = textIn(dataIn(firstChoice(event), 'delta'), 'content')
    return text === undefined || text === '' ? undefined : { stream: 'text', text }
  },
  isEnd: (event) => textIn(firstChoice(event), 'finish_reason') !== undefined,
  usageOf: (said) => {
    const usage = said.map((event) => dataIn(event, 'usage')).findLast((it) => it !== undefined)
    return countTokens(usage, 'prompt_tokens', 'completion_tokens')
  },
}

const responseEvents: Protocol = {
  join: (last, next) => {
    const text = [textIn(last, 'delta'), textIn(next, 'delta')]
    const isSame = samePlace.every((key) => last[key] === next[key])
    if (!isSame || text.includes(undefined)) return undefined
    const logprobs = [last, next].flatMap((event) => (event['logprobs'] as unknown[] | undefined) ?? [])
    return { ...next, delta: text.join(''), ...('logprobs' in next ? { logprobs } : {}) }
  },
  pieceOf: (event) => {
    const text = textIn(event, 'delta')
    if (text === undefined) return undefined
    if (event['type'] === 'response.output_text.delta') return { stream: 'text', text }
    return reasoning.has(event['type']) ? { stream: 'reasoning', text } : undefined
  },
  errorIn: (event) => {
    if (event['type'] === 'error') return reported(event)
    return event['type'] === 'response.failed'
      ? reported(dataIn(dataIn(event, 'response'), 'error'))
      : undefined
  },
  isEnd: ({ type }) => type === 'response.completed' || type === 'response.incomplete',
  usageOf: (said) => {
    const last = said.at(-1)
    return countTokens(dataIn(dataIn(last, 'response') ?? last, 'usage'), 'input_tokens', 'output_tokens')
  },
}

const samePlace = ['type', 'item_id', 'output_index', 'content_index', 'summary_index']
const reasoning: ReadonlySet<unknown> = new Set([
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
])

function reported(error: Data | undefined): Error {
  const message = textIn(error, 'message') ?? 'the response failed'
  return Object.assign(new Error(message), { code: textIn(error, 'code') })
}

function firstChoice(event: Data): Data | undefined {
  return (event['choices'] as readonly Data[] | undefined)?.[0]
}

function isEmpty(choices: unknown): boolean {
  return Array.isArray(choices) && choices.length === 0
}

/** Two chunks of one choice whose deltas are nothing but text, or nothing but arguments of one tool. */
function joinChunks(last: Data, next: Data): Data | undefined {
  const [one, other] = [onlyChoice(last), onlyChoice(next)]
  if (one === undefined || other === undefined || one['index'] !== other['index']) return undefined
  if (hasMore(one) || hasMore(other)) return undefined
  const delta = joinDeltas(dataIn(one, 'delta') ?? {}, dataIn(other, 'delta') ?? {})
  return delta === undefined ? undefined : { ...last, choices: [{ ...one, delta }] }
}

function onlyChoice(event: Data): Data | undefined {
  const choices = event['choices'] as readonly Data[] | undefined
  return choices?.length === 1 && (event['usage'] ?? null) === null ? choices[0] : undefined
}

const hasMore = (choice: Data): boolean =>
  (choice['finish_reason'] ?? null) !== null || (choice['logprobs'] ?? null) !== null

function joinDeltas(last: Data, next: Data): Data | undefined {
  const [key, ...others] = Object.keys(next)
  if (key === undefined || others.length > 0 || !(key in last)) return undefined
  const texts = [textIn(last, key), textIn(next, key)]
  if (!texts.includes(undefined)) return { ...last, [key]: texts.join('') }
  return key === 'tool_calls' ? joinToolCalls(last, next) : undefined
}

function joinToolCalls(last: Data, next: Data): Data | undefined {
  const [calls, more] = [last['tool_calls'], next['tool_calls']] as readonly (readonly Data[])[]
  const [one, other] = [calls?.[0], more?.[0]]
  if (calls?.length !== 1 || more?.length !== 1 || one?.['index'] !== other?.['index']) return undefined
  if (textIn(other, 'id') !== undefined) return undefined
  const [before, behind] = [dataIn(one, 'function'), dataIn(other, 'function')]
  const text = (textIn(before, 'arguments') ?? '') + (textIn(behind, 'arguments') ?? '')
  return { ...last, tool_calls: [{ ...one, function: { ...before, arguments: text } }] }
}

function countTokens(usage: Data | undefined, input: string, output: string): TokenUsage {
  return {
    input: tokens(usage?.[input]),
    cachedInput: tokens(dataIn(usage, `${input}_details`)?.['cached_tokens']),
    cacheWrite: 0,
    output: tokens(usage?.[output]),
    reasoning: tokens(dataIn(usage, `${output}_details`)?.['reasoning_tokens']),
  }
}
