import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, request as requestTo } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createServer, serve, type ServeOptions } from '../src/index.ts'
import { servedRuntime, token } from './served.ts'

const runtime = await servedRuntime()

async function served(options: ServeOptions = {}) {
  const server = await serve(runtime, { port: 0, ...options })
  onTestFinished(() => server.close())
  return server
}

test('a server listens on loopback, and answers over a socket', async () => {
  const { url, port } = await served()
  expect(url).toBe(`http://127.0.0.1:${port}`)
  const answer = await fetch(`${url}/api/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ task: 'add', input: { a: 1, b: 2 } }),
  })
  expect([answer.status, await answer.json()]).toMatchObject([201, { accepted: true }])
})

test('X01 an address that others reach needs tokens, and one for all addresses its names', async () => {
  const tokens = [token('secret', ['admin'])]
  await expect(serve(runtime, { port: 0, host: '0.0.0.0', tokens })).rejects.toThrow(/hosts: the names/)
  await expect(serve(runtime, { port: 0, host: '::', hosts: ['x'] })).rejects.toThrow(/tokens: at least one/)
  const { port } = await served({ host: '0.0.0.0', hosts: ['tasks.example.com'], tokens })
  expect((await fetch(`http://127.0.0.1:${port}/api/v1/tasks`)).status).toBe(401)
  const authorization = 'Bearer secret'
  expect((await fetch(`http://127.0.0.1:${port}/api/v1/tasks`, { headers: { authorization } })).status).toBe(
    200,
  )
})

test('G13 slow headers and headers that are too large end the connection', async () => {
  const patient = await served({ limits: { maxHeaderBytes: 2_000 } })
  const hasty = await served({ limits: { headersTimeoutMs: 200 } })
  const slow = connect(hasty.port, '127.0.0.1')
  slow.write('GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n')
  expect(await text(slow)).toMatch(/^HTTP\/1\.1 408 /)
  const large = connect(patient.port, '127.0.0.1')
  large.write(`GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(4_000)}\r\n\r\n`)
  expect(await text(large)).toMatch(/^HTTP\/1\.1 431 /)
})

test('a program that asks before it sends its body learns at once that it is too large', async () => {
  const { url } = await served({ limits: { maxBodyBytes: 100 } })
  const ask = (body: string) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      expect: '100-continue',
    }
    const asked = requestTo(`${url}/api/v1/tasks`, { method: 'POST', headers })
    const heard: string[] = []
    asked.on('continue', () => {
      heard.push('continue')
      asked.end(body)
    })
    asked.flushHeaders()
    return once(asked, 'response').then(([answer]) => {
      asked.destroy()
      return [...heard, (answer as IncomingMessage).statusCode]
    })
  }
  expect(await ask('x'.repeat(1_000_000))).toEqual([413])
  expect(await ask('{"task":"add","input":{"a":1,"b":2}}')).toEqual(['continue', 201])
})

test.each([
  ['without a token', 401, 'POST /api/v1/tasks', ''],
  ['on a path that is none', 404, 'POST /api/v1/nothing', 'Authorization: Bearer secret\r\n'],
  ['with another type', 415, 'POST /api/v1/tasks', 'Authorization: Bearer secret\r\n'],
])(
  'a refusal %s of a program that asks first ends the connection, so that no request is taken for the body',
  async (...given) => {
    const [, status, target, headers] = given
    const { port } = await served({ tokens: [token('secret', ['admin'])] })
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `${target} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Type: text/plain\r\nContent-Length: 40\r\nExpect: 100-continue\r\n\r\n`,
    )
    const answer = await text(socket)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
  },
)

test('a body that is announced as too large is refused before it comes', async () => {
  const { port } = await served({ limits: { maxBodyBytes: 100 } })
  const socket = connect(port, '127.0.0.1')
  socket.write(
    'POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{',
  )
  const [first] = (await once(socket, 'data')) as [Buffer]
  expect(String(first)).toMatch(/^HTTP\/1\.1 413 /)
  socket.destroy()
})

test('a body that does not come in time ends its connection, however long headers may take', async () => {
  const { port } = await served({ limits: { bodyTimeoutMs: 200 } })
  const socket = connect(port, '127.0.0.1')
  socket.write(
    'POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
  )
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /)
})

test('X17 so many connections are open at once, and the next one is closed', async () => {
  const { port } = await served({ limits: { maxConnections: 1 } })
  const first = connect(port, '127.0.0.1')
  onTestFinished(() => void first.destroy())
  first.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect(String((await once(first, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  expect(await text(connect(port, '127.0.0.1'))).toBe('')
})

test("the listener answers in a program's own server of Node, streams too", async () => {
  const server = createServer(runtime, { limits: { maxBodyBytes: 100 } })
  const own = createHttpServer((request, response) => {
    if (request.url === '/own') response.end('mine')
    else server.listener(request, response)
  }).listen(0, '127.0.0.1')
  onTestFinished(async () => {
    await server.close()
    own.close()
    own.closeAllConnections()
  })
  await once(own, 'listening')
  const url = `http://127.0.0.1:${(own.address() as AddressInfo).port}`
  expect(await (await fetch(`${url}/own`)).text()).toBe('mine')
  const post = (body: object) =>
    fetch(`${url}/api/v1/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  expect((await post({ task: 'add', input: 'x'.repeat(100) })).status).toBe(413)
  const submitted = await post({ task: 'add', input: { a: 1, b: 2 } })
  const { taskId } = (await submitted.json()) as { readonly taskId: string }
  const stream = await fetch(`${url}/api/v1/tasks/${taskId}/events`, {
    headers: { accept: 'text/event-stream' },
  })
  const events = await stream.text()
  expect(events).toContain('task.completed')
  expect(events).toContain('event: end')
})
