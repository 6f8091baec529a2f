import { RuntimeError, type TaskContext } from '@ku0/agent-runtime'
import { type CallOptions, type ModelStep, modelStep } from './model-step.ts'
import { plain } from './plain.ts'
import type { LivePiece } from './stream-chunk.ts'
import { chargeTokens, type TokenUsage } from './token-usage.ts'

/** The call of a client as it is declared: without a stream, with one, and either. */
type ClientCall<Asked, Result, StreamBody, Events> = {
  (body: Asked, options?: never): PromiseLike<Result>
  (body: StreamBody, options?: never): PromiseLike<Events>
  (body: never, options?: never): unknown
}

/** The same as a durable call: what comes is plain data. */
export type DurableCreate<Call> =
  Call extends ClientCall<infer Asked, infer Result, infer StreamBody, infer Events>
    ? {
        (body: Asked, options?: RequestOptions): Promise<Result>
        (body: StreamBody, options?: RequestOptions): Promise<AsyncIterable<ItemOf<Events>>>
      }
    : never

type ItemOf<Events> = Events extends AsyncIterable<infer Item> ? Item : never

/** The options of a request besides its body; the rest is the runtime's: who tries again, and when. */
export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
}

type Body = Readonly<Record<string, unknown>>
/** An event of a stream, or a part of it, as plain data. */
export type Data = Readonly<Record<string, unknown>>

/** The knowledge of one kind of call that is needed to store it, follow it and charge it. */
export interface Protocol {
  /** The body that is sent in place of `body`, so that a stream says what it used. */
  readonly prepare?: (body: Body) => Body
  /** Leaves out what the caller has not asked for. */
  readonly isAsked?: (event: Data, body: Body) => boolean
  /** Two neighbours as one; undefined where they have to stay two. */
  readonly join: (last: Data, next: Data) => Data | undefined
  readonly pieceOf: (event: Data) => LivePiece | undefined
  /** The error that a provider reports as an event. */
  readonly errorIn?: (event: Data) => Error | undefined
  /** Without such an event a stream has broken off. */
  readonly isEnd: (event: Data) => boolean
  /** The tokens that were used, by the result or by the events of a stream. */
  readonly usageOf: (said: readonly Data[]) => TokenUsage
}

/** The method of a client that makes a call, by its shape. */
export type Create = (body: never, options: never) => unknown

/** Makes each call of `create` a step of the task. */
export function durableCreate<Call>(
  ctx: TaskContext,
  create: Create,
  protocol: Protocol,
  options: CallOptions,
): DurableCreate<Call> {
  const durable = async (body: Body, { headers, signal }: RequestOptions = {}): Promise<unknown> => {
    const model = typeof body['model'] === 'string' ? body['model'] : 'the model'
    const isStream = body['stream'] === true
    const said = await modelStep(ctx, options, {
      model,
      input: () => plain(body),
      signal,
      run: async (step) => {
        // The runtime tries again, and waits as its store knows.
        const request = { maxRetries: 0, signal: step.signal, ...(headers === undefined ? {} : { headers }) }
        const asked = isStream ? (protocol.prepare?.(body) ?? body) : body
        if (isStream) step.live.start()
        const answer: unknown = await create(asked as never, request as never)
        const whole = isStream
          ? await collect(answer as AsyncIterable<unknown>, protocol, step)
          : [plain(answer) as Data]
        chargeTokens(step.step, protocol.usageOf(whole), options)
        return isStream ? whole.filter((event) => protocol.isAsked?.(event, body) ?? true) : whole
      },
    })
    return isStream ? eventsOf(said) : said[0]
  }
  return durable as unknown as DurableCreate<Call>
}

async function collect(
  events: AsyncIterable<unknown>,
  protocol: Protocol,
  { live }: ModelStep,
): Promise<Data[]> {
  const whole: Data[] = []
  let hasEnded = false
  for await (const given of events) {
    const event = plain(given) as Data
    const error = protocol.errorIn?.(event)
    if (error !== undefined) throw error
    live.push(protocol.pieceOf(event))
    hasEnded ||= protocol.isEnd(event)
    const last = whole.at(-1)
    const joined = last === undefined ? undefined : protocol.join(last, event)
    if (joined === undefined) whole.push(event)
    else whole[whole.length - 1] = joined
  }
  if (!hasEnded) throw new RuntimeError('handler_failed', 'the stream of the model broke off before its end')
  await live.end()
  return whole
}

async function* eventsOf(events: readonly Data[]): AsyncGenerator<Data, void> {
  yield* events
}

/** A part of data that is an object. */
export function dataIn(data: Data | undefined, key: string): Data | undefined {
  const value = data?.[key]
  return typeof value === 'object' && value !== null ? (value as Data) : undefined
}

export function textIn(data: Data | undefined, key: string): string | undefined {
  const value = data?.[key]
  return typeof value === 'string' ? value : undefined
}
