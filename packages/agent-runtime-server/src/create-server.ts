import {
  ConfigError,
  flagRule,
  functionRule,
  isRecord,
  problemsIn,
  type Rules,
  RuntimeError,
} from '@ku0/agent-runtime-core'
import { Gate } from './access/gate.ts'
import { hostsOf, isLoopback } from './access/names.ts'
import { TokenBook } from './access/tokens.ts'
import { buildApi } from './api.ts'
import { BulkActions } from './bulk/bulk-actions.ts'
import { consoleAnswer } from './console-assets.ts'
import { limitsOf } from './limits.ts'
import type { Served, ServerOptions } from './options.ts'
import { addProbes } from './probes.ts'
import { problemOf } from './problem/problem.ts'
import type { Serving } from './serving.ts'
import { RecentEvents } from './streams/recent-events.ts'
import { Streams } from './streams/streams.ts'
import { system } from './system.ts'
import { toJsonWith } from './wire/answer.ts'
import { redactionOf } from './wire/redaction.ts'

/** A server without a port: give it requests. */
export interface Server {
  /** Answers a request of the Web standard. It never rejects: what goes wrong is an answer, too. */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * Refuses new requests, ends the streams with an id to go on from, and resolves when the open requests are answered, or after
   * `drainMs`. The runtime stays as it is.
   */
  readonly close: () => Promise<void>
}

/**
 * The HTTP API of a runtime: mount `fetch` in a program's own server, or give it a port with {@link serve}. Without tokens it answers to
 * the names of loopback only. Throws a `ConfigError` that names every bad option. Source: `docs/http-api.md`.
 *
 *     const server = createServer(runtime)
 *     const answer = await server.fetch(new Request('http://localhost/api/v1/tasks'))
 */
export function createServer(runtime: Served, options: ServerOptions = {}): Server {
  assertOptions(options)
  const { environment = system, onError = () => {} } = options
  const limits = limitsOf(options.limits)
  const tokens = new TokenBook(options.tokens ?? [])
  const hosts = hostsOf(options.hosts)
  const open = [...hosts].filter((host) => !isLoopback(host))
  if (tokens.isEmpty && (open.length > 0 || options.exposed === true))
    throw new ConfigError([
      {
        path: 'tokens',
        allowed: 'at least one token for a server that is reached under other names than those of loopback',
        given: options.tokens,
      },
    ])
  const gate = new Gate({ hosts, tokens, limits, clock: environment.clock })
  const streams = new Streams(limits, environment)
  const serving: Serving = {
    runtime,
    limits,
    environment,
    streams,
    recent: new RecentEvents(runtime, environment, limits.maxRecentEvents),
    bulk: new BulkActions(limits, streams.closing),
    toJson: toJsonWith(redactionOf(options.redact)),
    report: onError,
  }
  const api = buildApi(serving)
  addProbes(api, serving, options.exposed === true)
  const underWay = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  async function answer(request: Request): Promise<Response> {
    const caller = gate.pass(request)
    const { pathname } = new URL(request.url)
    if (options.console !== undefined && request.method === 'GET' && !pathname.startsWith('/api/')) {
      const page = consoleAnswer(options.console, pathname)
      if (page !== undefined) return page
    }
    return api.fetch(request, { caller })
  }

  async function close(): Promise<void> {
    streams.close()
    serving.recent.close()
    const drained = Promise.withResolvers<void>()
    const timer = environment.timers.after(limits.drainMs, drained.resolve)
    await Promise.race([Promise.allSettled(underWay), drained.promise])
    timer.cancel()
  }

  return {
    async fetch(request) {
      if (closing !== undefined) return guarded(stopping())
      const answering = answer(request).catch((error: unknown) => {
        const problem = problemOf(error)
        if (problem.body.status === 500) onError(error)
        return problem.toResponse()
      })
      underWay.add(answering)
      try {
        return guarded(await answering)
      } finally {
        underWay.delete(answering)
      }
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** The headers that every answer has. */
function guarded(response: Response): Response {
  const { headers } = response
  headers.set('x-content-type-options', 'nosniff')
  headers.set('referrer-policy', 'no-referrer')
  headers.set('cross-origin-resource-policy', 'same-origin')
  if (!headers.has('content-security-policy')) headers.set('content-security-policy', dataPolicy)
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  return response
}

/** Answers are data: a browser that shows one runs nothing and loads nothing. */
const dataPolicy = "default-src 'none'; frame-ancestors 'none'"

function stopping(): Response {
  const problem = problemOf(new RuntimeError('shutdown', 'the server is stopping'))
  return problem.toResponse()
}

function assertOptions(given: unknown): asserts given is ServerOptions {
  if (!isRecord(given))
    throw new ConfigError([{ path: 'options', allowed: 'an object, such as { tokens }', given }])
  // What was given stays out of the message: a token may be in it.
  const problems = problemsIn(given, rules).map(({ path, allowed }) => ({ path, allowed }))
  if (problems.length > 0) throw new ConfigError(problems)
}

const list = ['a list', (value: unknown) => Array.isArray(value)] as const
const object = ['an object', (value: unknown) => typeof value === 'object' && value !== null] as const
const rules: Rules<ServerOptions> = {
  tokens: list,
  hosts: list,
  exposed: flagRule,
  limits: object,
  redact: list,
  console: object,
  onError: functionRule,
  environment: object,
}
