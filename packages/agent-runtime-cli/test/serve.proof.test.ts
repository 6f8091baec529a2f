import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json, text } from 'node:stream/consumers'
import { createWorker, defineTask } from '@ku0/agent-runtime'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { bin, runIn, scratchFolder } from './stores-and-shells.ts'

const tasks = join(import.meta.dirname, 'project/tasks.ts')

/** A GET request that the server has begun to answer: it asks the server to say so. The answer's body comes later. */
async function begun(url: string): Promise<{ readonly answer: Promise<unknown> }> {
  const asked = request(url, { headers: { expect: '100-continue' } })
  const answer = once(asked, 'response').then(([response]) => json(response as IncomingMessage))
  answer.catch(() => undefined)
  asked.flushHeaders()
  await once(asked, 'continue')
  asked.end()
  return { answer }
}

/** A server in a process of its own, once it listens. */
async function serving(...args: string[]) {
  const child = spawn(process.execPath, [bin, ...args, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'test' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const complaint = text(child.stderr)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const exited = once(child, 'exit').then(([code]) => code as number)
  const first = await lines.next()
  if (first.done === true) throw new Error(await complaint)
  const ready = JSON.parse(first.value) as { readonly type: string; readonly url: string }
  expect(ready.type).toBe('ready')
  const ask = async (path: string, body?: object, headers: Record<string, string> = {}) =>
    fetch(`${ready.url}/api/v1${path}`, {
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
  return { ...ready, child, exited, lines, ask }
}

test('a server with --no-tasks runs none, although the configuration file names some', async () => {
  const folder = scratchFolder()
  writeFileSync(join(folder, 'agent-runtime.config.ts'), `export default { tasks: ${JSON.stringify(tasks)} }`)
  const config = ['--config', join(folder, 'agent-runtime.config.ts'), '--store', join(folder, 'it.db')]
  const server = await serving('serve', '--no-tasks', ...config)
  expect(server).toMatchObject({ type: 'ready', types: [] })
  server.child.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  expect(await runIn({ folder }, 'serve', tasks, '--no-tasks')).toMatchObject({ code: 2, out: '' })
})

test('SIGTERM closes streams with an id to go on from, lets a request end, and stops; another server goes on', async () => {
  const store = join(scratchFolder(), 'it.db')
  const first = await serving('serve', tasks, '--store', store)
  const submitted = await first.ask('/tasks', { task: 'wait', input: null })
  const { taskId } = (await submitted.json()) as { readonly taskId: string }
  const stream = (server: typeof first, headers = {}) =>
    server.ask(`/tasks/${taskId}/events`, undefined, { accept: 'text/event-stream', ...headers })
  const opened = await stream(first)
  const waiting = await begun(`${first.url}/api/v1/tasks/${taskId}/result?waitMs=60000`)
  const reader = opened.body!.pipeThrough(new TextDecoderStream()).getReader()
  let seen = ''
  while (!seen.includes('task.waiting')) seen += (await reader.read()).value ?? ''
  first.child.kill('SIGTERM')
  for (let part = await reader.read(); !part.done; part = await reader.read()) seen += part.value
  expect(seen).toContain('event: closing')
  const id = /^id: (\d+)\nevent: closing/m.exec(seen)?.[1] ?? /"lastEventId":"(\d+)"/.exec(seen)?.[1]
  expect(id).toMatch(/^\d+$/)
  expect(await waiting.answer).toMatchObject({ state: 'waiting' })
  expect(await first.exited).toBe(0)
  const words = []
  for await (const line of { [Symbol.asyncIterator]: () => first.lines }) words.push(JSON.parse(line).type)
  expect(words).toEqual(['draining', 'stopped'])

  const second = await serving('serve', tasks, '--store', store)
  const again = await stream(second, { 'last-event-id': String(id) })
  await second.ask(`/tasks/${taskId}/signal`, { name: 'go' })
  const rest = await again.text()
  expect(rest).not.toContain('task.submitted')
  expect(rest).toContain('task.completed')
  second.child.kill('SIGTERM')
  expect(await second.exited).toBe(0)
})

test('an address of other machines needs tokens; a token that is revoked is refused', async () => {
  const folder = scratchFolder()
  const agent = (...args: string[]) => runIn({ folder }, ...args, '--store', 'it.db')
  const nameless = await agent('serve', '--host', '0.0.0.0', '--port', '0')
  expect(nameless).toMatchObject({ code: 2, out: '', err: expect.stringContaining('hosts') as string })
  const open = await agent('serve', '--host', '0.0.0.0', '--hosts', 'tasks.example.com', '--port', '0')
  expect(open).toMatchObject({ code: 2, out: '' })
  expect(existsSync(join(folder, 'it.db'))).toBe(false)
  expect(open.err).toContain('agent-runtime token create')
  const made = await agent('token', 'create', 'ci', '--scopes', 'read,submit', '--expires', '30d')
  const token = made.out.trim()
  expect(token).toMatch(/^ku0_[\w-]{43}$/)
  const store = join(folder, 'it.db')
  const server = await serving('serve', '--store', store)
  const headers = { authorization: `Bearer ${token}` }
  expect((await server.ask('/tasks')).status).toBe(401)
  expect((await server.ask('/tasks', undefined, headers)).status).toBe(200)
  expect((await server.ask('/tasks', { task: 'greet', input: {} }, headers)).status).toBe(201)
  expect((await server.ask('/tasks/x/cancel', {}, headers)).status).toBe(403)
  await agent('token', 'revoke', 'ci')
  const again = await agent('serve', '--host', '0.0.0.0', '--hosts', 'tasks.example.com', '--port', '0')
  expect(again).toMatchObject({
    code: 2,
    err: expect.stringContaining('agent-runtime token create') as string,
  })
  while ((await server.ask('/tasks', undefined, headers)).status === 200);
  expect((await server.ask('/tasks', undefined, headers)).status).toBe(401)
  expect(JSON.parse((await agent('token', '--json')).out)).toMatchObject({
    tokens: [{ name: 'ci', state: 'revoked', scopes: ['read', 'submit'] }],
  })
})

test('a read-only console has pages, answers questions, and changes nothing', async () => {
  const store = join(scratchFolder(), 'it.db')
  await runIn({}, 'submit', 'greet', '{"name":"Ada"}', '--store', store)
  const server = await serving('console', '--read-only', '--store', store)
  const page = await fetch(server.url)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(await (await server.ask('/info')).json()).toMatchObject({ scopes: ['read'] })
  expect((await server.ask('/tasks', { task: 'greet', input: {} })).status).toBe(403)
  expect(await (await server.ask('/tasks?count=true')).json()).toMatchObject({ count: 1 })
  server.child.kill('SIGINT')
  expect(await server.exited).toBe(0)
})

test('reports of the gym come from the folder that was named, and nothing else of it does', async () => {
  const folder = scratchFolder()
  const reports = join(folder, 'reports')
  mkdirSync(reports)
  const report = JSON.stringify({ schemaVersion: 1, scenarios: [], startedAt: '2026-11-21T10:00:00.000Z' })
  writeFileSync(join(reports, 'main.json'), report)
  writeFileSync(join(reports, 'package.json'), '{"name":"x"}')
  writeFileSync(join(reports, 'notes.txt'), 'secret')
  writeFileSync(join(folder, 'outside.json'), report)
  await runIn({}, 'submit', 'greet', '{"name":"Ada"}', '--store', join(folder, 'it.db'))
  const server = await serving('console', '--store', join(folder, 'it.db'), '--reports', reports, '--no-open')
  const { reports: listed } = (await (await server.ask('/reports')).json()) as { reports: { name: string }[] }
  expect(listed.map(({ name }) => name).toSorted()).toEqual(['main.json', 'package.json'])
  expect(await (await server.ask('/reports/main.json')).text()).toBe(report)
  for (const name of [
    'package.json',
    'notes.txt',
    'outside.json',
    '..%2foutside.json',
    '%2e%2e%2foutside.json',
  ])
    expect([name, (await server.ask(`/reports/${name}`)).status]).toEqual([name, 404])
  const wrong = await runIn({ folder }, 'serve', '--store', 'it.db', '--reports', 'nowhere', '--port', '0')
  expect(wrong.code).not.toBe(0)
  expect(wrong.err).toContain('--reports: a folder with reports of the gym')
})

test('a remote worker has the capacity that it asks for, unless the server sets a limit', async () => {
  const store = join(scratchFolder(), 'it.db')
  const server = await serving('serve', '--store', store)
  for (const [id, capacity] of [
    ['many', 20],
    ['few', 2],
  ] as const) {
    const task = defineTask({ type: 'greet', input: z.unknown() }, () => null)
    const workers = { ids: [id], capacity }
    await using _ = await createWorker({ store: server.url, tasks: [task], workers, logger: false })
    const { workers: known } = (await (await server.ask('/workers')).json()) as {
      workers: { workerId: string; capacity: number }[]
    }
    expect(known.find(({ workerId }) => workerId === id)?.capacity).toBe(capacity)
  }
})

test('a port that is taken refuses the command before a store is made', async () => {
  const folder = scratchFolder()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const said = await runIn({ folder }, 'serve', '--store', 'it.db', '--port', String(port))
  taken.close()
  expect(said).toMatchObject({ code: 2, out: '' })
  expect(said.err).toContain(`127.0.0.1, port ${port}, cannot be listened on: `)
  expect(existsSync(join(folder, 'it.db'))).toBe(false)
})

test('a payload that the configuration allows is no too large body, and a limit that does not exist is named', async () => {
  const folder = scratchFolder()
  const file = join(folder, 'agent-runtime.config.ts')
  const configure = (config: object) => writeFileSync(file, `export default ${JSON.stringify(config)}`)
  const args = ['--config', file, '--store', join(folder, 'it.db')]
  configure({ config: { maxPayloadBytes: 2_000_000 }, serve: { limits: { maxUrlBytes: 100 } } })
  const server = await serving('serve', ...args)
  const submitted = (bytes: number) =>
    server.ask('/tasks', { task: 'greet', input: { name: 'a'.repeat(bytes) } })
  expect((await submitted(1_900_000)).status).toBe(201)
  expect((await submitted(2_010_000)).status).toBe(413)
  expect((await server.ask(`/tasks?type=${'a'.repeat(100)}`)).status).toBe(414)
  configure({ serve: { limits: { maxBodyByte: 5 } } })
  const wrong = await runIn({ folder }, 'serve', ...args, '--port', '0')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toContain('maxBodyBytes')
})
