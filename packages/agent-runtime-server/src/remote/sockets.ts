import { STATUS_CODES, type IncomingMessage, type Server as HttpServer } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Timers } from '@ku0/agent-runtime-core'
import { LINE_PATH } from '@ku0/agent-runtime-persistence/lines'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Desk } from '../desk.ts'
import { named, type NamedProblem, refusal } from '../problem/problem.ts'
import type { Surroundings } from '../system.ts'
import { type Incoming, pathOf } from '../wire/messages.ts'
import type { LineConnection } from './connection.ts'

/** Lets remote workers come over WebSockets. The request for one passes the same gate as every other. `report` gets the server's own faults. */
export function takeSockets(
  server: HttpServer,
  desk: Desk,
  maxFrameBytes: number,
  { timers, ids }: Surroundings,
  report: (error: unknown, instance: string) => void,
): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    clientTracking: false,
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    admit(request, socket, head).catch((error: unknown) => refuse(socket, named(error, ids, report)))
  })

  async function admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const incoming = incomingOf(request)
    if (pathOf(incoming) !== LINE_PATH) throw refusal('no_such_route', 'no WebSocket is offered at this path')
    const take = await desk.admitLine(incoming)
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const end = take(connectionOf(webSocket, timers))
      webSocket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) webSocket.close(1003)
        else end.heard(data.toString('utf8'))
      })
      webSocket.on('close', () => end.closed())
      // A close follows.
      webSocket.on('error', () => {})
    })
  }
}

function connectionOf(socket: WebSocket, timers: Timers): LineConnection {
  return {
    send: (text) => socket.send(text),
    get waiting() {
      return socket.bufferedAmount
    },
    hold(held) {
      if (held) socket.pause()
      else socket.resume()
    },
    close() {
      socket.close(1001)
      // Who does not answer a farewell is gone.
      timers.after(1_000, () => socket.terminate())
    },
  }
}

function incomingOf(request: IncomingMessage): Incoming {
  const { headers } = request
  return {
    method: 'GET',
    target: request.url ?? '/',
    authority: '',
    header: (name) => headers[name]?.toString() ?? null,
    isWhole: true,
    bytes: async () => new Uint8Array(),
    signal: new AbortController().signal,
  }
}

function refuse(socket: Duplex, { problem, instance }: NamedProblem): void {
  const { status, headers, body } = problem.toReply(instance)
  const text = typeof body === 'string' ? body : ''
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`,
  )
}
