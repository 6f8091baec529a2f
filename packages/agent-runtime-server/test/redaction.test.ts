import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, definePipeline, defineTask } from '@ku0/agent-runtime'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { endpoints } from '../src/routes/endpoints.ts'
import { valueNames } from '../src/wire/redaction.ts'
import { callerOf, serverOn } from './served.ts'

/** A value with a word that nobody is to read. */
const secret = (place: string) => ({ list: [{ word: `sesame of ${place}` }] })
const input = z.unknown()

const child = defineTask({ type: 'child', input }, (ctx) =>
  ctx.step('break', () => {
    throw new Error('mellon of a child', { cause: new Error('mellon of its cause') })
  }),
)
const giver = defineTask({ type: 'giver', input }, () => secret('an output of a child'))
const keeper = defineTask({ type: 'keeper', input }, async (ctx) => {
  await ctx.step('look', () => secret('a step'))
  await ctx.race('first', { one: (branch) => branch.step('run', () => secret('a race')) })
  await ctx.all('both', { one: (branch) => branch.step('walk', () => secret('a branch')) })
  await ctx.emit(secret('a chunk'))
  await ctx.checkpoint(secret('a checkpoint'))
  await ctx.waitForSignal('go')
  await ctx.requestApproval('plan', secret('an artifact'))
  await ctx.call('child', child, secret('a child')).catch(() => {})
  await ctx.call('sibling', giver, null)
  return secret('an output')
})
const asks = defineTask({ type: 'asks', input }, (ctx) => ctx.requestApproval('plan', secret('a question')))
const taker = defineTask({ type: 'taker', input }, async (ctx, given) => {
  await ctx.emit(given)
  await ctx.checkpoint(given)
  await ctx.waitForSignal('go')
  return 0
})
const strict = defineTask({ type: 'strict', input: z.strictObject({ n: z.number() }) }, () => 1)
const untrue = defineTask(
  { type: 'untrue', input, output: z.number() },
  () => secret('a bad output') as never,
)
const find = defineTask({ type: 'find', input }, (ctx) => ctx.publish('found', secret('an event')))
const look = defineTask({ type: 'look', input }, async (ctx) => (await ctx.receive(['found'])).length)
const search = definePipeline({
  name: 'search',
  input,
  stages: [
    { name: 'find', task: find, input: (given) => given, publishes: { found: z.unknown() } },
    { name: 'look', task: look, subscribes: ['found'] },
  ],
})

const folder = mkdtempSync(join(tmpdir(), 'server-redaction-'))
const logged: string[] = []
const log = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
/** Each byte is another one; enough to see what is stored as it is. */
const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x55)
const runtime = await createRuntime({
  store: `sqlite:${join(folder, 'tasks.db')}`,
  tasks: [keeper, child, giver, asks, taker, strict, untrue, find, look, search],
  payloadCodec: { encrypt: flip, decrypt: flip },
  logger: { debug: log, info: log, warn: log, error: log },
  thread: false,
})
afterAll(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

await runtime.submit('keeper', secret('an input'), { taskId: 'kept' })
await runtime.signal('kept', 'go', secret('a signal'))
const waits = async (taskId: string, reason: string) => {
  for await (const { type, data } of runtime.events(taskId))
    if (type === 'task.waiting' && data['reason'] === reason) break
}
await waits('kept', 'approval')
const [request] = (await runtime.approvals.list()).approvals
await runtime.approvals.approve(request?.approvalId ?? '', { value: secret('a verdict') })
await runtime.result('kept')
await runtime.submit('asks', secret('an input'), { taskId: 'asking' })
await waits('asking', 'approval')
await runtime.submit('untrue', secret('an input'), { taskId: 'untrue' })
await runtime.result('untrue').catch(() => {})
await runtime.submit('strict', secret('a wrong input') as never, { taskId: 'wrong' })
await runtime.submit('search', secret('an input'), { taskId: 'searched' })
await runtime.result('searched')
await runtime.schedules.put('nightly', { cron: '0 3 * * *' }, 'keeper', secret('a schedule'))
const { taskId: fork } = await runtime.fork('kept', { edits: { look: secret('an edit') } })
for await (const { type } of runtime.events(fork)) if (type === 'task.waiting') break
const { tasks } = await runtime.list({ limit: 100 })
const open = (await runtime.approvals.list()).approvals.map((it) => it.approvalId)

/** Every answer that tells of what the store holds: all that reads, and what looks at a task. */
function paths(): (readonly [method: string, path: string])[] {
  const names: Readonly<Record<string, readonly string[]>> = {
    taskId: tasks.map(({ taskId }) => taskId),
    approvalId: open,
    schedule: ['nightly'],
    client: ['acme'],
    agent: ['keeper'],
  }
  const looks = endpoints.filter(({ method, id }) => method === 'get' || id === 'replayTask')
  return looks.flatMap(({ method, path, tag }) => {
    const [, name] = /\{(\w+)\}/.exec(path) ?? []
    const values = name === undefined ? [''] : (names[name] ?? [])
    return tag === 'workers' && name !== undefined
      ? []
      : values.map((it) => [method.toUpperCase(), path.replace(`{${name}}`, encodeURIComponent(it))] as const)
  })
}

/** The words in a text, each with its place and with the text before it. */
function wordsIn(place: string, text: string): string[] {
  return [...text.matchAll(/.{0,60}(?:sesame|mellon)[\w ]*/g)].map(([words]) => `${place}: ${words}`)
}

test.each([
  [valueNames],
  // By a path of its own in each.
  [valueNames.map((name) => (name === 'error' ? 'error' : `${name}.list.*.word`))],
])('values that %j redacts are in no answer and no stream', async (redact) => {
  const call = callerOf(serverOn(runtime, { redact }))
  const told: string[] = []
  for (const [method, path] of paths()) {
    const { text, status } = await call(method, `/api/v1${path}`)
    expect([path, status < 500 || status === 501]).toEqual([path, true])
    told.push(...wordsIn(path, text))
  }
  const stream = { accept: 'text/event-stream' }
  for (const { taskId, ...task } of tasks)
    if ('finishedAt' in task)
      for (const kind of ['events', 'output']) {
        const { text } = await call('GET', `/api/v1/tasks/${taskId}/${kind}`, undefined, stream)
        told.push(...wordsIn(`${kind} of ${taskId}`, text))
      }
  expect(told).toEqual([])
  // The walk sees what is not redacted.
  const plain = callerOf(serverOn(runtime))
  expect((await plain('GET', '/api/v1/tasks/kept')).text).toContain('sesame of an output')
})

test('a path leaves alone what has the same name inside another value', async () => {
  const fields = { input: { word: 1 }, output: { word: 2 }, error: { word: 3 }, value: { word: 4 } }
  await runtime.submit('taker', fields, { taskId: 'took' })
  await runtime.signal('took', 'go', fields)
  await runtime.result('took')
  const redact = ['input.word', 'output.word', 'error.word', 'value.word']
  const call = callerOf(serverOn(runtime, { redact }))
  const { events } = (await call('GET', '/api/v1/tasks/took/events')).json
  const values = events.flatMap(({ data }: { data: { value?: unknown } }) =>
    'value' in data ? [data.value] : [],
  )
  // As it was received, and as it ended the wait.
  expect(values).toEqual([fields, fields])
  const { items } = (await call('GET', '/api/v1/tasks/took/output')).json
  expect(items).toMatchObject([{ data: fields }])
  expect((await call('GET', '/api/v1/tasks/took/checkpoint')).json).toMatchObject({
    checkpoint: { data: fields },
  })
  const other = callerOf(serverOn(runtime, { redact: ['value.output.word', 'data.error'] }))
  const received = (await other('GET', '/api/v1/tasks/took/events')).json.events.find(
    ({ type }: { type: string }) => type === 'signal.received',
  )
  expect(received.data.value).toEqual({ ...fields, output: { word: '[redacted]' } })
  expect((await other('GET', '/api/v1/tasks/took/output')).json.items).toMatchObject([
    { data: { ...fields, error: '[redacted]' } },
  ])
})

test('values that are encrypted are in no file of the store, and in no line of the log', () => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile())
  const stored = files
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    .join('\n')
  expect(stored).not.toContain('sesame')
  // As docs/security.md says, messages of errors stay readable.
  expect(stored).toContain('mellon')
  expect(logged.filter((line) => /sesame|mellon/.test(line))).toEqual([])
  expect(logged.length).toBeGreaterThan(0)
})
