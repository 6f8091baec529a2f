// A run gateway: the protocol of docs/gateway.md on node:http. It keeps sessions and runs in memory.
import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { agent } from './agent.ts'
import { Run } from './run.ts'

const SessionBody = z.strictObject({ userId: z.string(), workspaceDir: z.string() })
const RunBody = z.strictObject({ userInput: z.string(), maxIterations: z.int().min(1) })
const maxBodyBytes = 1_000_000

/** A server that still has to listen. `token`: what a request has to bring. */
export function gatewayServer({ token, work = agent }: { token: string; work?: typeof agent }): Server {
  const sessions = new Map<string, Map<string, Run>>()
  return createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const status = error instanceof z.ZodError || error instanceof SyntaxError ? 400 : 500
      refuse(response, status, status === 400 ? (error as Error).message : 'the gateway failed')
    })
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isAllowed(request)) return refuse(response, 401, 'a bearer token is needed')
    const { method, url = '' } = request
    const [, version, kind, session = '', runs, run = '', ...more] = new URL(url, 'http://gateway').pathname
      .split('/')
      .map(decodeURIComponent)
    if (version !== 'v1' || kind !== 'sessions' || session === '' || more.length > 0)
      return refuse(response, 404, 'there is no such path')
    if (runs === undefined && method === 'PUT') {
      SessionBody.parse(await bodyOf(request))
      if (!sessions.has(session)) sessions.set(session, new Map())
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      return
    }
    const known = sessions.get(session)
    if (known === undefined) return refuse(response, 404, 'there is no such session')
    if (runs === undefined && method === 'DELETE') {
      for (const it of known.values()) it.cancel()
      sessions.delete(session)
      response.writeHead(204).end()
      return
    }
    if (runs !== 'runs' || run === '') return refuse(response, 404, 'there is no such path')
    if (method === 'PUT') {
      const body = RunBody.parse(await bodyOf(request))
      // One that ended without success is started anew; any other is joined.
      const joined = known.get(run)
      const it = joined === undefined || joined.result?.success === false ? new Run(work, body) : joined
      known.set(run, it)
      it.follow(response, it === joined ? Number(request.headers['last-event-id'] ?? 0) : 0)
      return
    }
    if (method !== 'DELETE') return refuse(response, 405, 'PUT or DELETE')
    const running = known.get(run)
    running?.cancel()
    response.writeHead(running === undefined ? 404 : 204).end()
  }

  function isAllowed({ headers }: IncomingMessage): boolean {
    const [given, asked] = [headers.authorization ?? '', `Bearer ${token}`].map((it) => Buffer.from(it))
    return given?.length === asked?.length && timingSafeEqual(given as Buffer, asked as Buffer)
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBodyBytes) throw new SyntaxError(`the body has more than ${maxBodyBytes} bytes`)
    parts.push(part)
  }
  return JSON.parse(Buffer.concat(parts).toString())
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }))
}
