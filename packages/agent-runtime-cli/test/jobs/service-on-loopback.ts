import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
}

/** What the service answers to a request. */
interface Said {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** An HTTP server on a free port of this machine, or on a socket of a folder, that records what it is asked and answers by a table of `METHOD /path`. */
export async function serviceWith(answers: Readonly<Record<string, Said>>, socket?: string) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const text = Buffer.concat(parts).toString()
      asked.push({
        method,
        path: url,
        headers,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      })
      const { status = 200, headers: more = {}, body } = answers[`${method} ${url}`] ?? { status: 404 }
      response.writeHead(status, { 'content-type': 'application/json', ...more })
      response.end(body === undefined ? '' : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => {
    if (socket === undefined) server.listen(0, '127.0.0.1', resolve)
    else server.listen(socket, resolve)
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const port = socket === undefined ? (server.address() as AddressInfo).port : 0
  return { asked, url: `http://127.0.0.1:${port}`, server }
}
