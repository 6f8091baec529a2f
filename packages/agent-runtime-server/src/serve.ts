import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { ConfigError } from '@ku0/agent-runtime-core'
import { isLoopback, isWildcard } from './access/names.ts'
import { createServer, type Server } from './create-server.ts'
import { limitsOf } from './limits.ts'
import type { Served, ServerOptions } from './options.ts'
import { system } from './system.ts'

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
  const { port = 7007, host = '127.0.0.1', ...rest } = options
  const isOwn = isLoopback(host)
  if (isWildcard(host) && (rest.hosts ?? []).length === 0)
    throw new ConfigError([
      {
        path: 'hosts',
        allowed: `the names under which a server on ${host} is reached, such as tasks.example.com`,
        given: rest.hosts,
      },
    ])
  const hosts = [...(rest.hosts ?? []), ...(isOwn || isWildcard(host) ? [] : [host])]
  const server = createServer(runtime, { ...rest, hosts, exposed: !isOwn })
  const limits = limitsOf(options.limits)
  const listening = createAdaptorServer({
    fetch: (request) => server.fetch(request),
    overrideGlobalObjects: false,
    serverOptions: {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.bodyTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs),
    },
  }) as HttpServer
  listening.maxConnections = limits.maxConnections
  listening.listen(port, host)
  await once(listening, 'listening')
  const taken = (listening.address() as AddressInfo).port
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    const closed = once(listening, 'close')
    listening.close()
    await server.close()
    // Answers that are still on their way out end their connections themselves.
    listening.closeIdleConnections()
    const { timers } = rest.environment ?? system
    const rude = timers.after(limits.drainMs, () => listening.closeAllConnections())
    await closed
    rude.cancel()
  }

  return {
    fetch: server.fetch,
    port: taken,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () => (closing ??= close()),
  }
}
