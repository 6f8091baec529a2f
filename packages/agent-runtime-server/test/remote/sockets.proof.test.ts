import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { type Client, createClient, createWorker, definePipeline, defineTask } from '@ku0/agent-runtime'
import { openStore } from '@ku0/agent-runtime-persistence'
import { LINE_PATH, LINE_VERSION } from '@ku0/agent-runtime-persistence/lines'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { hashToken, type ListeningServer, serve, type ServerOptions } from '../../src/index.ts'

const token = 'a-token-of-thirty-two-characters'
const config = { leaseTtlMs: 30_000, heartbeatIntervalMs: 1_000 }
const double = defineTask({ type: 'double', input: z.object({ n: z.int() }) }, async (ctx, { n }) =>
  ctx.step('double', () => n * 2),
)

async function served(
  options: Partial<ServerOptions> = {},
  settings: object = config,
): Promise<{ readonly runtime: Client; readonly server: ListeningServer }> {
  const store = await openStore('sqlite::memory:', { lines: true, config: settings, checked: false })
  const runtime = await createClient({ store, config: settings, logger: false })
  const server = await serve(runtime, {
    port: 0,
    remoteWorkers: store,
    tokens: [{ name: 'worker', hash: hashToken(token), scopes: ['work'] }],
    ...options,
  })
  onTestFinished(async () => {
    await server.close()
    await runtime.close()
    await store.close()
  })
  return { runtime, server }
}

function work(url: string, given: string | undefined = token) {
  return createWorker({ store: url, token: given, tasks: [double], config, logger: false, telemetry: false })
}

test('a worker without a database runs tasks over a WebSocket', async () => {
  const { runtime, server } = await served()
  await using worker = await work(server.url)
  expect(worker.info).toMatchObject({ kind: 'memory', location: server.url })
  expect(await runtime.result(await runtime.submit(double, { n: 21 }))).toBe(42)
  expect(await runtime.workers()).toMatchObject([{ types: ['double'], processId: 'remote' }])
  await worker.stop()
  expect(await runtime.workers()).toEqual([])
})

test('13.2 a worker without a database runs the stages of a pipeline', async () => {
  const { runtime, server } = await served()
  const says = defineTask({ type: 'says', input: z.undefined() }, (ctx) => ctx.publishAll('n', [1, 2, 3]))
  const hears = defineTask({ type: 'hears', input: z.undefined() }, async (ctx) => {
    const first = await ctx.receive<number>(['n'], { max: 2 })
    const rest = await ctx.receive<number>(['n'])
    return [...first, ...rest].map(({ data }) => data)
  })
  const line = definePipeline({
    name: 'line',
    stages: [
      { name: 'says', task: says, publishes: { n: z.number() } },
      { name: 'hears', task: hears, subscribes: ['n'] },
    ],
  })
  const tasks = [line, says, hears]
  await using worker = await createWorker({
    store: server.url,
    token,
    tasks,
    config,
    logger: false,
    telemetry: false,
  })
  expect(worker.info.location).toBe(server.url)
  expect(await runtime.result(await runtime.submit(line, undefined))).toMatchObject({ hears: [1, 2, 3] })
})

/** The way to a server that lets no WebSocket through: it answers requests, and refuses to change the protocol. */
async function wayBetween(server: ListeningServer): Promise<string> {
  const pass = async (request: IncomingMessage, body: Buffer, response: ServerResponse) => {
    try {
      const answer = await fetch(server.url + request.url, {
        method: request.method ?? 'GET',
        headers: {
          authorization: request.headers.authorization ?? '',
          ...(body.length > 0 ? { 'content-type': 'application/json' } : {}),
        },
        ...(body.length > 0 ? { body } : {}),
      })
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(await answer.text())
    } catch {
      response.destroy()
    }
  }
  const between = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => void pass(request, Buffer.concat(chunks), response))
  })
  between.on('upgrade', (_, socket) =>
    socket.end('HTTP/1.1 426 Upgrade Required\r\nconnection: close\r\n\r\n'),
  )
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    between.close()
    between.closeAllConnections()
  })
  const { port } = between.address() as { readonly port: number }
  return `http://127.0.0.1:${port}`
}

test('where something on the way lets no WebSocket through, it polls', async () => {
  const { runtime, server } = await served()
  await using worker = await work(await wayBetween(server))
  expect(worker.info.kind).toBe('memory')
  const tasks = await Promise.all([1, 2, 3].map((n) => runtime.submit(double, { n })))
  expect(await Promise.all(tasks.map((task) => runtime.result(task)))).toEqual([2, 4, 6])
  await worker.stop()
})

test.each(['a WebSocket', 'polls'])(
  'a value as large as the store takes crosses a line of %s, also where it is more than may wait for a process that does not read',
  async (transport) => {
    const large = { ...config, maxPayloadBytes: 3_000_000 }
    const { runtime, server } = await served({ limits: { maxLineBufferBytes: 1_000_000 } }, large)
    const echo = defineTask({ type: 'echo', input: z.string() }, (_, text) => text)
    await using worker = await createWorker({
      store: transport === 'polls' ? await wayBetween(server) : server.url,
      token,
      tasks: [echo],
      config: large,
      logger: false,
      telemetry: false,
    })
    // Each quote is two bytes of JSON, four of a frame, and eight of a request that carries it.
    const text = '"'.repeat(1_400_000)
    expect(await runtime.result(await runtime.submit(echo, text))).toBe(text)
    await worker.stop()
  },
)

test('a worker without permission is refused by name', async () => {
  const { server } = await served({
    tokens: [
      { name: 'reader', hash: hashToken(token), scopes: ['read', 'submit'] },
      { name: 'acme', hash: hashToken(`${token}2`), scopes: ['work'], client: 'acme' },
    ],
  })
  await expect(work(server.url)).rejects.toThrow(/lacks the scope work/)
  await expect(work(server.url, `${token}2`)).rejects.toThrow(/bound to a client/)
  await expect(work(server.url, 'unknown')).rejects.toThrow(/unknown, revoked or expired/)
  await expect(work('http://127.0.0.1:9')).rejects.toThrow(/no server answers at http:\/\/127.0.0.1:9/)
})

test('X18 a fault of the server that refuses a WebSocket stands in its log under the name in the answer, and a refusal does not', async () => {
  const fault = new Error('the list of tokens is gone')
  const log: unknown[][] = []
  let tokens = () => [{ name: 'worker', hash: hashToken(token), scopes: ['work'] as const }]
  const { server } = await served({ tokens: () => tokens(), onError: (...told) => log.push(told) })
  const ask = async (given: string) => {
    const headers = {
      authorization: `Bearer ${given}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    }
    const [answer] = await once(get(server.url + LINE_PATH, { headers, agent: false }), 'response')
    return (await json(answer)) as { readonly status: number; readonly instance: string }
  }
  expect(await ask('unknown')).toMatchObject({ status: 401 })
  expect(log).toEqual([])
  tokens = () => {
    throw fault
  }
  const { status, instance } = await ask(token)
  expect([status, log]).toEqual([500, [[fault, instance]]])
})

test('a line that is open ends at the next beat once its token is revoked, and the process is refused by name', async () => {
  let tokens = [{ name: 'worker', hash: hashToken(token), scopes: ['work', 'read'] as const }]
  const { runtime, server } = await served({ tokens: () => tokens, limits: { keepAliveMs: 20 } })
  const worker = await work(server.url)
  await using client = await createClient({ store: server.url, token, config, logger: false })
  expect(await runtime.result(await runtime.submit(double, { n: 1 }))).toBe(2)
  tokens = []
  const read = async (): Promise<never> => {
    await client.workers()
    return read()
  }
  await expect(read()).rejects.toThrow(/unknown, revoked or expired/)
  const { taskId } = await runtime.submit(double, { n: 2 })
  expect(await runtime.status(taskId)).toMatchObject({ state: 'queued' })
  await worker.stop()
})

test('a token that is bound to task types runs and sees nothing else', async () => {
  const { server } = await served({
    tokens: [{ name: 'other', hash: hashToken(token), scopes: ['work'], types: ['review'] }],
  })
  await expect(work(server.url)).rejects.toThrow(/bound to the task types review, and double is none of them/)
})

test('a worker of another version is refused by name', async () => {
  const { server } = await served()
  const Socket = WebSocket as unknown as new (url: string, options: object) => WebSocket
  const socket = new Socket(server.url.replace('http', 'ws') + LINE_PATH, {
    headers: { authorization: `Bearer ${token}` },
  })
  const heard = Promise.withResolvers<string>()
  socket.addEventListener('message', ({ data }) => heard.resolve(String(data)))
  socket.addEventListener('open', () =>
    socket.send(JSON.stringify({ hello: { version: 99, of: 'a later protocol' } })),
  )
  expect(JSON.parse(await heard.promise)).toMatchObject({
    final: true,
    refused: {
      code: 'store_newer',
      message: expect.stringMatching(`version 99 .* speaks ${LINE_VERSION}; upgrade the server`),
    },
  })
  socket.close()
})

test('a server that does not take workers says which option it lacks', async () => {
  const { server } = await served({ remoteWorkers: undefined })
  await expect(work(server.url)).rejects.toThrow(/takes no remote workers/)
})

test('a text that is no frame ends the connection, and nothing else', async () => {
  const { runtime, server } = await served()
  const Socket = WebSocket as unknown as new (url: string, options: object) => WebSocket
  for (const text of [
    '',
    '{',
    '{"hello":1}',
    '[]',
    '{"acked":0,"messages":[{"to":"absent","workerIds":[]}]}',
  ]) {
    const socket = new Socket(server.url.replace('http', 'ws') + LINE_PATH, {
      headers: { authorization: `Bearer ${token}` },
    })
    const closed = Promise.withResolvers<void>()
    socket.addEventListener('close', () => closed.resolve())
    socket.addEventListener('open', () => socket.send(text))
    await closed.promise
  }
  await using worker = await work(server.url)
  expect(await runtime.result(await runtime.submit(double, { n: 1 }))).toBe(2)
  await worker.stop()
})
