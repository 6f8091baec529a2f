import { ConfigError, type ConfigProblem, isRecord, type Timers } from '@ku0/agent-runtime-core'
import { systemEnvironment } from '../system.ts'
import { GatewayRefused, GatewayUnreachable } from './errors.ts'
import type { Gateway, GatewayResult, GatewaySession } from './gateway.ts'
import { serverEvents } from './server-events.ts'

/** Options of {@link gateway}. */
export interface HttpGatewayOptions {
  /** Where the gateway is: `https://agents.example/v1`. The paths of the protocol are below it. */
  readonly url: string | URL
  /** Sent as a bearer token; called for each request if it is a function. */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** A gateway that says nothing for so long is unreachable; 60 000 ms by default. */
  readonly silentMs?: number | undefined
  /** Sends a request; `fetch` by default. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
}

/** A gateway over HTTP. Source: `docs/gateway.md`. Throws {@link ConfigError} naming every option that is wrong. */
export function gateway(options: HttpGatewayOptions): Gateway {
  return new HttpGateway(checked(options), systemEnvironment.timers)
}

class HttpGateway implements Gateway {
  readonly #base: string
  readonly #where: string
  readonly #token: HttpGatewayOptions['token']
  readonly #silentMs: number
  readonly #fetch: (request: Request) => Promise<Response>
  readonly #timers: Timers

  constructor({ url, token, silentMs = 60_000, fetch: send }: HttpGatewayOptions, timers: Timers) {
    const at = new URL(url)
    this.#base = `${at.origin}${at.pathname.replace(/\/+$/, '')}`
    this.#where = `at ${this.#base}`
    this.#token = token
    this.#silentMs = silentMs
    this.#fetch = send ?? ((request) => fetch(request))
    this.#timers = timers
  }

  async createSession(
    { sessionId, userId, workspaceDir }: GatewaySession,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<void> {
    await this.#within(signal, async (watch) => {
      const path = `/sessions/${encodeURIComponent(sessionId)}`
      const answer = await this.#send('PUT', path, watch, { userId, workspaceDir })
      await answer.body?.cancel()
    })
  }

  async runQuery(...[session, request, options]: Parameters<Gateway['runQuery']>): Promise<GatewayResult> {
    return this.#within(options.signal, async (watch) => {
      const { runId, userInput, maxIterations } = request
      const { after } = options
      const send = () =>
        this.#send('PUT', pathOf(session, runId), watch, { userInput, maxIterations }, after, [404])
      let answer = await send()
      if (answer.status === 404) {
        // It has lost the session, as after a restart.
        await answer.body?.cancel()
        await this.createSession(session, options)
        answer = await send()
      }
      if (answer.status === 404)
        throw new GatewayRefused(this.#where, 'knows no such session', { status: 404 })
      if (!isStream(answer) || answer.body === null)
        throw new GatewayRefused(this.#where, 'answers with no stream of events: check the URL')
      for await (const { type, data, id } of serverEvents(answer.body, watch.heard)) {
        if (type === 'result') return resultOf(this.#where, data)
        await options.onEvent({ id: Number(id), type, data: jsonOf(this.#where, data) })
      }
      throw new GatewayUnreachable(this.#where, 'its stream ended before the result')
    })
  }

  async cancel(session: GatewaySession, runId: string): Promise<void> {
    await this.#within(new AbortController().signal, async (watch) => {
      const answer = await this.#send('DELETE', pathOf(session, runId), watch, undefined, undefined, [404])
      await answer.body?.cancel()
    })
  }

  /** Whatever fails on the way is the gateway's fault, unless the caller has to stop or the answer is refused. */
  async #within<T>(signal: AbortSignal, ask: (watch: Watch) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const silence = new AbortController()
    const arm = () => this.#timers.after(this.#silentMs, () => silence.abort())
    let timer = arm()
    const heard = () => {
      timer.cancel()
      timer = arm()
    }
    try {
      return await ask({ heard, signal: AbortSignal.any([signal, silence.signal]) })
    } catch (error) {
      signal.throwIfAborted()
      if (silence.signal.aborted)
        throw new GatewayUnreachable(this.#where, `it said nothing for ${this.#silentMs} ms`)
      if (error instanceof TypeError) throw new GatewayUnreachable(this.#where, wordsOf(error))
      throw error
    } finally {
      timer.cancel()
    }
  }

  async #send(
    method: 'PUT' | 'DELETE',
    path: string,
    { signal }: Watch,
    body?: unknown,
    after?: number,
    expected: readonly number[] = [],
  ): Promise<Response> {
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token
    const answer = await this.#fetch(
      new Request(`${this.#base}${path}`, {
        method,
        signal,
        headers: {
          accept: 'text/event-stream, application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(after === undefined ? {} : { 'last-event-id': String(after) }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    const { status } = answer
    if (answer.ok || expected.includes(status)) return answer
    const said = await messageIn(answer)
    if (status >= 500 || passing.has(status))
      throw new GatewayUnreachable(this.#where, `it answers with status ${status}${said}`)
    throw new GatewayRefused(this.#where, `refuses the request with status ${status}${said}`, { status })
  }
}

/** One request that is under way. */
interface Watch {
  readonly signal: AbortSignal
  /** Something came. */
  readonly heard: () => void
}

/** Time-outs, and a gateway that has too much to do. */
const passing: ReadonlySet<number> = new Set([408, 425, 429])

function pathOf({ sessionId }: GatewaySession, runId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}/runs/${encodeURIComponent(runId)}`
}

function isStream(answer: Response): boolean {
  return answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

/** The field `message` of a JSON answer, as far as there is one. */
async function messageIn(answer: Response): Promise<string> {
  try {
    const body: unknown = JSON.parse(await answer.text())
    const message = isRecord(body) ? body['message'] : undefined
    return typeof message === 'string' ? `: ${message.slice(0, 500)}` : ''
  } catch {
    return ''
  }
}

function jsonOf(where: string, data: string): unknown {
  try {
    return JSON.parse(data) as unknown
  } catch {
    throw new GatewayRefused(where, 'sends an event whose data is no JSON')
  }
}

function resultOf(where: string, data: string): GatewayResult {
  const it = jsonOf(where, data)
  if (isRecord(it) && typeof it['success'] === 'boolean') {
    const { success, output, error, usage } = it
    return {
      success,
      ...(output === undefined ? {} : { output }),
      ...(typeof error === 'string' ? { error } : {}),
      ...(isRecord(usage) ? { usage } : {}),
    }
  }
  throw new GatewayRefused(where, 'sends a result without the field success, true or false')
}

/** The platform hides why a connection failed in the causes of its error. */
function wordsOf(error: TypeError): string {
  const cause = error.cause as { readonly code?: unknown; readonly message?: unknown } | undefined
  const why = typeof cause?.code === 'string' ? cause.code : cause?.message
  return typeof why === 'string' && why !== '' ? why : error.message
}

function checked(options: HttpGatewayOptions): HttpGatewayOptions {
  const problems: ConfigProblem[] = []
  const refuse = (path: string, allowed: string, ...[given]: readonly unknown[]) =>
    problems.push(given === undefined ? { path, allowed } : { path, allowed, given })
  if (!isRecord(options)) {
    refuse('gateway', "{ url: 'https://agents.example/v1' }", options)
    throw new ConfigError(problems)
  }
  const { url, token, silentMs, fetch: send } = options
  for (const name of Object.keys(options))
    if (!['url', 'token', 'silentMs', 'fetch'].includes(name))
      refuse(`gateway option ${name}`, 'one of url, token, silentMs and fetch')
  const parsed = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username + parsed.password !== '')
    refuse('gateway option url', 'an http: or https: URL without a user name; a secret goes into token')
  if (token !== undefined && typeof token !== 'string' && typeof token !== 'function')
    refuse('gateway option token', 'a text, or a function that returns one')
  if (silentMs !== undefined && !(Number.isFinite(silentMs) && silentMs >= 1))
    refuse('gateway option silentMs', 'a number of ms, 1 or more', silentMs)
  if (send !== undefined && typeof send !== 'function')
    refuse('gateway option fetch', 'a function that takes a Request and returns a Response', send)
  if (problems.length > 0) throw new ConfigError(problems)
  return options
}
