import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** Events of a stream, each the lines of one. */
  readonly events?: readonly string[]
  /** The connection is cut behind them. */
  readonly breaks?: boolean
}

/** A request as a provider gets it. */
interface Asked {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Readonly<Record<string, unknown>>
}

/** A model's server on a free port of this machine. Its replies are given one after the other, the last of them again and again. */
export async function startProvider(...replies: readonly Reply[]) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const read = async () => {
      const text = (await request.toArray()).join('')
      asked.push({
        path: request.url ?? '',
        headers: request.headers,
        body: JSON.parse(text) as Asked['body'],
      })
      const {
        status = 200,
        headers,
        json,
        events,
        breaks,
      } = replies[asked.length - 1] ?? replies.at(-1) ?? {}
      const type = events === undefined ? 'application/json' : 'text/event-stream'
      response.writeHead(status, { 'content-type': type, ...headers })
      for (const event of events ?? []) response.write(`${event}\n\n`)
      if (breaks === true) response.destroy()
      else response.end(events === undefined ? JSON.stringify(json) : '')
    }
    void read()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
