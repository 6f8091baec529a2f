import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'

const around = new AsyncLocalStorage<RequestWatch>()

/** Hears of the HTTP requests that code begins, by `fetch`, undici, `node:http` or `node:http2`. */
export class RequestWatch implements Disposable {
  #first: string | undefined
  #isOver = false
  readonly #channels = Object.entries(readers).map(([name, read]) => ({
    name,
    // A subscriber runs in the context of the code that begins the request.
    hear: (message: unknown) => {
      if (around.getStore() === this && !this.#isOver) this.#first ??= read(message as never)
    },
  }))

  constructor() {
    for (const { name, hear } of this.#channels) subscribe(name, hear)
  }

  /** The first request as `GET https://host/path`, without a query, which may hold a secret. */
  get first(): string | undefined {
    return this.#first
  }

  /** Calls `run`; what it begins, then and later, is heard. */
  during<T>(run: () => T): T {
    return around.run(this, run)
  }

  /** What is begun from now on does not count. */
  over(): void {
    this.#isOver = true
  }

  [Symbol.dispose](): void {
    for (const { name, hear } of this.#channels) unsubscribe(name, hear)
  }
}

/** What Node publishes at the beginning of a request, by channel. */
const readers: Readonly<Record<string, (message: never) => string>> = {
  'undici:request:create': ({ request }: Undici) => shown(request.method, request.origin, request.path),
  'http.client.request.start': ({ request }: Http) =>
    shown(request.method, `${request.protocol}//${request.getHeader('host') ?? request.host}`, request.path),
  'http2.client.stream.start': ({ headers }: Http2) =>
    shown(headers[':method'], `${headers[':scheme']}://${headers[':authority']}`, headers[':path']),
}

interface Undici {
  readonly request: { readonly method: string; readonly origin: string | URL; readonly path: string }
}

interface Http {
  readonly request: {
    readonly method: string
    readonly protocol: string
    readonly host: string
    readonly path: string
    getHeader(name: string): string | undefined
  }
}

interface Http2 {
  readonly headers: Readonly<Record<string, string>>
}

function shown(method = 'GET', origin: string | URL = '', path = '/'): string {
  return `${method} ${String(origin).replace(/\/$/, '')}${path.split('?')[0]}`
}
