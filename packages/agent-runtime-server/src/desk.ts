import {
  ConfigError,
  flagRule,
  functionRule,
  isRecord,
  problemsIn,
  type Rules,
  RuntimeError,
} from '@ku0/agent-runtime-core'
import { linesOf } from '@ku0/agent-runtime-persistence/lines'
import { allows } from './access/caller.ts'
import { Gate, unauthenticated } from './access/gate.ts'
import { hostsOf, isLoopback } from './access/names.ts'
import { StoreTokens } from './access/store-tokens.ts'
import { TokenBook } from './access/tokens.ts'
import { TokenWatch } from './access/token-watch.ts'
import { buildApi, route } from './api.ts'
import { BulkActions } from './bulk/bulk-actions.ts'
import { storeCareOf } from './care/store-care.ts'
import { Verifications } from './care/verifications.ts'
import { consoleAnswer } from './console-assets.ts'
import { limitsOf, type ServerLimits } from './limits.ts'
import type { Served, ServerOptions } from './options.ts'
import { addProbes } from './probes.ts'
import { named, refusal } from './problem/problem.ts'
import type { LineConnection, LineEnd } from './remote/connection.ts'
import { LineHost, type LineHostParts } from './remote/line-host.ts'
import { PolledConnections } from './remote/polls.ts'
import { RequestWorkers } from './remote/request-workers.ts'
import { noReports } from './reports.ts'
import type { Serving } from './serving.ts'
import { RecentEvents } from './streams/recent-events.ts'
import { Streams } from './streams/streams.ts'
import { later, system } from './system.ts'
import { Turns } from './turns.ts'
import { UnderWay } from './under-way.ts'
import { toJsonWith } from './wire/answer.ts'
import { type Incoming, pathOf, type Reply } from './wire/messages.ts'
import { hidesMessages, redactionOf } from './wire/redaction.ts'

/** Answers requests, however they arrive. */
export interface Desk {
  /** Never rejects: what goes wrong is an answer, too. */
  readonly handle: (request: Incoming) => Promise<Reply>
  readonly close: () => Promise<void>
  readonly limits: ServerLimits
  /** Lets a request for a WebSocket through; what it gives takes the connection. Rejects with the problem that refuses it. */
  readonly admitLine: (request: Incoming) => Promise<(connection: LineConnection) => LineEnd>
}

/** The rules of a server, from the gate to the headers of each answer. Throws a `ConfigError` that names every bad option. */
export function createDesk(runtime: Served, options: ServerOptions, webSocket = false): Desk {
  assertOptions(options)
  const { environment = system, onError = () => {} } = options
  const lines = options.remoteWorkers && linesOf(options.remoteWorkers)
  const limits = limitsOf(options.limits, lines?.config.maxPayloadBytes)
  const tokens = new TokenBook(
    options.tokens === 'store'
      ? new StoreTokens({
          list: () => runtime.accessTokens.list(),
          clock: environment.clock,
          report: onError,
          mayBeOpen: () => !isReached,
        })
      : (options.tokens ?? []),
  )
  const hosts = hostsOf(options.hosts)
  const open = [...hosts].filter((host) => !isLoopback(host))
  const isReached = open.length > 0 || options.exposed === true
  if (tokens.isOpen && isReached)
    throw new ConfigError([
      {
        path: 'tokens',
        allowed: 'at least one token for a server that is reached under other names than those of loopback',
        given: options.tokens,
      },
    ])
  const gate = new Gate({ hosts, tokens, limits, clock: environment.clock })
  const watch = new TokenWatch({ tokens, everyMs: limits.keepAliveMs, environment, report: onError })
  const streams = new Streams(limits, environment, watch, onError)
  const host = hostOf(options, { limits, environment, watch, report: onError })
  const redact = redactionOf(options.redact)
  const serving: Serving = {
    runtime,
    limits,
    environment,
    streams,
    recent: new RecentEvents(runtime, environment, limits.maxRecentEvents),
    bulk: new BulkActions(limits, streams.closing),
    verifications: new Verifications(streams.closing, environment.timers, onError),
    storeCare: storeCareOf(runtime, options.storeUrl),
    turns: new Turns(later),
    reports: options.reports ?? noReports,
    remote:
      host === undefined
        ? undefined
        : { host, polled: new PolledConnections(host), workers: new RequestWorkers(host), webSocket },
    toJson: toJsonWith(redact),
    hidesMessages: hidesMessages(redact),
    redacts: (options.redact ?? []).length > 0,
    report: onError,
    readOnly: options.readOnly === true,
  }
  const api = buildApi(serving)
  addProbes(api, serving, { exposed: options.exposed === true, isReached })
  const kept = options.readOnly === true ? [] : [runtime.keepSeries(), runtime.keepRetention()]
  const underWay = new UnderWay()
  let closing: Promise<void> | undefined

  async function answer(request: Incoming): Promise<Reply> {
    const looking = tokens.refresh()
    if (looking !== undefined) await looking
    const caller = gate.pass(request)
    if (options.console !== undefined && (request.method === 'GET' || request.method === 'HEAD')) {
      const page = consoleAnswer(options.console, pathOf(request), request.header('accept'))
      if (page !== undefined) return page
    }
    return route(api, request, caller)
  }

  function refused(error: unknown): Reply {
    const { problem, instance } = named(error, environment.ids, onError)
    return guarded(problem.toReply(instance))
  }

  async function close(): Promise<void> {
    for (const it of kept) it[Symbol.dispose]()
    watch.close()
    streams.close()
    serving.remote?.workers.close()
    host?.close()
    serving.recent.close()
    const drained = Promise.withResolvers<void>()
    const timer = environment.timers.after(limits.drainMs, drained.resolve)
    const ends = [underWay.over(), serving.verifications.ended()]
    await Promise.race([Promise.allSettled(ends), drained.promise])
    timer.cancel()
  }

  return {
    limits,
    async handle(request) {
      if (closing !== undefined) return refused(stopping())
      underWay.begin()
      try {
        return guarded(await answer(request))
      } catch (error) {
        return refused(error)
      } finally {
        underWay.end()
      }
    },
    async admitLine(request) {
      await tokens.refresh()
      if (closing !== undefined) throw stopping()
      const caller = gate.pass(request)
      if (caller === undefined) throw unauthenticated('a line needs a token')
      if (!allows(caller, 'work')) throw refusal('forbidden', 'the token lacks the scope work')
      if (caller.client !== undefined)
        throw refusal(
          'forbidden',
          'the token is bound to a client, and a worker runs the tasks of all clients',
        )
      if (host === undefined || options.readOnly === true)
        throw refusal('no_remote_workers', 'this server takes no remote workers (the option remoteWorkers)')
      host.assertRoom()
      return (connection) => host.accept(connection, caller)
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

function hostOf(
  { remoteWorkers: store }: ServerOptions,
  parts: Omit<LineHostParts, 'store' | 'lines'>,
): LineHost | undefined {
  if (store === undefined) return undefined
  const lines = linesOf(store)
  if (lines === undefined)
    throw new ConfigError([
      { path: 'remoteWorkers', allowed: 'a store that was opened with openStore(url, { lines: true })' },
    ])
  return new LineHost({ store, lines, ...parts })
}

/** The headers that every answer has. */
function guarded({ status, headers, body }: Reply): Reply {
  return { status, headers: { ...guards, ...headers }, ...(body === undefined ? {} : { body }) }
}

const guards: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  // Answers are data: a browser that shows one runs nothing and loads nothing.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
}

function stopping(): RuntimeError {
  return new RuntimeError('shutdown', 'the server is stopping')
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
  tokens: [
    "'store', a list, or a function that gives one",
    (value) => value === 'store' || Array.isArray(value) || typeof value === 'function',
  ],
  readOnly: flagRule,
  hosts: list,
  exposed: flagRule,
  limits: object,
  redact: list,
  console: object,
  reports: object,
  storeUrl: ['the URL of a store', (value) => typeof value === 'string' && value !== ''],
  remoteWorkers: object,
  onError: functionRule,
  environment: object,
}
