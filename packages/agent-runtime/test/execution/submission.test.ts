import { PayloadTooLarge, StepNotSerializable } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type SubmitOptions, type TaskRejected } from '../../src/index.ts'
import { turns, virtualRuntime } from '../virtual-runtime.ts'

const seen: unknown[] = []
const review = defineTask(
  { type: 'review', input: z.object({ repo: z.string(), depth: z.coerce.number().default(1) }) },
  (_, input) => {
    seen.push(input)
    return input
  },
)
const late = defineTask(
  { type: 'late', input: z.any(), lane: 'batch', model: 'm', tools: ['t'], timeoutMs: 5_000 },
  () => {},
)
const tasks = [review, late]

describe('execution: submission', () => {
  test('stores the input as given and parses it again at the worker', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    const receipt = await runtime.submit(review, { repo: '.', depth: '7' })
    expect(await runtime.result(receipt)).toEqual({ repo: '.', depth: 7 })
    expect(seen.at(-1)).toEqual({ repo: '.', depth: 7 })
    expect(await runtime.status(receipt.taskId)).toMatchObject({
      state: 'completed',
      input: { repo: '.', depth: '7' },
    })
  })

  test('G03 an unknown type is a recorded rejection that names what is known', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    const receipt = await runtime.submit('constructor', {})
    expect(receipt).toMatchObject({ accepted: false, reason: 'unknown_task_type' })
    expect(receipt).toHaveProperty('message', expect.stringMatching(/^type: .*"constructor".* review, late$/))
    expect(await runtime.status(receipt.taskId)).toMatchObject({
      state: 'rejected',
      reason: 'unknown_task_type',
    })
  })

  test('a value that is no type at all is thrown', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    for (const type of ['', 'x'.repeat(256), 'a\ud800', undefined, null, 5, {}]) {
      await expect(runtime.submit(type as string, {})).rejects.toThrow('a task type of 1 to 255 characters')
    }
  })

  test('a rejection keeps its message short', async () => {
    const picky = defineTask(
      { type: 'picky', input: z.any().refine(() => false, 'x'.repeat(10_000)) },
      () => {},
    )
    const { runtime } = await virtualRuntime({ tasks: [picky] })
    const receipt = await runtime.submit(picky, null)
    expect(receipt).toHaveProperty('message.length', 2_001)
  })

  test('an invalid input is a recorded rejection that names the field and what was expected', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    const receipt = await runtime.submit('review', { repo: 4 })
    expect(receipt).toMatchObject({ accepted: false, reason: 'invalid_payload' })
    expect(receipt).toHaveProperty(
      'message',
      expect.stringContaining('input.repo: Invalid input: expected string'),
    )
    await expect(runtime.result(receipt)).rejects.toMatchObject({
      name: 'TaskRejected',
      code: 'invalid_payload',
    })
    expect((await runtime.stats()).totals).toMatchObject({ submitted: 0, rejected: 1 })
  })

  test('G01 an input above maxPayloadBytes is thrown, and nothing is stored', async () => {
    const { runtime } = await virtualRuntime({
      tasks,
      config: { maxPayloadBytes: 1_000, maxInlineBytes: 500 },
    })
    // Its text has two quotes: one byte too much, and just enough.
    await expect(runtime.submit(late, 'x'.repeat(999))).rejects.toThrow(PayloadTooLarge)
    await expect(runtime.submit(late, 'x'.repeat(998))).resolves.toMatchObject({ accepted: true })
    expect((await runtime.list()).tasks).toHaveLength(1)
  })

  test('an input that cannot be stored is thrown, naming the place', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    const submitted = runtime.submit(late, { a: [() => 1] })
    await expect(submitted).rejects.toThrow(StepNotSerializable)
    await expect(submitted).rejects.toThrow("the input of task 'late' cannot be stored: $.a[0] is a function")
  })

  test.each([
    [{ lane: 'fast' }, 'submit option lane: interactive | normal | batch; given "fast"'],
    [{ taskId: '' }, 'submit option taskId: 1 to 255 characters, no lone surrogates; given ""'],
    [{ idempotencyKey: 'x'.repeat(256) }, 'submit option idempotencyKey: 1 to 255 characters'],
    [{ labels: { a: 1 } }, 'submit option labels: an object of strings'],
    [{ tools: 'grep' }, 'submit option tools: a list of names'],
    [{ delayMs: -1 }, 'submit option delayMs: a whole number of ms from 0 to 8.64e15; given -1'],
    [{ delayMs: 0.5 }, 'submit option delayMs'],
    [{ dueAt: 1e300 }, 'submit option dueAt'],
    [{ dueAt: new Date('soon') }, 'submit option dueAt: a Date, or epoch ms'],
    [{ dueAt: new Date(-1) }, 'submit option dueAt'],
    [{ delayMs: Number.NaN }, 'submit option delayMs'],
    [{ timeoutMs: 0 }, 'submit option timeoutMs: a number of ms above 0; given 0'],
    [{ tokens: 1.5 }, 'submit option tokens: a whole number, 0 or more; given 1.5'],
    [{ dueAt: 1, delayMs: 1 }, 'submit options dueAt and delayMs: give only one of them'],
    [{ furthermore: 1 }, 'submit option furthermore: no such option; there are lane, taskId,'],
    [
      { idempotencykey: 'k' },
      'submit option idempotencykey: no such option, did you mean idempotencyKey?; given "k"',
    ],
    [{ onReject: 'fail' }, 'submit option onReject: return | throw; given "fail"'],
    [{ idempotencyKey: 'k\ud800' }, 'submit option idempotencyKey: 1 to 255 characters, no lone surrogates'],
    [{ taskId: '\udfff' }, 'submit option taskId: 1 to 255 characters, no lone surrogates; given "\\udfff"'],
    [{ client: '\ud800' }, 'submit option client'],
    [{ model: '\ud800' }, 'submit option model'],
    [{ tools: ['ok', '\ud800'] }, 'submit option tools'],
    [{ labels: { a: '\ud800' } }, 'submit option labels: an object of strings, no lone surrogates'],
    [{ labels: { '\ud800': 'a' } }, 'submit option labels'],
    [{ labels: new Map([['a', 'b']]) }, 'submit option labels'],
    [5, 'submit options: an object with lane, taskId,'],
    [null, 'submit options: an object with lane, taskId,'],
    [new AbortController().signal, 'submit options: an object with lane, taskId,'],
  ])('G07 refuses the options %j', async (options, message) => {
    const { runtime } = await virtualRuntime({ tasks })
    const submitted = runtime.submit('late', null, options as never)
    await expect(submitted).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(submitted).rejects.toThrow(message)
    expect((await runtime.list()).tasks).toEqual([])
  })

  test('an option that a submission leaves out comes from its task type', async () => {
    const { runtime } = await virtualRuntime({ tasks, workers: 0 })
    const plain = await runtime.submit(late, null)
    expect(await runtime.status(plain.taskId)).toMatchObject({ lane: 'batch', model: 'm', tools: ['t'] })
    const said = await runtime.submit(late, null, {
      lane: 'interactive',
      model: 'n',
      tools: [],
      labels: { a: 'b' },
      client: 'c',
    })
    expect(await runtime.status(said.taskId)).toMatchObject({
      lane: 'interactive',
      model: 'n',
      tools: [],
      labels: { a: 'b' },
      client: 'c',
    })
  })

  test('one idempotency key is one task, and a conflict with another input', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    const options = { idempotencyKey: 'k' }
    const first = await runtime.submit(review, { repo: '.' }, options)
    expect(await runtime.submit(review, { repo: '.' }, options)).toEqual({ ...first, deduplicated: true })
    await expect(runtime.submit(review, { repo: '/' }, options)).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'idempotency_conflict',
      details: { taskId: first.taskId },
    })
  })

  test('a rejected submission never binds its key', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    const options = { idempotencyKey: 'k' }
    expect(await runtime.submit('review', {}, options)).toMatchObject({ accepted: false })
    expect(await runtime.submit(review, { repo: '.' }, options)).toMatchObject({
      accepted: true,
      deduplicated: false,
    })
  })

  test('an explicit id is taken once', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    expect(await runtime.submit(review, { repo: '.' }, { taskId: 'mine' })).toMatchObject({ taskId: 'mine' })
    await expect(runtime.submit(review, { repo: '.' }, { taskId: 'mine' })).rejects.toMatchObject({
      code: 'already_exists',
    })
    expect(await runtime.result('mine')).toEqual({ repo: '.', depth: 1 })
  })

  test('many submissions are one commit, with receipts in their order', async () => {
    const { runtime } = await virtualRuntime({ tasks, workers: 0 })
    const before = (await runtime.stats()).commits
    const receipts = await runtime.submitMany([
      { task: review, input: { repo: 'a' } },
      { task: late, input: 1, options: { lane: 'normal' } },
      { task: 'nope', input: 1 },
    ])
    expect(receipts.map(({ accepted, sequence }) => [accepted, sequence])).toEqual([
      [true, 1],
      [true, 2],
      [false, 3],
    ])
    expect((await runtime.stats()).commits).toBe(before + 1)
    expect(await runtime.submitMany([])).toEqual([])
  })

  test('a conflict among many tells all receipts: the others are committed', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    await runtime.submit(review, { repo: '.' }, { taskId: 'mine' })
    const submitted = runtime.submitMany([
      { task: review, input: { repo: 'a' } },
      { task: review, input: { repo: 'b' }, options: { taskId: 'mine' } },
    ])
    await expect(submitted).rejects.toMatchObject({
      code: 'already_exists',
      details: { index: 1, receipts: [{ accepted: true }, { accepted: false, reason: 'already_exists' }] },
    })
    expect((await runtime.list()).tasks).toHaveLength(2)
  })

  test('a rejection is thrown where the caller asks for it, and recorded all the same', async () => {
    const { runtime } = await virtualRuntime({
      tasks,
      workers: 0,
      config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 },
    })
    const onReject = 'throw'
    await expect(runtime.submit('review', { repo: 4 }, { onReject })).rejects.toMatchObject({
      name: 'TaskRejected',
      code: 'invalid_payload',
      reason: 'invalid_payload',
    })
    expect(await runtime.submit(review, { repo: '.' }, { onReject })).toMatchObject({ accepted: true })
    const error: unknown = await runtime
      .submit(review, { repo: '.' }, { onReject })
      .catch((it: unknown) => it)
    expect(error).toMatchObject({
      name: 'TaskRejected',
      code: 'limit_exceeded',
      reason: 'queue_full',
      forGood: false,
      message: expect.stringMatching(
        /^task \S+ was rejected \(queue_full\): the queue depth is 1, and queueDepthLimit is 1; submit later$/,
      ),
    })
    expect(await runtime.status((error as TaskRejected).taskId)).toMatchObject({ state: 'rejected' })
    expect(await runtime.submit(review, { repo: '.' }, { onReject: 'return' })).toMatchObject({
      accepted: false,
    })
    const graph = { nodes: { node: { task: review, input: { repo: '.' } } } }
    expect(await runtime.submitGraph(graph)).toMatchObject({ accepted: false })
    await expect(runtime.submitGraph(graph, { onReject })).rejects.toThrow('(queue_full)')
    expect((await runtime.stats()).totals).toMatchObject({ submitted: 1, rejected: 5 })
  })

  test('a thrown rejection among many has all receipts: the others are committed', async () => {
    const { runtime } = await virtualRuntime({ tasks, workers: 0 })
    const submitted = runtime.submitMany([
      { task: review, input: { repo: 'a' }, options: { onReject: 'throw' } },
      { task: 'nope', input: 1 },
      { task: 'nope', input: 2, options: { onReject: 'throw' } },
    ])
    await expect(submitted).rejects.toMatchObject({
      name: 'TaskRejected',
      reason: 'unknown_task_type',
      message: expect.stringContaining('item 2: type: '),
      details: { index: 2, receipts: [{ accepted: true }, { accepted: false }, { accepted: false }] },
    })
    expect((await runtime.list()).tasks).toHaveLength(3)
  })

  test('a schema that answers later, and one that throws', async () => {
    const slow = defineTask(
      {
        type: 'slow',
        input: z.string().refine(async (text) => Promise.resolve(text !== 'bad'), 'must not be bad'),
      },
      (_, text) => text.length,
    )
    const broken = defineTask(
      {
        type: 'broken',
        input: z.string().refine(() => {
          throw new Error('no database')
        }),
      },
      () => 1,
    )
    const { runtime } = await virtualRuntime({ tasks: [slow, broken] })
    expect(await runtime.result(await runtime.submit(slow, 'good'))).toBe(4)
    expect(await runtime.submit(slow, 'bad')).toMatchObject({
      reason: 'invalid_payload',
      message: expect.stringContaining('must not be bad'),
    })
    expect(await runtime.submit(broken, 'x')).toMatchObject({
      reason: 'invalid_payload',
      message: expect.stringContaining('no database'),
    })
  })

  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [{}, '{}'],
    [{ issues: [{}] }, '{"issues":[{}]}'],
    [Promise.resolve(), 'undefined'],
  ])('a schema that answers with %j is refused with that', async (answer, shown) => {
    const odd = defineTask(
      {
        type: 'odd',
        input: { '~standard': { version: 1, vendor: 'mine', validate: () => answer as never } },
      },
      () => 1,
    )
    const { runtime } = await virtualRuntime({ tasks: [odd] })
    expect(await runtime.submit('odd', 1)).toMatchObject({
      reason: 'invalid_payload',
      message:
        "the schema of task 'odd' failed: a schema's validate must return { value } or { issues: [{ message }] }; " +
        `this one returned ${shown}`,
    })
  })

  test('an output schema that gives no answer fails the task, saying so', async () => {
    const output = {
      '~standard': { version: 1, vendor: 'mine', validate: () => undefined as never },
    } as const
    const odd = defineTask({ type: 'odd', input: z.null(), output }, () => 1)
    const { runtime } = await virtualRuntime({ tasks: [odd] })
    await expect(runtime.result(await runtime.submit('odd', null))).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining("a schema's validate must return { value }"),
    })
  })

  test('an error about one of many names the item, and nothing is stored', async () => {
    const { runtime } = await virtualRuntime({ tasks })
    const good = { task: review, input: { repo: '.' } }
    const submit = (item: unknown) => runtime.submitMany([good, item] as never)
    await expect(submit({ task: late, input: () => 1 })).rejects.toThrow(
      "item 1: the input of task 'late' cannot be stored: $ is a function",
    )
    await expect(submit({ task: late, input: 'x'.repeat(1_048_576) })).rejects.toThrow(
      "item 1: the input of task 'late' is too large",
    )
    await expect(submit({ task: late, input: 1, options: { lane: 'fast' } })).rejects.toThrow(
      'item 1: submit option lane',
    )
    await expect(submit({ task: 5, input: 1 })).rejects.toThrow(
      'item 1: submit: what defineTask or defineContract returns, or',
    )
    await expect(submit({ task: late, inputs: 1 })).rejects.toThrow(
      'item 1: inputs: no such option, did you mean input?',
    )
    await expect(submit(null)).rejects.toThrow('item 1: an object with task, input, options; given null')
    expect((await runtime.list()).tasks).toEqual([])
  })

  test('a delayed task starts when it is due, not before', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks })
    const receipt = await runtime.submit(review, { repo: '.' }, { delayMs: 60_000 })
    await elapse(59_800)
    expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'queued' })
    expect(await runtime.explain(receipt.taskId)).toMatchObject({ waitsFor: 'delay' })
    await elapse(300)
    expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'completed' })
  })

  test('backpressure: batch is refused at 500, everything at 1000', async () => {
    const { runtime } = await virtualRuntime({ tasks, workers: 0 })
    const fill = (count: number) =>
      runtime.submitMany(Array.from({ length: count }, () => ({ task: review, input: { repo: '.' } })))
    const lanes = ['interactive', 'normal', 'batch'] as const
    await fill(499)
    expect(await runtime.submit(late, null, { lane: 'batch' })).toMatchObject({ accepted: true })
    expect(await runtime.submit(late, null, { lane: 'batch' })).toMatchObject({
      accepted: false,
      reason: 'backpressure',
    })
    expect(await runtime.submit(late, null, { lane: 'normal' })).toMatchObject({ accepted: true })
    await fill(499)
    for (const lane of lanes) {
      expect(await runtime.submit(late, null, { lane })).toMatchObject({
        accepted: false,
        reason: 'queue_full',
      })
    }
  })

  test('quotas: a task above its quota is rejected with quota_exceeded', async () => {
    const quotaConfig = { models: { m: { maxInFlight: 1 } } }
    const { runtime } = await virtualRuntime({ tasks, workers: 0, config: { quotaConfig } })
    expect(await runtime.submit(late, null)).toMatchObject({ accepted: true })
    expect(await runtime.submit(late, null)).toMatchObject({ accepted: false, reason: 'quota_exceeded' })
    expect(await runtime.submit(late, null, { model: 'n' })).toMatchObject({ accepted: true })
  })
})

describe('execution: stored input that no longer fits', () => {
  test('fails the task with schema_mismatch, without calling the handler', async () => {
    const before = defineTask({ type: 'job', input: z.object({ old: z.string() }) }, () => 'ran')
    const after = defineTask(
      { type: 'job', input: z.object({ fresh: z.string() }), retry: { attempts: 5 } },
      () => 'ran',
    )
    const { runtime, store, environment } = await virtualRuntime({ tasks: [before], workers: 0 })
    const receipt = await runtime.submit(before, { old: 'x' })
    await runtime.stop()
    const deployed = await createRuntime({
      store,
      environment,
      tasks: [after],
      telemetry: false,
      logger: false,
    })
    await turns()
    expect(await deployed.status(receipt.taskId)).toMatchObject({
      state: 'failed',
      kind: 'schema_mismatch',
      attempt: 1,
      error: {
        code: 'schema_mismatch',
        message: expect.stringContaining('input.fresh: Invalid input: expected string'),
      },
    })
    await deployed.stop()
  })

  test('a time is a Date or epoch ms, for tasks, children and nodes', async () => {
    const at = new Date(Date.UTC(2026, 5, 1))
    const plain = defineTask({ type: 'plain', input: z.null() }, () => 1)
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) =>
      ctx.call('child', plain, null, { dueAt: at }),
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [plain, parent] })
    await runtime.submit(plain, null, { dueAt: at })
    await runtime.submit(plain, null, { dueAt: at.getTime() })
    await runtime.submit(parent, null)
    await runtime.submitGraph({ nodes: { node: { task: plain, input: null, options: { dueAt: at } } } })
    await elapse(10)
    const { tasks: queued } = await runtime.list({ types: ['plain'] })
    expect(queued.map((task) => task.state === 'queued' && task.dueAt)).toEqual(Array(4).fill(at.getTime()))
  })

  test('a delayed submission is an automated run, in the batch lane, unless something names a lane', async () => {
    const plain = defineTask({ type: 'plain', input: z.null() }, () => 1)
    const named = defineTask({ type: 'named', input: z.null(), lane: 'normal' }, () => 1)
    const { runtime } = await virtualRuntime({ tasks: [plain, named] })
    const laneOf = async (type: string, input: unknown, options?: SubmitOptions) =>
      (await runtime.status((await runtime.submit(type, input, options)).taskId))?.lane
    expect(await laneOf('plain', null)).toBe('normal')
    expect(await laneOf('plain', null, { delayMs: 0 })).toBe('normal')
    expect(await laneOf('plain', null, { delayMs: 1_000 })).toBe('batch')
    expect(await laneOf('plain', null, { dueAt: 9e12 })).toBe('batch')
    expect(await laneOf('plain', null, { delayMs: 1_000, lane: 'interactive' })).toBe('interactive')
    expect(await laneOf('named', null, { delayMs: 1_000 })).toBe('normal')
  })
})
