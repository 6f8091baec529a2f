import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { gateway, gatewayTask, type GatewayEvent } from '../../src/gateway/index.ts'
import { createRuntime } from '../../src/index.ts'
import { type Answer, agentServer, streams } from './agent-server.ts'

const session = { sessionId: 's/1', userId: 'ada', workspaceDir: '/w' }
const request = { runId: 'r', userInput: 'count', maxIterations: 3 }

/** Runs one query and gives its events and its end. */
async function query(url: string, options: { silentMs?: number; after?: number; signal?: AbortSignal } = {}) {
  const { signal = new AbortController().signal, after, silentMs } = options
  const events: GatewayEvent[] = []
  const onEvent = (event: GatewayEvent) => void events.push(event)
  const end = await gateway({ url, token: () => 'secret', silentMs })
    .runQuery(session, request, { signal, after, onEvent })
    .catch((error: unknown) => error)
  return { events, end }
}

const done = ['result', { success: true, output: { n: 1 }, usage: { tokens: 2 } }] as const

/** The schemas that docs/gateway.md gives, by name. */
function schemas() {
  const page = readFileSync(new URL('../../../../docs/gateway.md', import.meta.url), 'utf8')
  const [, text = ''] = /```json\n([^]*?)```/.exec(page) ?? []
  const { $defs } = JSON.parse(text) as { readonly $defs: Readonly<Record<string, object>> }
  const schemaOf = (name: string) => z.fromJSONSchema($defs[name] as Parameters<typeof z.fromJSONSchema>[0])
  return { session: schemaOf('session'), request: schemaOf('request'), result: schemaOf('result') }
}

describe('a gateway over HTTP (docs/gateway.md)', () => {
  test('sends what the protocol says, and reads events and the result', async () => {
    await using server = await agentServer(streams([['text', 'one'], ['tool', { name: 'ls' }], done]))
    await gateway({ url: server.url }).createSession(session, { signal: new AbortController().signal })
    expect(await query(server.url, { after: 4 })).toEqual({
      events: [
        { id: 1, type: 'text', data: 'one' },
        { id: 2, type: 'tool', data: { name: 'ls' } },
      ],
      end: done[1],
    })
    await gateway({ url: server.url }).cancel(session, 'r')
    const { session: opened, request: asked, result } = schemas()
    expect([
      opened.parse(server.seen[0]?.body),
      asked.parse(server.seen[1]?.body),
      result.parse(done[1]),
    ]).toEqual([server.seen[0]?.body, server.seen[1]?.body, done[1]])
    expect(server.seen).toEqual([
      {
        method: 'PUT',
        path: '/v1/sessions/s%2F1',
        after: undefined,
        token: undefined,
        body: { userId: 'ada', workspaceDir: '/w' },
      },
      {
        method: 'PUT',
        path: '/v1/sessions/s%2F1/runs/r',
        after: '4',
        token: 'Bearer secret',
        body: { userInput: 'count', maxIterations: 3 },
      },
      {
        method: 'DELETE',
        path: '/v1/sessions/s%2F1/runs/r',
        after: undefined,
        token: undefined,
        body: undefined,
      },
    ])
  })

  const ends: readonly (readonly [what: string, answer: Answer, code: string, words: string])[] = [
    [
      'is overloaded',
      (_, response) => void response.writeHead(503).end('{"message":"later"}'),
      'gateway_unreachable',
      'status 503: later',
    ],
    [
      'breaks off before the result',
      streams([['text', 1]]),
      'gateway_unreachable',
      'its stream ended before the result',
    ],
    [
      'breaks the connection',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('id: 1\n', () => response.destroy())
      },
      'gateway_unreachable',
      'cannot be reached',
    ],
    ['says nothing', () => undefined, 'gateway_unreachable', 'it said nothing for 300 ms'],
    [
      'refuses the token',
      (_, response) => void response.writeHead(401).end(),
      'gateway_refused',
      'refuses the request with status 401',
    ],
    [
      'is another server',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      'gateway_refused',
      'no stream of events',
    ],
    ['sends no JSON', streams([]), 'gateway_unreachable', 'before the result'],
    [
      'sends a result without success',
      streams([['result', {}]]),
      'gateway_refused',
      'without the field success',
    ],
  ]
  test.each(ends)('that %s', async (_, answer, code, words) => {
    await using server = await agentServer(answer)
    const { end } = await query(server.url, { silentMs: 300 })
    expect(end).toMatchObject({ code, message: expect.stringContaining(words) })
    expect(JSON.stringify(end)).not.toContain('secret')
  })

  test('nobody listens where it should be', async () => {
    const server = await agentServer(streams([]))
    await server.stop()
    expect((await query(server.url)).end).toMatchObject({
      code: 'gateway_unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })

  test('a new session is opened when the gateway has forgotten the old one', async () => {
    await using server = await agentServer((seen, response, count) =>
      seen.path.includes('/runs/') && count === 1
        ? void response.writeHead(404).end()
        : streams([done])(seen, response, count),
    )
    expect((await query(server.url)).end).toEqual(done[1])
    expect(server.seen.map(({ path }) => path.split('/').length)).toEqual([6, 4, 6])
  })

  test('ends with the reason of the signal', async () => {
    const stop = new AbortController()
    await using server = await agentServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      stop.abort(new Error('enough'))
    })
    expect((await query(server.url, { signal: stop.signal })).end).toMatchObject({ message: 'enough' })
  })

  test('a task whose stream breaks joins its run; one that is canceled cancels it', async () => {
    const hung = Promise.withResolvers<void>()
    await using server = await agentServer((seen, response, count) => {
      const { userInput } = (seen.body ?? {}) as { userInput?: string }
      if (userInput === 'hang') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        hung.resolve()
        return
      }
      const isRun = seen.path.includes('/runs/') && seen.method === 'PUT'
      const parts = streams(
        isRun && count === 1 ? [['text', 'one']] : [['text', 'one'], ['text', 'two'], done],
      )
      void parts(seen, response, count)
    })
    const task = gatewayTask({ type: 'agent', gateway: gateway({ url: server.url }) })
    await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [task], logger: false })
    const receipt = await runtime.submit(task, { prompt: 'go', workspaceDir: '/w' })
    expect(await runtime.result(receipt)).toEqual({ n: 1 })
    const runs = server.seen.filter(({ path }) => path.includes('/runs/'))
    expect(runs).toHaveLength(2)
    expect(new Set(runs.map(({ path }) => path)).size).toBe(1)
    const { items } = await runtime.emitted(receipt)
    const events = items.map((item) => ('data' in item ? (item.data as GatewayEvent) : undefined))
    expect(events.map((event) => [event?.id, event?.data])).toEqual([
      [1, 'one'],
      [1, 'one'],
      [2, 'two'],
    ])

    const long = await runtime.submit(task, { prompt: 'hang', workspaceDir: '/w' })
    await hung.promise
    await runtime.cancel(long)
    await runtime.stop()
    expect(server.seen.at(-1)?.method).toBe('DELETE')
  })

  test('nothing of a failed gateway stays behind: the worker takes the next task', async () => {
    const server = await agentServer(streams([]))
    await server.stop()
    const task = gatewayTask({ type: 'agent', gateway: gateway({ url: server.url }) })
    await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [task], logger: false })
    for (let n = 0; n < 2; n++) {
      const receipt = await runtime.submit(task, { prompt: 'go', workspaceDir: '/w' })
      await expect(runtime.result(receipt)).rejects.toMatchObject({ kind: 'gateway_unreachable' })
    }
  })
})
