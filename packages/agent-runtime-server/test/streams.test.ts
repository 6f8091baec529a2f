import { expect, onTestFinished, test } from 'vitest'
import { owner } from '../src/access/caller.ts'
import { TokenWatch } from '../src/access/token-watch.ts'
import { TokenBook } from '../src/access/tokens.ts'
import { createServer, type Server, type ServerLimits } from '../src/index.ts'
import { defaultLimits } from '../src/limits.ts'
import { EventStream } from '../src/streams/event-stream.ts'
import { frameOf } from '../src/streams/frame.ts'
import { Streams } from '../src/streams/streams.ts'
import { system } from '../src/system.ts'
import type { Incoming } from '../src/wire/messages.ts'
import { callerOf, servedRuntime, serverOn, token } from './served.ts'

const runtime = await servedRuntime()
const server = serverOn(runtime)
const call = callerOf(server)
const stream = { accept: 'text/event-stream' }

/** Timers that fire when the test says so. */
function handTimers() {
  const armed = new Set<() => void>()
  return {
    fire: () => {
      // What is armed meanwhile is for the next time.
      const due = [...armed]
      armed.clear()
      for (const run of due) run()
    },
    get size() {
      return armed.size
    },
    timers: {
      after: (_delayMs: number, run: () => void) => {
        armed.add(run)
        return { cancel: () => void armed.delete(run) }
      },
    },
  }
}

function open(path: string, headers: Record<string, string> = {}, on: Server = server) {
  return on.fetch(new Request(`http://localhost/api/v1${path}`, { headers: { ...stream, ...headers } }))
}

async function textUntil(body: ReadableStream<Uint8Array> | null, part: string): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes(part)) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) throw new Error(`the stream ended without ${part}: ${text}`)
    text += decoder.decode(value, { stream: true })
  }
  reader?.releaseLock()
  return text
}

const idsIn = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => Number(id))

test('a stream that fails inside says so under the name by which the log of the server has it', async () => {
  const log: unknown[][] = []
  const report = (...told: unknown[]) => void log.push(told)
  const watch = new TokenWatch({ tokens: new TokenBook([]), everyMs: 60_000, environment: system, report })
  const streams = new Streams(defaultLimits, system, watch, report)
  const error = new Error('the disk is gone')
  const { body } = streams.answer(owner, { method: 'GET' } as Incoming, () => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
  }))
  const text = await textUntil(body as ReadableStream<Uint8Array>, '}\n\n')
  expect(text).toContain('event: problem')
  expect(text).not.toContain('disk')
  const { instance } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '') as { instance: string }
  expect(log).toEqual([[error, instance]])
  streams.close()
  watch.close()
})

test('a stream is the history, then what comes, and ends with the task', async () => {
  const { taskId } = await runtime.submit('wait', null)
  const { body, headers } = await open(`/tasks/${taskId}/events`)
  expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const history = await textUntil(body, 'task.waiting')
  await runtime.signal(taskId, 'go', 1)
  const rest = await textUntil(body, 'event: end')
  const ids = idsIn(history + rest)
  expect(ids).toEqual(ids.map((_, index) => index + 1))
  const { json } = await call('GET', `/api/v1/tasks/${taskId}/events`)
  expect(ids).toHaveLength(json.events.length)
})

test('Last-Event-ID goes on after it; a browser that has everything is sent away', async () => {
  const { taskId } = await runtime.submit('speak', 3)
  await runtime.result(taskId)
  const text = await textUntil(
    (await open(`/tasks/${taskId}/output`, { 'last-event-id': '2' })).body,
    'event: end',
  )
  expect(idsIn(text)).toEqual([3])
  expect(text).toContain('"data":{"at":{"$ku0":["Date",0]},"word":3}')
  expect((await open(`/tasks/${taskId}/output`, { 'last-event-id': '3' })).status).toBe(204)
  expect((await open(`/tasks/${taskId}/events`, { 'last-event-id': '99' })).status).toBe(204)
})

test('X06 a malformed id is 400, and an unknown task 404 before a stream begins', async () => {
  const { taskId } = await runtime.submit('speak', 0)
  for (const id of ['x', '-1', '1.5', '1e3', '9'.repeat(16), '٣'])
    expect((await open(`/tasks/${taskId}/events`, { 'last-event-id': encodeURI(id) })).status).toBe(400)
  expect((await open('/tasks/nobody/events')).status).toBe(404)
})

test('an event is made into text once for all its readers', async () => {
  const { taskId } = await runtime.submit('wait', null)
  const readers = await Promise.all(Array.from({ length: 5 }, () => open(`/tasks/${taskId}/events`)))
  const texts = Promise.all(readers.map(({ body }) => textUntil(body, 'event: end')))
  const stringify = JSON.stringify
  let made = 0
  JSON.stringify = ((...given: Parameters<typeof stringify>) => {
    if ((given[0] as { type?: string } | undefined)?.type === 'task.completed') made += 1
    return stringify(...given)
  }) as typeof stringify
  onTestFinished(() => {
    JSON.stringify = stringify
  })
  await runtime.signal(taskId, 'go')
  expect(new Set(await texts).size).toBe(1)
  expect(made).toBe(1)
})

test('a silent stream gets a comment, and closing the server ends it with an id to go on from', async () => {
  const { fire, timers } = handTimers()
  const own = createServer(runtime, { environment: { ...system, timers } })
  const { taskId } = await runtime.submit('wait', null)
  const { body } = await open(`/tasks/${taskId}/events`, {}, own)
  const history = await textUntil(body, 'task.waiting')
  fire()
  fire()
  await textUntil(body, ': keep-alive')
  const closed = own.close()
  const text = await textUntil(body, '\n\n')
  const last = idsIn(history).at(-1)
  expect(text).toBe(`event: closing\nid: ${last}\ndata: {"lastEventId":"${last}"}\n\n`)
  fire()
  await closed
  await runtime.cancel(taskId)
})

test('T17 a reader that takes nothing is cut off at the bound, with the id that it had taken', async () => {
  const { fire, timers } = handTimers()
  let gone = 0
  const cut = new EventStream({ maxBytes: 100, stallMs: 1, timers, onGone: () => (gone += 1) })
  const body = cut.body.getReader()
  const next = async () => new TextDecoder().decode((await body.read()).value)
  await cut.push(frameOf('1', 'a'))
  expect(await next()).toBe('retry: 1000\n\nid: 1\ndata: "a"\n\n')
  await cut.push(frameOf('2', 'b'.repeat(100)))
  const refused = cut.push(frameOf('3', 'c'))
  fire()
  expect(await refused).toBe(false)
  expect(await next()).toBe('event: cut\nid: 1\ndata: {"lastEventId":"1"}\n\n')
  expect((await body.read()).done).toBe(true)
  expect(gone).toBe(1)
})

test('a slow reader that does read gets everything', async () => {
  const { timers, size } = handTimers()
  const slow = new EventStream({ maxBytes: 50, stallMs: 1, timers, onGone: () => {} })
  const pushed = (async () => {
    for (let id = 1; id <= 20; id += 1)
      expect(await slow.push(frameOf(String(id), 'x'.repeat(30)))).toBe(true)
    slow.end(() => new TextEncoder().encode('over'))
  })()
  const text = await new Response(slow.body).text()
  await pushed
  expect(idsIn(text)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  expect(size).toBe(0)
})

test('so many streams are open at once, and one that ends makes room', async () => {
  const limits: Partial<ServerLimits> = { maxStreams: 1 }
  const own = serverOn(runtime, { limits })
  const { taskId } = await runtime.submit('wait', null)
  const first = await open(`/tasks/${taskId}/events`, {}, own)
  expect((await open(`/tasks/${taskId}/events`, {}, own)).status).toBe(429)
  expect((await callerOf(own)('GET', `/api/v1/tasks/${taskId}/result?waitMs=1`)).status).toBe(429)
  await first.body?.cancel()
  const again = await open(`/tasks/${taskId}/events`, {}, own)
  expect(again.status).toBe(200)
  await again.body?.cancel()
  await runtime.cancel(taskId)
})

test('X06 so many streams of one token are open at once, and another token has its own', async () => {
  const limits: Partial<ServerLimits> = { maxStreamsPerToken: 1 }
  const own = serverOn(runtime, { limits, tokens: [token('one', ['read']), token('two', ['read'])] })
  const { taskId } = await runtime.submit('wait', null)
  const openAs = (name: string) => open(`/tasks/${taskId}/events`, { authorization: `Bearer ${name}` }, own)
  const first = await openAs('one')
  const refused = await openAs('one')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.text()).toContain('maxStreamsPerToken')
  const others = await openAs('two')
  expect([first.status, others.status]).toEqual([200, 200])
  await first.body?.cancel()
  const again = await openAs('one')
  expect(again.status).toBe(200)
  await again.body?.cancel()
  await others.body?.cancel()
  await runtime.cancel(taskId)
})

test('HEAD of a stream opens none', async () => {
  const { taskId } = await runtime.submit('wait', null)
  const { status, body } = await server.fetch(
    new Request(`http://localhost/api/v1/tasks/${taskId}/events`, { method: 'HEAD', headers: stream }),
  )
  expect([status, body]).toEqual([200, null])
})
