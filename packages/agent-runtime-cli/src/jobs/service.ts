import { describeError } from '@ku0/agent-runtime-core'
import { realSystem } from '../system.ts'

/** A service could not be reached, refused a request, or answered what no job can be known by. */
export class JobTargetError extends Error {
  static {
    this.prototype.name = 'JobTargetError'
  }

  /** The HTTP status of a refusal. Undefined if there was no answer. */
  readonly status: number | undefined

  constructor(message: string, options: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.status = options.status
  }
}

/** A request to a service, as it is sent. */
export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  /** The JSON text that is sent. Undefined if nothing is. */
  readonly body: string | undefined
}

/** The common part of the targets that call a service over HTTP. */
export interface ServiceOptions {
  /** The headers that authenticate a request: a token that is still valid, or a signature of the request. It is called before each request. */
  readonly headers?: ((request: ServiceRequest) => Headers | Promise<Headers>) | undefined
  /** How long the service may take to answer, in ms; 30 000 by default. */
  readonly timeoutMs?: number | undefined
}

type Headers = Readonly<Record<string, string>>

/** The answer of a service: the status, the headers and the JSON of the body, if there is one. */
export interface Answer {
  readonly status: number
  readonly header: (name: string) => string | null
  readonly body: unknown
}

/** Sends a request to a service. Rejects if it does not answer, or refuses; 404 is an answer: the job is gone. */
export async function callService(
  service: string,
  { headers, timeoutMs = 30_000 }: ServiceOptions,
  method: ServiceRequest['method'],
  url: string,
  json?: unknown,
): Promise<Answer> {
  const body = json === undefined ? undefined : JSON.stringify(json)
  const given = (await headers?.({ method, url, body })) ?? {}
  const sent = within(timeoutMs, async (signal) => {
    const response = await fetch(url, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...given },
      signal,
      ...(body === undefined ? {} : { body }),
    })
    return { response, text: await response.text() }
  })
  const { response, text } = await sent.catch((error: unknown) => {
    throw unreached(service, method, url, error)
  })
  const { status } = response
  return answered(service, method, url, { status, header: (name) => response.headers.get(name), text })
}

/** Runs a request, and aborts it when it lasts too long. */
export async function within<Result>(
  timeoutMs: number,
  send: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController()
  const isOver = new AbortController()
  const giveUp = async () => {
    await realSystem.sleep(timeoutMs, isOver.signal)
    if (!isOver.signal.aborted) late.abort(new Error(`no answer within ${timeoutMs} ms`))
  }
  void giveUp()
  try {
    return await send(late.signal)
  } finally {
    isOver.abort()
  }
}

/** The answer of a service, if it is no refusal. */
export function answered(
  service: string,
  method: string,
  url: string,
  { status, header, text }: Omit<Answer, 'body'> & { readonly text: string },
): Answer {
  if (status >= 400 && status !== 404)
    throw new JobTargetError(`${service} refused ${method} ${url}: ${status} ${text.slice(0, 500)}`, {
      status,
    })
  return { status, header, body: parsed(text) }
}

export function unreached(service: string, method: string, url: string, error: unknown): JobTargetError {
  const why = describeError(error instanceof Error && error.cause !== undefined ? error.cause : error).message
  return new JobTargetError(
    `${service} could not be reached for ${method} ${url}: ${why}. Check the URL and the network; the task stays queued.`,
    { cause: error },
  )
}

/** The text at a path of an answer. Undefined if there is none. */
export function textAt(body: unknown, ...path: readonly string[]): string | undefined {
  const found = valueAt(body, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** The value at a path of an answer. */
export function valueAt(body: unknown, ...path: readonly string[]): unknown {
  let at = body
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined
    at = (at as Readonly<Record<string, unknown>>)[key]
  }
  return at
}

/** The id of a job that a service has started. Throws if the answer of the service names none. */
export function idOf(service: string, id: string | undefined, what: string): string {
  if (id !== undefined) return id
  throw new JobTargetError(
    `${service} answered without ${what}, so the job cannot be asked for. If it has started, it takes a task all the same.`,
  )
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return text
  }
}
