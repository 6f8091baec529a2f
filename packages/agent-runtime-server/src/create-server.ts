import type { RequestListener } from 'node:http'
import { createDesk } from './desk.ts'
import type { Served, ServerOptions } from './options.ts'
import { listenerOf } from './wire/node.ts'
import { incomingOf, responseOf } from './wire/web.ts'

/** A server without a port: give it requests. */
export interface Server {
  /** Answers a request of the Web standard. It never rejects: what goes wrong is an answer, too. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same for a program's own server of Node or Express: it answers each request that it is given, under its whole path. */
  readonly listener: RequestListener
  /**
   * Refuses new requests, ends the streams with an id to go on from, and resolves when the open requests are answered, or after
   * `drainMs`. The runtime stays as it is.
   */
  readonly close: () => Promise<void>
}

/**
 * The HTTP API of a runtime: mount `fetch` or `listener` in a program's own server, or give it a port with {@link serve}. Without tokens it answers to
 * the names of loopback only. Throws a `ConfigError` that names every bad option. Source: `docs/http-api.md`.
 *
 *     const server = createServer(runtime)
 *     const answer = await server.fetch(new Request('http://localhost/api/v1/tasks'))
 */
export function createServer(runtime: Served, options: ServerOptions = {}): Server {
  const desk = createDesk(runtime, options)
  return {
    fetch: async (request) => responseOf(await desk.handle(incomingOf(request)), request.method),
    listener: listenerOf(desk.handle, desk.limits.maxBodyBytes, options.onError ?? (() => {})),
    close: desk.close,
  }
}
