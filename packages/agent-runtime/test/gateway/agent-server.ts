import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** A request as it came. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly after: string | undefined
  readonly token: string | undefined
  readonly body: unknown
}

/** What a server answers to a request; it may write in parts, and break off. */
export type Answer = (seen: Seen, response: ServerResponse, count: number) => void | Promise<void>

/** A server of the protocol whose answers a test decides. */
export async function agentServer(answer: Answer) {
  const seen: Seen[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const it = await take(request)
    seen.push(it)
    const alike = seen.filter(({ path, method }) => path === it.path && method === it.method)
    await answer(it, response, alike.length)
  }
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await new Promise<void>((ready) => server.once('listening', ready))
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    server.closeAllConnections()
    await new Promise<void>((closed) => server.close(() => closed()))
  }
  return { seen, url: `http://127.0.0.1:${port}/v1`, stop, [Symbol.asyncDispose]: stop }
}

async function take(request: IncomingMessage): Promise<Seen> {
  const { method = '', url = '', headers } = request
  const body = method === 'PUT' ? await json(request) : undefined
  return {
    method,
    path: url,
    after: headers['last-event-id'] as string | undefined,
    token: headers.authorization,
    body,
  }
}

/** A session is opened, a run streams these events. */
export function streams(events: readonly (readonly [type: string, data: unknown])[], from = 1): Answer {
  return (seen, response) => {
    if (!seen.path.includes('/runs/')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [index, [type, data]] of events.entries())
      response.write(`id: ${from + index}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
    response.end()
  }
}
