import { expect, test } from 'vitest'
import { callerOf, servedRuntime, serverOn, token } from './served.ts'

const runtime = await servedRuntime()
const server = serverOn(runtime, { redact: ['data.secret'] })
const call = callerOf(server)
const base = '/api/v1/pipelines'

/** A pipeline whose second stage waits for a signal, while the first has no room for its third event. */
async function held(taskId: string): Promise<string> {
  await runtime.submit('search', 3, { taskId, client: 'acme' })
  for await (const { sequence } of runtime.pipeline(taskId).events()) if (sequence === 2) break
  for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
  return (await runtime.pipeline(taskId).status()).stages[1]?.tasks[0]?.taskId ?? ''
}

async function streamed(path: string, headers: Record<string, string> = {}) {
  const answer = await server.fetch(
    new Request(`http://localhost${base}${path}`, { headers: { accept: 'text/event-stream', ...headers } }),
  )
  const text = await answer.text()
  return { status: answer.status, text, ids: [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => Number(id)) }
}

test('13.2 a pipeline is shown with its stages, what each has to receive, and who has no room', async () => {
  const look = await held('one')
  const shown = async () => (await call('GET', `${base}/one`)).json
  expect(await shown()).toMatchObject({
    taskId: 'one',
    type: 'search',
    state: 'waiting',
    seq: 2,
    terms: { maxUnread: 2 },
    // The name of a type may end as that of a time does: its count stays a number.
    published: { foundAt: 2 },
    stages: [
      { stage: 'find', heldBack: ['foundAt'], ended: false },
      { stage: 'look', taken: {}, unread: { foundAt: 2 }, heldBack: [], tasks: [{ taskId: look }] },
    ],
  })
  await runtime.signal(look, 'go')
  await runtime.result('one')
  expect(await shown()).toMatchObject({
    state: 'completed',
    published: { foundAt: 3 },
    stages: [
      { ended: true, heldBack: [] },
      { ended: true, taken: { foundAt: 3 }, tasks: [{ state: 'completed' }] },
    ],
  })
  expect((await call('GET', `${base}/nobody`)).status).toBe(404)
  const { taskId } = await runtime.submit('add', { a: 1, b: 1 })
  expect((await call('GET', `${base}/${taskId}`)).json).toMatchObject({ status: 404, code: 'not_found' })
})

test('13.2 the events of a pipeline come in pages and as a stream, from any sequence on, of some types', async () => {
  await runtime.signal(await held('two'), 'go')
  await runtime.result('two')
  const page = (query: string) => call('GET', `${base}/two/events?${query}`).then(({ json }) => json)
  const first = await page('limit=1')
  expect(first).toMatchObject({ events: [{ sequence: 1, type: 'foundAt', stage: 'find' }], cursor: 1 })
  expect(first.events[0].data).toEqual({ page: 1, secret: '[redacted]' })
  expect(first.events[0].at).toMatch(/^\d{4}-/)
  const found = await page('types=foundAt&limit=1&after=1')
  expect(found).toMatchObject({ events: [{ data: { page: 2 } }], cursor: 2 })
  // The third is published once there is room: the next stage may have published by then.
  const last: number = (await page('types=foundAt')).events[2].sequence
  const rest = await page(`after=${last}&types=foundAt`)
  expect(rest).toEqual({ events: [] })

  const all = (await runtime.pipeline('two').status()).seq
  const { ids, text } = await streamed('/two/events')
  expect(ids).toEqual(Array.from({ length: all }, (_, index) => index + 1))
  expect(text).toContain('"secret":"[redacted]"')
  expect(text).toMatch(/event: end\n/)
  const looked = await streamed('/two/events?types=looked', { 'last-event-id': '1' })
  expect(looked.ids.length).toBeGreaterThan(0)
  expect(looked.text).not.toContain('foundAt')
  // A browser that has everything is sent away, also where only other types come after.
  expect((await streamed('/two/events', { 'last-event-id': String(all) })).status).toBe(204)
  expect((await streamed('/two/events?types=foundAt', { 'last-event-id': String(last) })).status).toBe(204)
  expect((await streamed('/nobody/events')).status).toBe(404)
})

test('13.2 a page looks at a bounded number of events, and its cursor goes on', async () => {
  await runtime.signal(await held('bounded'), 'go')
  await runtime.result('bounded')
  const own = callerOf(serverOn(runtime, { limits: { maxScannedTasks: 2 } }))
  const page = await own('GET', `${base}/bounded/events?types=looked`)
  expect(page.json).toEqual({ events: [], cursor: 2 })
})

test('13.2 a type that no stage publishes is refused, in pages and in streams', async () => {
  const look = await held('mistyped')
  const asks = ['', '&after=9'].map((more) => call('GET', `${base}/mistyped/events?types=looked,fond${more}`))
  const refused = {
    status: 400,
    code: 'invalid_argument',
    detail: expect.stringContaining("no stage of pipeline 'search' publishes 'fond'"),
  }
  for (const { status, json } of await Promise.all(asks)) expect({ ...json, status }).toMatchObject(refused)
  const stream = await streamed('/mistyped/events?types=fond')
  expect(stream.status).toBe(400)
  expect(JSON.parse(stream.text)).toMatchObject(refused)
  await runtime.cancel(look)
  // One that has not begun has no stages yet that could publish anything.
  await runtime.submit('search', 1, { taskId: 'later', delayMs: 60_000 })
  expect((await call('GET', `${base}/later/events?types=fond`)).json).toEqual({ events: [] })
  await runtime.cancel('later')
})

test('13.2 pipelines are listed page by page, and to a bound token its own', async () => {
  await held('three')
  await held('four')
  await runtime.submit('search', 1, { taskId: 'foreign', client: 'other' })
  for await (const _ of runtime.pipeline('foreign').events()) break
  const bound = serverOn(runtime, { tokens: [token('a', ['read'], { client: 'acme' })] })
  const listed = async (caller = call, headers: Record<string, string> = {}): Promise<readonly string[]> => {
    const found: string[] = []
    let query = 'limit=1'
    for (;;) {
      const { json } = await caller('GET', `${base}?${query}`, undefined, headers)
      found.push(...json.pipelines.map(({ taskId }: { readonly taskId: string }) => taskId))
      if (json.cursor === undefined) return found
      query = `limit=1&cursor=${json.cursor}`
    }
  }
  const all = await listed()
  expect(all.slice(0, 3)).toEqual(['foreign', 'four', 'three'])
  const own = await listed(callerOf(bound), { authorization: 'Bearer a' })
  expect(own).toEqual(all.filter((taskId) => taskId !== 'foreign'))
  const foreign = await callerOf(bound)('GET', `${base}/foreign`, undefined, { authorization: 'Bearer a' })
  expect(foreign.status).toBe(404)
  for (const taskId of ['three', 'four', 'foreign']) await runtime.cancel(taskId)
})
