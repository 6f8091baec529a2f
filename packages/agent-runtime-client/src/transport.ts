import { ApiError, type ProblemBody, ServerUnreachable } from './errors.ts'
import type { HttpClientOptions } from './options.ts'
import { pause } from './system.ts'
import { withTimes } from './times.ts'

/** One request of a call. */
export interface Ask {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/api/v1`, with its parameters escaped. */
  readonly path: string
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** Whether it may be sent again; by default one that reads may. */
  readonly repeatable?: boolean
}

/** Parameters of a request; a list is separated by commas. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** Sends requests to one server. */
export class Transport {
  readonly #base: string
  readonly #token: HttpClientOptions['token']
  readonly #fetch: (request: Request) => Promise<Response>
  readonly #retries: number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>

  constructor(options: HttpClientOptions) {
    this.#base = baseOf(options.url)
    this.#token = options.token
    this.#fetch = options.fetch ?? ((request) => fetch(request))
    this.#retries = options.retries ?? 4
    this.pause = options.pause ?? pause
  }

  /** The JSON of the answer, with times as epoch ms; undefined where there is none. Throws an {@link ApiError}. */
  async json(ask: Ask): Promise<unknown> {
    const answer = await this.send(ask)
    if (answer.status === 204) return undefined
    const text = await answer.text()
    try {
      return withTimes(JSON.parse(text))
    } catch {
      throw new ApiError(strange(answer.status))
    }
  }

  /** A good answer. Throws an {@link ApiError} for any other. */
  async send(ask: Ask): Promise<Response> {
    const { method = 'GET', signal, repeatable = method === 'GET' } = ask
    for (let attempt = 0; ; attempt += 1) {
      const mayRepeat = repeatable && attempt < this.#retries
      try {
        const answer = await this.#once(ask, method)
        if (answer.ok) return answer
        const error = await errorOf(answer)
        if (!mayRepeat || !isPassing(error)) throw error
        await this.pause(error.retryAfterMs ?? waitOf(attempt), signal)
      } catch (error) {
        // Whatever is no answer is a connection that broke.
        if (error instanceof ApiError || signal?.aborted === true || !mayRepeat) throw error
        await this.pause(waitOf(attempt), signal)
      }
    }
  }

  async #reach(request: Request): Promise<Response> {
    try {
      return await this.#fetch(request)
    } catch (error) {
      // What fetch throws where no answer comes; the end of a signal is another error.
      throw error instanceof TypeError && !request.signal.aborted
        ? new ServerUnreachable(this.#base, error)
        : error
    }
  }

  async #once({ path, query = {}, body, headers, signal }: Ask, method: string): Promise<Response> {
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token
    return this.#reach(
      new Request(`${this.#base}/api/v1${path}${searchOf(query)}`, {
        method,
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    )
  }
}

/** The URL without the slash at its end. Throws a `TypeError` for one that `fetch` cannot ask. */
function baseOf(url: HttpClientOptions['url']): string {
  const text = String(url)
  if (!isHttp(text))
    throw new TypeError(
      `createHttpClient option url: the address of a server, such as http://localhost:7007; given ${JSON.stringify(text)}`,
    )
  return text.replace(/\/+$/, '')
}

function isHttp(text: string): boolean {
  try {
    return /^https?:$/.test(new URL(text).protocol)
  } catch {
    return false
  }
}

/** Ms before the next try. */
export function waitOf(attempt: number): number {
  return Math.min(10_000, 250 * 2 ** attempt)
}

/** Whether the same request may go well later. */
export function isPassing({ status, problem }: ApiError): boolean {
  return (status === 429 && !('receipt' in problem)) || status === 502 || status === 503 || status === 504
}

/** The error of an answer, which may also come from what stands between. */
async function errorOf(answer: Response): Promise<ApiError> {
  const { status } = answer
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  const text = await answer.text()
  return new ApiError(
    problemIn(text) ?? strange(status),
    Number.isFinite(seconds) ? seconds * 1_000 : undefined,
  )
}

function problemIn(text: string): ProblemBody | undefined {
  try {
    const body = JSON.parse(text) as Partial<ProblemBody> | null
    return typeof body?.code === 'string' && typeof body.detail === 'string'
      ? (body as ProblemBody)
      : undefined
  } catch {
    return undefined
  }
}

function strange(status: number): ProblemBody {
  const detail = `status ${status}, and no answer of the runtime's API: check the URL`
  return { type: 'about:blank', title: 'Not an answer of the API', status, detail, code: 'strange_answer' }
}

function searchOf(query: Query): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    // Labels may hold commas, so each is a parameter of its own.
    if (name === 'label' && typeof value === 'object') for (const item of value) search.append(name, item)
    else search.set(name, String(value))
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}
