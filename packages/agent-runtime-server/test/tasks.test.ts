import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { backupStore } from '@ku0/agent-runtime-persistence'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { serve } from '../src/index.ts'
import { callerOf, servedRuntime, serverOn, token } from './served.ts'

const runtime = await servedRuntime()
const call = callerOf(serverOn(runtime, { redact: ['input.password', 'data.*.hidden', 'artifact.secret'] }))

async function submitted(task: string, input: unknown, options: object = {}): Promise<string> {
  const { status, json } = await call('POST', '/api/v1/tasks', { task, input, options })
  expect(status).toBe(201)
  return json.taskId
}

test('a task is submitted, waited for and shown, with times in ISO 8601', async () => {
  const { status, headers, json } = await call('POST', '/api/v1/tasks', {
    task: 'add',
    input: { a: 1, b: 2 },
    options: { taskId: 'sum/1', labels: { team: 'alpha' } },
  })
  expect([status, headers.get('location')]).toEqual([201, '/api/v1/tasks/sum%2F1'])
  expect(json).toEqual({ accepted: true, taskId: 'sum/1', sequence: 1, deduplicated: false })

  const result = await call('GET', '/api/v1/tasks/sum%2F1/result?waitMs=10000')
  expect([result.status, result.json]).toEqual([200, { taskId: 'sum/1', state: 'completed', output: 3 }])

  const shown = await call('GET', '/api/v1/tasks/sum%2F1')
  expect(shown.json).toMatchObject({
    task: { state: 'completed', input: { a: 1, b: 2 }, output: 3, labels: { team: 'alpha' } },
    leases: [{ attempt: 1, endReason: 'completed' }],
    steps: [{ key: 'sum', result: 3 }],
    children: [],
  })
  expect(shown.json.task.submittedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('a task that has not ended is answered 202, at once or after the wait', async () => {
  const taskId = await submitted('wait', null)
  for (const query of ['', '?waitMs=1']) {
    const { status, json } = await call('GET', `/api/v1/tasks/${taskId}/result${query}`)
    expect([status, json.taskId]).toEqual([202, taskId])
  }
  const signal = await call('POST', `/api/v1/tasks/${taskId}/signal`, { name: 'go', value: { on: true } })
  expect(signal.json).toMatchObject({ delivered: true })
  const { json } = await call('GET', `/api/v1/tasks/${taskId}/result?waitMs=10000`)
  expect(json).toEqual({ taskId, state: 'completed', output: { on: true } })
})

test('E10 a submission waits for its outcome; a caller who leaves meanwhile ends the task only if it was to be so', async () => {
  const done = await call('POST', '/api/v1/tasks?waitMs=10000', { task: 'add', input: { a: 1, b: 2 } })
  expect([done.status, done.json]).toMatchObject([
    201,
    { accepted: true, outcome: { taskId: done.json.taskId, state: 'completed', output: 3 } },
  ])
  const once = await call('POST', '/api/v1/tasks?waitMs=0', { task: 'wait', input: null })
  expect([once.status, once.json.outcome]).toEqual([201, undefined])
  const early = await call('POST', '/api/v1/tasks?waitMs=1', { task: 'wait', input: null })
  expect([early.status, early.json.outcome.output]).toEqual([201, undefined])

  const server = await serve(runtime, { port: 0 })
  const open = async () =>
    /^agent_runtime_http_streams (\d+)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]
  const stateOf = async (taskId: string) => (await runtime.status(taskId))?.state
  /** Submits, waits, and leaves once the task waits. */
  const leave = async (query: string, taskId: string, idempotencyKey = taskId) => {
    const gone = new AbortController()
    const asked = fetch(`${server.url}/api/v1/tasks?waitMs=60000${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify({ task: 'wait', input: null, options: { taskId } }),
      signal: gone.signal,
    })
    await expect.poll(() => stateOf(idempotencyKey), { timeout: 50_000 }).toBe('waiting')
    await expect.poll(open, { timeout: 50_000 }).toBe('1')
    gone.abort()
    await expect(asked).rejects.toThrow('aborted')
    await expect.poll(open, { timeout: 50_000 }).toBe('0')
  }
  await leave('', 'goes-on')
  expect(await stateOf('goes-on')).toBe('waiting')
  await leave('&cancelOnDisconnect=true', 'ends')
  await expect.poll(() => stateOf('ends'), { timeout: 50_000 }).toBe('canceled')
  // It was submitted by another request.
  await leave('&cancelOnDisconnect=true', 'goes-on', 'goes-on')
  expect(await stateOf('goes-on')).toBe('waiting')
  await runtime.cancel('goes-on')
  await server.close()

  const writer = callerOf(serverOn(runtime, { tokens: [token('writer', ['submit'])] }), {
    authorization: 'Bearer writer',
  })
  const submission = { task: 'wait', input: null }
  expect((await writer('POST', '/api/v1/tasks?waitMs=1', submission)).status).toBe(403)
  const unmeant = await call('POST', '/api/v1/tasks?cancelOnDisconnect=true', submission)
  expect([unmeant.status, unmeant.json.fields[0].field]).toEqual([400, 'query.cancelOnDisconnect'])
})

test('the end of a failed and of a canceled task is a result, too', async () => {
  const failed = await submitted('fail', null)
  const { status, json } = await call('GET', `/api/v1/tasks/${failed}/result?waitMs=10000`)
  expect([status, json]).toMatchObject([
    200,
    { state: 'failed', kind: 'error', error: { message: 'broken' } },
  ])

  const waiting = await submitted('wait', null)
  const canceled = await call('POST', `/api/v1/tasks/${waiting}/cancel`, { reason: 'no need' })
  expect(canceled.json).toEqual({ canceled: true })
  expect((await call('POST', `/api/v1/tasks/${waiting}/cancel`)).json).toEqual({ canceled: false })
  const end = await call('GET', `/api/v1/tasks/${waiting}/result`)
  expect(end.json).toEqual({ taskId: waiting, state: 'canceled', reason: 'no need' })

  const again = await call('POST', `/api/v1/tasks/${failed}/retry`, { idempotencyKey: 'once' })
  const same = await call('POST', `/api/v1/tasks/${failed}/retry`, { idempotencyKey: 'once' })
  expect([again.status, same.json]).toEqual([201, { ...again.json, deduplicated: true }])

  const first = await call('POST', `/api/v1/tasks/${failed}/retry`)
  const second = await call('POST', `/api/v1/tasks/${failed}/retry`)
  expect(second.json).toEqual({ ...first.json, deduplicated: true })
  const third = await call('POST', `/api/v1/tasks/${failed}/retry`, { again: true })
  expect(third.json).toMatchObject({ deduplicated: false })
})

test('the header Idempotency-Key is the key of the submission', async () => {
  const body = { task: 'add', input: { a: 2, b: 2 } }
  const key = { 'idempotency-key': 'two and two' }
  const first = await call('POST', '/api/v1/tasks', body, key)
  const second = await call('POST', '/api/v1/tasks', body, key)
  expect(second.json).toEqual({ ...first.json, deduplicated: true })
  const other = await call('POST', '/api/v1/tasks', { ...body, input: { a: 2, b: 3 } }, key)
  expect([other.status, other.json.code]).toEqual([409, 'idempotency_conflict'])
  const two = await call('POST', '/api/v1/tasks', { ...body, options: { idempotencyKey: 'x' } }, key)
  expect(two.json.fields).toEqual([
    { field: 'body.options.idempotencyKey', allowed: 'the same as the header Idempotency-Key, or nothing' },
  ])
})

test.each(['fork', 'retry'])('the header Idempotency-Key is the key of a %s', async (action) => {
  const { taskId } = (await runtime.submit('fail', {})) as { readonly taskId: string }
  await runtime.result(taskId).catch(() => {})
  const path = `/api/v1/tasks/${taskId}/${action}`
  const key = { 'idempotency-key': `${action} once` }
  const first = await call('POST', path, {}, key)
  const second = await call('POST', path, undefined, key)
  expect([first.status, second.json]).toEqual([201, { ...first.json, deduplicated: true }])
  const other = await call('POST', path, {}, { 'idempotency-key': `${action} again` })
  expect(other.json.taskId).not.toBe(first.json.taskId)
  const two = await call('POST', path, { idempotencyKey: 'x' }, key)
  expect(two.json.fields).toEqual([
    { field: 'body.idempotencyKey', allowed: 'the same as the header Idempotency-Key, or nothing' },
  ])
})

test('several are submitted in one commit, and a rejected one stands among them', async () => {
  const { commits } = await runtime.stats()
  const { status, json } = await call('POST', '/api/v1/tasks:batch', {
    tasks: [
      { task: 'speak', input: 1 },
      { task: 'spek', input: 1 },
    ],
  })
  expect(status).toBe(201)
  expect(json.receipts).toMatchObject([{ accepted: true }, { accepted: false, reason: 'unknown_task_type' }])
  expect((await runtime.stats()).commits).toBeGreaterThan(commits)
})

test('a full queue is 429 with Retry-After and the receipt; what can never be accepted is 422', async () => {
  const type = await call('POST', '/api/v1/tasks', { task: 'ad', input: 1 })
  expect([type.status, type.json.code, type.json.receipt.reason]).toEqual([
    422,
    'unknown_task_type',
    'unknown_task_type',
  ])
  expect(type.json.detail).toContain('did you mean add?')
  const input = await call('POST', '/api/v1/tasks', { task: 'add', input: { a: 'x' } })
  expect([input.status, input.json.code]).toEqual([422, 'invalid_payload'])

  const idle = await servedRuntime({
    workers: 0,
    config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 },
  })
  const callIdle = callerOf(serverOn(idle))
  await callIdle('POST', '/api/v1/tasks', { task: 'speak', input: 0 })
  const full = await callIdle('POST', '/api/v1/tasks', { task: 'speak', input: 0 })
  expect([full.status, full.json.code, full.headers.get('retry-after')]).toEqual([429, 'limit_exceeded', '1'])
  expect(full.json.receipt).toMatchObject({ accepted: false, reason: 'queue_full' })
})

test('an unknown field is refused with its name and the nearest that there is', async () => {
  const body = await call('POST', '/api/v1/tasks', { task: 'add', input: 1, options: { lan: 'batch' } })
  expect([body.status, body.json.fields]).toEqual([
    400,
    [{ field: 'body.options.lan', allowed: 'no such field, did you mean lane?' }],
  ])
  const above = await call('POST', '/api/v1/tasks', { task: 'add', input: 1, taskId: 'mine', lan: 'batch' })
  expect(above.json.detail).toContain('body.taskId: no such field, did you mean options.taskId?')
  const many = await call('POST', '/api/v1/tasks:batch', { tasks: [{ task: 'add', inptu: 1 }] })
  expect(many.json.fields).toContainEqual({
    field: 'body.tasks.0.inptu',
    allowed: 'no such field, did you mean input?',
  })
  const query = await call('GET', '/api/v1/tasks?state=queued')
  expect(query.json.detail).toBe('query.state: no such field, did you mean states?')
  const none = await call('GET', '/api/v1/tasks/x/explain?depth=1')
  expect(none.json.detail).toBe('query.depth: no such field; there are none')
})

test('a path that does not exist is refused with the nearest that there is, or with those that begin like it', async () => {
  const detail = async (path: string) => (await call('POST', path, {})).json.detail
  const all = 'GET /api/v1/openapi.json lists all'
  for (const [path, near] of [
    ['/api/v1/tasks/a/signals/paid', 'in place of signals, did you mean signal? '],
    ['/api/v1/clients/acme/purchases', 'in place of purchases there are credits, ledger; '],
    ['/api/v1/task', 'in place of task, did you mean tasks? '],
    ['/api/v1/nothing', ''],
    ['/tasks', 'put /api/v1 before it; '],
    ['/tasks/a/signal?x=1', 'put /api/v1 before it; '],
    ['/api/v1', ''],
    ['/api/v2/tasks', ''],
    ['/favicon.ico', ''],
  ] as const)
    expect(await detail(path)).toBe(`the API has no such path; ${near}${all}`)
})

test('tasks are listed by states, labels, client and text, page by page, and counted', async () => {
  for (const n of [1, 2, 3])
    await runtime.submit('speak', 0, { taskId: `listed-${n}`, client: 'acme', labels: { n: String(n % 2) } })
  const ids = async (query: string) => {
    const { json } = await call('GET', `/api/v1/tasks?${query}`)
    return json.tasks.map(({ taskId }: { taskId: string }) => taskId)
  }
  expect(await ids('client=acme')).toEqual(['listed-3', 'listed-2', 'listed-1'])
  expect(await ids('client=acme&label=n%3D1')).toEqual(['listed-3', 'listed-1'])
  expect(await ids('text=ISTED-2&types=speak,add')).toEqual(['listed-2'])
  expect(await ids('states=failed&text=BROKEN&limit=1')).toHaveLength(1)

  const first = await call('GET', '/api/v1/tasks?client=acme&limit=2&count=true')
  expect([first.json.tasks.length, first.json.count]).toEqual([2, 3])
  const rest = await ids(`client=acme&limit=2&cursor=${first.json.cursor}`)
  expect(rest).toEqual(['listed-1'])
  const all = await call('GET', '/api/v1/tasks?limit=1&count=true')
  expect(all.json.count).toBe(await runtime.count())
})

test('pages of any size have each task of a text once, also where most tasks lack it', async () => {
  const tasks = Array.from({ length: 40 }, (_, at) => ({
    task: 'wait',
    input: at,
    options: { taskId: `${at % 7 === 0 ? 'needle' : 'straw'}-${at}`, labels: { pile: 'hay' } },
  }))
  await runtime.submitMany(tasks)
  const wanted = ['needle-35', 'needle-28', 'needle-21', 'needle-14', 'needle-7', 'needle-0']
  for (const limit of [1, 2, 3, 5, 6, 7, 50]) {
    const found: string[] = []
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const after = cursor === '' ? '' : `&cursor=${cursor}`
      const { json } = await call('GET', `/api/v1/tasks?text=NEEDLE&label=pile%3Dhay&limit=${limit}${after}`)
      expect(json.tasks.length).toBeLessThanOrEqual(limit)
      found.push(...json.tasks.map(({ taskId }: { taskId: string }) => taskId))
      ;({ cursor } = json)
    }
    expect([limit, found]).toEqual([limit, wanted])
  }
  await runtime.cancelMany({ labels: { pile: 'hay' } })
})

test('tasks are listed without their inputs and outputs on demand', async () => {
  await runtime.result(await runtime.submit('add', { a: 1, b: 2 }, { taskId: 'light' }))
  const listed = async (more: string) => {
    const { json } = await call('GET', `/api/v1/tasks?text=light&types=add${more}`)
    return json.tasks[0]
  }
  const { input, output, ...rest } = await listed('')
  expect([input, output]).toEqual([{ a: 1, b: 2 }, 3])
  expect(await listed('&values=false')).toEqual(rest)
  expect(await listed('&values=true')).toEqual({ input, output, ...rest })
})

test('a task is shown with its children, which come without their inputs and outputs', async () => {
  await runtime.submit('watch-over', 'all of them', { taskId: 'parent' })
  for await (const { type } of runtime.events('parent')) if (type === 'task.waiting') break
  const { taskId } = await runtime.supervisors.start('parent', 'sum', 'add', { a: 1, b: 2 })
  await runtime.result(taskId)
  const { task, children } = (await call('GET', '/api/v1/tasks/parent')).json
  expect(task.input).toBe('all of them')
  const [listed] = (await call('GET', '/api/v1/tasks?parent=parent&types=add')).json.tasks
  const { input, output, ...rest } = listed
  expect([input, output]).toEqual([{ a: 1, b: 2 }, 3])
  expect(children[0]).toEqual(rest)
  await runtime.cancel('parent')
})

test('failed tasks are listed without their inputs on demand', async () => {
  await runtime.submit('fail', 'a large text', { taskId: 'heavy' })
  await runtime.result('heavy').catch(() => {})
  const listed = async (more: string) => (await call('GET', `/api/v1/dead-letters?limit=1${more}`)).json.tasks
  const [{ input, ...rest }] = await listed('')
  expect(input).toBe('a large text')
  expect(await listed('&values=false')).toEqual([rest])
})

test('values that are redacted are in no answer', async () => {
  await runtime.submit('wait', { user: 'ann', password: 'hunter2' }, { taskId: 'secret' })
  for (const path of ['', '/events', '/explain'])
    expect((await call('GET', `/api/v1/tasks/secret${path}`)).text).not.toContain('hunter2')
  expect((await call('GET', '/api/v1/tasks/secret')).json.task.input).toEqual({
    user: 'ann',
    password: '[redacted]',
  })
})

test.each(['error', 'error.message', 'error.*'])(
  'a message that %s redacts is in no answer',
  async (path) => {
    const guarded = callerOf(serverOn(runtime, { redact: [path] }))
    const { taskId } = (await runtime.submit('fail', {})) as { readonly taskId: string }
    await runtime.result(taskId).catch(() => {})
    expect((await runtime.explain(taskId))?.summary).toContain('broken')
    for (const route of ['', '/events', '/explain', '/result', '/history'])
      expect((await guarded('GET', `/api/v1/tasks/${taskId}${route}`)).text).not.toContain('broken')
    expect((await guarded('GET', '/api/v1/dead-letters')).text).not.toContain('broken')
    expect((await guarded('GET', '/api/v1/tasks?text=broken&count=true')).json).toMatchObject({
      tasks: [],
      count: 0,
    })
    const { json } = await guarded('GET', `/api/v1/tasks/${taskId}/explain`)
    expect(json).toMatchObject({ summary: '[redacted]', failure: { attempt: 1, message: '[redacted]' } })
  },
)

test('where messages are redacted, a task that has no error still says why it waits', async () => {
  const guarded = callerOf(serverOn(runtime, { redact: ['error.message'] }))
  const { taskId } = (await runtime.submit('add', { a: 1, b: 2 }, { delayMs: 3_600_000 })) as {
    readonly taskId: string
  }
  const summary = async (id: string) =>
    ((await guarded('GET', `/api/v1/tasks/${id}/explain`)).json as { readonly summary: string }).summary
  expect(await summary(taskId)).toMatch(/^is due at /)
  await runtime.cancel(taskId)
  expect(await summary(taskId)).toBe('[redacted]')
})

test('a replay compares the task with the code of the server', async () => {
  const taskId = await submitted('add', { a: 4, b: 4 })
  await runtime.result(taskId)
  const { json } = await call('POST', `/api/v1/tasks/${taskId}/replay`)
  expect(json).toMatchObject({ taskId, verdict: 'agreed', answered: { steps: 1 } })
})

test('a fork changes the result of a step', async () => {
  const taskId = await submitted('add', { a: 1, b: 1 })
  await runtime.result(taskId)
  const fork = await call('POST', `/api/v1/tasks/${taskId}/fork`, { edits: { sum: 100 } })
  expect(fork.status).toBe(201)
  expect(await runtime.result(fork.json.taskId)).toBe(100)
})

test('a task is shown with some of its steps, leases and children, and where the rest is', async () => {
  const call2 = callerOf(serverOn(runtime, { limits: { maxTaskRows: 2 } }))
  const get = async (path: string) => (await call2('GET', `/api/v1/tasks/${path}`)).json
  await runtime.submit('spend', null, { taskId: 'many-steps' })
  await runtime.result('many-steps')
  const shown = await get('many-steps')
  expect(shown).toMatchObject({
    task: { steps: 3 },
    steps: [{ key: 'a' }, { key: 'b' }],
    hasOlderLeases: false,
  })
  expect(shown).not.toHaveProperty('childrenCursor')
  const rest = await get(`many-steps/steps?after=${shown.stepsCursor}`)
  expect(rest).toMatchObject({ steps: [{ key: 'c', result: 'c' }] })
  expect(rest).not.toHaveProperty('cursor')
  expect(await get('many-steps/steps?limit=1')).toMatchObject({ steps: [{ key: 'a' }] })

  await runtime.submit('watch-over', null, { taskId: 'many-children' })
  for await (const { type } of runtime.events('many-children')) if (type === 'task.waiting') break
  for (const id of ['second', 'third', 'fourth']) {
    const { taskId } = await runtime.supervisors.start('many-children', id, 'speak', 0)
    await runtime.result(taskId)
  }
  const parent = await get('many-children')
  expect(parent.children).toHaveLength(2)
  const { tasks } = (await call2('GET', `/api/v1/tasks?parent=many-children&cursor=${parent.childrenCursor}`))
    .json
  expect(tasks).toHaveLength(2)

  await runtime.submit('insist', null, { taskId: 'many-leases' })
  await runtime.result('many-leases')
  const leases = await runtime.leases('many-leases')
  expect(leases.length).toBeGreaterThan(2)
  const insisted = await get('many-leases')
  expect(insisted.leases.map(({ leaseId }: { leaseId: string }) => leaseId)).toEqual(
    leases.slice(-2).map(({ leaseId }) => leaseId),
  )
  expect(insisted.hasOlderLeases).toBe(true)
})

test('a task of a restored store has as many leases as it had, whatever their tokens', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'server-restored-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const greet = defineTask({ type: 'greet', input: z.undefined() }, () => 'hello')
  const open = (name: string) =>
    createRuntime({ store: `sqlite:${join(folder, name)}`, tasks: [greet], logger: false, thread: false })
  await (await open('it.db')).close()
  await backupStore(`sqlite:${join(folder, 'it.db')}`, join(folder, 'copy.db'))
  await using restored = await open('copy.db')
  const receipt = await restored.submit('greet', undefined)
  await restored.result(receipt)
  const shown = await callerOf(serverOn(restored))('GET', `/api/v1/tasks/${receipt.taskId}`)
  expect(shown.json).toMatchObject({ leases: [{ attempt: 1 }], hasOlderLeases: false })
  expect(shown.json.leases[0].fencingToken).toBeGreaterThan(2 ** 20)
})

test('a missing task is 404 on every route of a task', async () => {
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/result'],
    ['GET', '/events'],
    ['GET', '/output'],
    ['GET', '/steps'],
    ['GET', '/explain'],
    ['POST', '/cancel'],
    ['POST', '/retry'],
    ['POST', '/resume'],
    ['POST', '/replay'],
  ] as const) {
    const { status, json } = await call(method, `/api/v1/tasks/nobody${path}`)
    expect([path, status, json.code]).toEqual([path, 404, 'not_found'])
  }
})

test('an input that is left out is undefined, in a submission and in a batch', async () => {
  const bare = defineTask({ type: 'bare', input: z.undefined() }, (_, input) => `took ${String(input)}`)
  const own = await createRuntime({
    store: 'sqlite::memory:',
    thread: false,
    tasks: [bare],
    logger: false,
    telemetry: false,
  })
  onTestFinished(() => own.close())
  const ask = callerOf(serverOn(own))
  const one = await ask('POST', '/api/v1/tasks?waitMs=10000', { task: 'bare' })
  expect([one.status, one.json.outcome]).toMatchObject([201, { output: 'took undefined' }])
  const batch = await ask('POST', '/api/v1/tasks:batch', { tasks: [{ task: 'bare' }] })
  const result = await ask('GET', `/api/v1/tasks/${batch.json.receipts[0].taskId}/result?waitMs=10000`)
  expect(result.json.output).toBe('took undefined')
  const put = await ask('PUT', '/api/v1/schedules/nightly', { task: 'bare', timing: { everyMs: 60_000 } })
  expect(put.status).toBe(200)
})

test('a path that has the root of the API twice is answered with the advice to leave it out', async () => {
  const { status, json } = await call('GET', '/api/v1/api/v1/tasks')
  expect([status, json.code]).toEqual([404, 'no_such_route'])
  expect(json.detail).toContain("leave it out of the server's URL")
  expect((await call('GET', '/api/v1/task')).json.detail).toContain('/api/v1/openapi.json lists all')
})

test('a field that is missing is named with the kind of value that it has', async () => {
  const { status, json } = await call('POST', '/api/v1/tasks', { type: 'add' })
  expect([status, json.fields]).toEqual([
    400,
    [
      { field: 'body.task', allowed: 'a string; not given' },
      { field: 'body.type', allowed: 'no such field; there are task, input, options' },
    ],
  ])
})
