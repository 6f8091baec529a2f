import { once } from 'node:events'
import { rmSync, mkdtempSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { scaledMs } from '../../../tools/cpu/slowness.ts'
import { type ListeningServer, serve, type ServeOptions } from '../src/index.ts'
import { servedRuntime } from './served.ts'

async function served(more: Parameters<typeof servedRuntime>[0] = {}, options: ServeOptions = {}) {
  const runtime = await servedRuntime(more)
  const server = await serve(runtime, { port: 0, ...options })
  onTestFinished(() => server.close())
  return { runtime, server }
}

/** Opens a stream of a task and resolves once its first bytes are there. */
async function stream({ port }: ListeningServer, taskId: string) {
  const asked = get({
    port,
    path: `/api/v1/tasks/${taskId}/events`,
    headers: { accept: 'text/event-stream' },
    agent: false,
  })
  asked.on('error', () => {})
  const [answer] = await once(asked, 'response')
  await once(answer, 'readable')
  return { asked, answer }
}

test('2 000 idle streams leave the server awake, and cost little memory', async () => {
  const { runtime, server } = await served()
  const { taskId } = await runtime.submit('wait', null)
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  const open = []
  for (let batch = 0; batch < 40; batch += 1)
    open.push(...(await Promise.all(Array.from({ length: 50 }, () => stream(server, taskId)))))
  const healthMs = await scaledMs(async () => expect((await fetch(`${server.url}/health`)).status).toBe(200))
  const megabytes = (process.memoryUsage().rss - before) / 2 ** 20
  console.log(
    `2 000 idle streams: health in ${healthMs.toFixed(0)} ms, ${megabytes.toFixed(0)} MiB with their readers`,
  )
  expect(healthMs).toBeLessThan(1_000)
  // Both ends are in this process.
  expect(megabytes).toBeLessThan(200)
  const ends = open.map(({ answer }) => once(answer.resume(), 'end'))
  await runtime.signal(taskId, 'go')
  await Promise.all(ends)
})

test('200 busy streams all get everything, in order, while the server answers others', async () => {
  const { runtime, server } = await served()
  const { taskId } = await runtime.submit('speak', 200)
  const startedAt = performance.now()
  const read = Array.from({ length: 200 }, async () => {
    const headers = { accept: 'text/event-stream' }
    const answer = await fetch(`${server.url}/api/v1/tasks/${taskId}/output`, { headers })
    return (await answer.text()).match(/^id: \d+$/gm)
  })
  const all = Promise.all(read)
  let slowest = 0
  for (let isOver = false; !isOver;) {
    const askedAt = performance.now()
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    slowest = Math.max(slowest, performance.now() - askedAt)
    isOver = await Promise.race([all.then(() => true), sleep(20, false)])
  }
  const wanted = Array.from({ length: 200 }, (_, at) => `id: ${at + 1}`)
  for (const ids of await all) expect(ids).toEqual(wanted)
  console.log(
    `200 readers of 200 items: ${(performance.now() - startedAt).toFixed(0)} ms, slowest health ${slowest.toFixed(0)} ms`,
  )
})

test('a reader that does not read is cut off, and the others get everything', async () => {
  const { runtime, server } = await served(
    {},
    { limits: { maxStreamBufferBytes: 20_000, maxStreamStallMs: 2_000 } },
  )
  const { taskId } = await runtime.submit('shout', 400)
  await runtime.result(taskId)
  const path = `/api/v1/tasks/${taskId}/output`
  const socket = connect(server.port, '127.0.0.1')
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`)
  const whole = await (
    await fetch(`${server.url}${path}`, { headers: { accept: 'text/event-stream' } })
  ).text()
  expect(whole.match(/^id: /gm)).toHaveLength(400)
  const open = async () =>
    Number(/http_streams (\d+)/.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1])
  while ((await open()) > 0) await sleep(50)
  socket.resume()
  socket.on('error', () => {})
  let cut = ''
  for await (const part of socket) {
    cut += String(part)
    if (/event: cut\nid: \d+\n/.test(cut)) break
  }
  const taken = Number(/event: cut\nid: (\d+)/.exec(cut)?.[1])
  expect(taken).toBeGreaterThan(0)
  const headers = { accept: 'text/event-stream', 'last-event-id': String(taken) }
  const rest = await (await fetch(`${server.url}${path}`, { headers })).text()
  expect(rest.match(/^id: /gm)?.[0]).toBeDefined()
  expect(Number(/^id: (\d+)/m.exec(rest)?.[1])).toBe(taken + 1)
})

test('close ends streams with an id to go on from, and lets a request end', async () => {
  const { runtime, server } = await served()
  const { taskId } = await runtime.submit('wait', null)
  const { answer } = await stream(server, taskId)
  const said = text(answer)
  const polled = fetch(`${server.url}/api/v1/tasks/${taskId}/result?waitMs=60000`)
  while (!/http_streams 2/.test(await (await fetch(`${server.url}/metrics`)).text())) await sleep(20)
  await server.close()
  expect(await said).toMatch(/event: closing\nid: \d+\n/)
  expect((await polled).status).toBe(202)
  await expect(fetch(`${server.url}/health`)).rejects.toThrow('fetch failed')
})

test('submissions over HTTP, 50 in flight, are durable one by one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'server-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { runtime, server } = await served({
    store: `sqlite:${join(folder, 'store.db')}`,
    thread: true,
    workers: 0,
    config: { queueDepthLimit: 100_000, batchBackpressureThreshold: 100_000 },
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  const times: number[] = []
  const body = JSON.stringify({ task: 'speak', input: 0 })
  async function submit(): Promise<void> {
    const startedAt = performance.now()
    const asked = request({
      port: server.port,
      path: '/api/v1/tasks',
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json', 'content-length': body.length },
    })
    asked.end(body)
    const [answer] = await once(asked, 'response')
    answer.resume()
    await once(answer, 'end')
    expect(answer.statusCode).toBe(201)
    times.push(performance.now() - startedAt)
  }
  let left = 4_000
  const startedAt = performance.now()
  const senders = Array.from({ length: 50 }, async () => {
    while (left-- > 0) await submit()
  })
  await Promise.all(senders)
  const seconds = (performance.now() - startedAt) / 1_000
  times.sort((a, b) => a - b)
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0
  console.log(
    `${Math.round(4_000 / seconds)} submissions/s with 50 in flight, p99 ${p99.toFixed(1)} ms, client beside`,
  )
  expect(await runtime.count()).toBe(4_000)
  agent.destroy()
})
