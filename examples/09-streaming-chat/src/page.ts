import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client, Receipt } from '@ku0/agent-runtime'
import { readStream } from '@ku0/agent-runtime-ai'

const html = readFileSync(new URL('page.html', import.meta.url))

/** The chat as a page, on a free port of this machine: what is said comes as server-sent events, and goes as a signal. */
export async function servePage(client: Client, chat: Receipt) {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error)
      response.destroy()
    })
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url } = request
    if (method === 'GET' && url === '/') return response.setHeader('content-type', 'text/html').end(html)
    if (method === 'GET' && url === '/events') return sendEvents(response)
    if (method !== 'POST' || url !== '/message') return response.writeHead(404).end()
    const said = (await request.toArray()).join('').slice(0, 2_000)
    await client.signal(chat, 'message', said)
    return response.writeHead(204).end()
  }

  const sendEvents = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const send = (item: object) => response.write(`data: ${JSON.stringify(item)}\n\n`)
    // A browser that connects again gets all of it again: it begins with an empty page.
    send({ type: 'reset' })
    try {
      for await (const item of readStream(client.output(chat, { signal: gone.signal }))) send(item)
      send({ type: 'over' })
    } catch (error) {
      if (!gone.signal.aborted) throw error
    }
  }

  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}
