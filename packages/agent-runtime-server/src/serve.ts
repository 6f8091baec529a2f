import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigError } from '@ku0/agent-runtime-core'
import { isLoopback, isWildcard } from './access/names.ts'
import type { Server } from './create-server.ts'
import { createDesk } from './desk.ts'
import type { Served, ServerOptions } from './options.ts'
import { takeSockets } from './remote/sockets.ts'
import { system } from './system.ts'
import { askedFirst, listenerOf } from './wire/node.ts'
import { UnderWay } from './under-way.ts'
import { incomingOf, responseOf } from './wire/web.ts'

/** Options of {@link serve}. */
export interface ServeOptions extends Omit<ServerOptions, 'exposed'> {
  /** 7007 by default; 0 takes a free one. */
  readonly port?: number | undefined
  /**
   * The address to listen on; `127.0.0.1` by default. Any other than those of loopback needs tokens. One that stands for all addresses,
   * such as `0.0.0.0`, needs `hosts`, too: the names under which the server is reached.
   */
  readonly host?: string | undefined
}

/** A server on a port. */
export interface ListeningServer extends Server {
  readonly port: number
  /** Where it is reached from this machine. */
  readonly url: string
}

/**
 * Puts the HTTP API of a runtime on a port of Node, and resolves once it listens. Rejects with a `ConfigError` that names every bad
 * option, and with the error of the system for a port that is taken. `close` refuses new connections, ends the streams with an id to go
 * on from, lets open requests end for up to `drainMs`, and then closes what is left. Source: `docs/http-api.md`.
 *
 *     const server = await serve(runtime, { port: 7007 })
 *     process.once('SIGTERM', () => server.close().then(() => runtime.close()))
 */
export async function serve(runtime: Served, options: ServeOptions = {}): Promise<ListeningServer> {
  const { port = 7007, host = defaultHost, ...rest } = options
  const isOwn = isLoopback(host)
  if (isReachedByOthers(options) && rest.tokens === 'store') await assertSomeToken(runtime, rest)
  const hosts = [...(rest.hosts ?? []), ...(isOwn || isWildcard(host) ? [] : [host])]
  const desk = createDesk(runtime, { ...rest, hosts, exposed: !isOwn }, true)
  const { limits } = desk
  // Headers are part of a request: Node refuses a time for them that is longer than that of the whole.
  const headersTimeout = Math.min(limits.headersTimeoutMs, limits.bodyTimeoutMs)
  const { environment = system, onError = () => {} } = rest
  const listener = listenerOf(desk.handle, limits.maxBodyBytes, onError)
  const listening = createHttpServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout,
      requestTimeout: limits.bodyTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
    },
    listener,
  )
  if (rest.remoteWorkers !== undefined)
    takeSockets(listening, desk, limits.maxLineFrameBytes, environment, onError)
  const open = new UnderWay()
  listening.prependListener('request', (_, response: ServerResponse) => {
    open.begin()
    response.once('close', () => open.end())
  })
  listening.on('checkContinue', (request, response) => {
    askedFirst(request, response)
    listening.emit('request', request, response)
  })
  listening.maxConnections = limits.maxConnections
  listening.listen(port, host)
  await once(listening, 'listening')
  const taken = (listening.address() as AddressInfo).port
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    const closed = once(listening, 'close')
    listening.close()
    await desk.close()
    const rude = environment.timers.after(limits.drainMs, () => listening.closeAllConnections())
    // Node takes the connection of an answer that was given to it, but is not sent yet, for an idle one.
    await open.over()
    listening.closeIdleConnections()
    await closed
    rude.cancel()
  }

  return {
    fetch: async (request) => responseOf(await desk.handle(incomingOf(request)), request.method),
    listener,
    port: taken,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () => (closing ??= close()),
  }
}

/**
 * Whether other machines reach a server with these options, so that it needs tokens. Throws a `ConfigError` for an address that stands for all of them without
 * the names under which the server is reached. It needs no store: ask it before one is made.
 */
export function isReachedByOthers({
  host = defaultHost,
  hosts = [],
}: Pick<ServeOptions, 'host' | 'hosts'>): boolean {
  if (isWildcard(host) && hosts.length === 0)
    throw new ConfigError([
      {
        path: 'hosts',
        allowed: `the names under which a server on ${host} is reached, such as tasks.example.com`,
        given: hosts,
      },
    ])
  return !isLoopback(host) || hosts.some((name) => typeof name === 'string' && !isLoopback(name))
}

const defaultHost = '127.0.0.1'

/** A server that nobody could use, because its store holds no token that is accepted, does not start. */
async function assertSomeToken(runtime: Served, { environment = system }: ServeOptions): Promise<void> {
  const now = environment.clock.now()
  const tokens = await runtime.accessTokens.list()
  if (tokens.some(({ revokedAt, expiresAt = now + 1 }) => revokedAt === undefined && expiresAt > now)) return
  throw new ConfigError([
    { path: 'tokens', allowed: 'at least one token in the store for a server that other machines reach' },
  ])
}
