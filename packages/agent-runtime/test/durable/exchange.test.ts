import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  createClient,
  createRuntime,
  defineContract,
  defineTask,
  type TaskContext,
  type TaskDefinition,
} from '../../src/index.ts'
import { encode } from '@ku0/agent-runtime-core'
import { openStore } from '@ku0/agent-runtime-persistence'
import { folder } from '../real-processes.ts'
import { all } from '../virtual-runtime.ts'

const contract = defineContract({
  type: 'review',
  input: z.null(),
  signals: {
    reply: z.object({ text: z.string().transform((text) => text.trim()) }),
    'note *': z.number(),
    'note text *': z.string(),
  },
  approvals: { publish: z.object({ title: z.string().transform((title) => title.length) }) },
  emits: z.object({ token: z.string() }),
})

/** A runtime that knows the type, a task of it, and what a process without definitions sends to it. */
async function reviewed(
  body: (ctx: TaskContext) => unknown,
  options: { readonly retry?: { readonly attempts: number } } = {},
) {
  const task = defineTask({ ...contract, ...options }, (ctx) => body(ctx) as null)
  const { runtime, store } = await realRuntime({ tasks: [task] })
  const receipt = await runtime.submit(task, null)
  const id: string = receipt.taskId
  const approvalId = async () =>
    (await found(async () => (await runtime.approvals.list({ task: id })).approvals[0])).approvalId as string
  const stranger = {
    signal: (name: string, value: unknown) =>
      store.write({ kind: 'signal', taskId: id, name, value: encode(value, { what: 'it' }) }),
    approve: async (verdict: object) =>
      store.write({
        kind: 'resolveApproval',
        taskId: id,
        request: Number((await approvalId()).split(':').at(-1)),
        verdict: 'approved',
        value: encode(verdict, { what: 'it' }),
      }),
  }
  return { runtime, stranger, id, approvalId }
}

const waits = (ctx: TaskContext) => ctx.waitForSignal('reply')

describe('signals that a task type declares (docs/semantics.md 12.4)', () => {
  test('reach the handler as their schema returns them', async () => {
    const it = await reviewed(async (ctx) => [
      await ctx.waitForSignal('reply'),
      await ctx.waitForSignal('note 7'),
      await ctx.waitForSignal('note text 7'),
      await ctx.waitForSignal('second reply', { signal: 'reply' }),
    ])
    await it.runtime.signal(it.id, 'reply', { text: ' yes ' })
    await it.runtime.signal(it.id, 'note text 7', 'seven')
    await it.stranger.signal('note 7', 7)
    await it.stranger.signal('reply', { text: ' no ', more: true })
    expect(await it.runtime.result(it.id)).toEqual([{ text: 'yes' }, 7, 'seven', { text: 'no' }])
  })

  test('refuse a sender who knows the type, with the path and what was expected, and store nothing', async () => {
    const it = await reviewed(waits)
    await expect(it.runtime.signal(it.id, 'reply', { text: 5 })).rejects.toThrow(
      "the value of signal 'reply' of task 'review' does not fit its schema: value.text: Invalid input: expected string, received number; nothing was stored",
    )
    await expect(it.runtime.signal(it.id, 'replay', { text: 'x' })).rejects.toThrow(
      "signal 'replay': task 'review' declares no signal of this name, did you mean reply?",
    )
    await expect(it.runtime.signal('nobody', 'reply', { text: 5 })).rejects.toMatchObject({
      code: 'not_found',
    })
    await it.runtime.signal(it.id, 'reply', { text: 'good' })
    expect(await it.runtime.result(it.id)).toEqual({ text: 'good' })
  })

  test('a client that has submitted the contract checks as well', async () => {
    await using client = await createClient({ store: 'sqlite::memory:', logger: false })
    const sent = await client.submit(contract, null)
    await expect(client.signal(sent, 'reply', { text: 5 } as never)).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })

  test('a stored value that does not fit throws schema_mismatch, in later passes too', async () => {
    const thrown: unknown[] = []
    const it = await reviewed(async (ctx) => {
      try {
        await ctx.waitForSignal('reply')
      } catch (error) {
        thrown.push((error as { code?: unknown }).code)
      }
      return ctx.waitForSignal('again', { signal: 'reply' })
    })
    await it.stranger.signal('reply', { text: 5 })
    while (thrown.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await it.stranger.signal('reply', { text: 'better' })
    expect(await it.runtime.result(it.id)).toEqual({ text: 'better' })
    expect(new Set(thrown)).toEqual(new Set(['schema_mismatch']))
  })

  test('a task that fails so says why at once, and its retry waits for another signal', async () => {
    const it = await reviewed(waits, { retry: { attempts: 2 } })
    await it.stranger.signal('reply', 5)
    await expect(it.runtime.result(it.id)).rejects.toThrow(
      "the stored value of signal 'reply' of task 'review' does not fit its schema: value: Invalid input: expected object, received number. Retry the task, and send the signal again",
    )
    expect(await it.runtime.status(it.id)).toMatchObject({ state: 'failed', attempt: 1 })
    const again = await it.runtime.retry(it.id)
    await it.runtime.signal(again.taskId, 'reply', { text: 'fits' })
    expect(await it.runtime.result(again)).toEqual({ text: 'fits' })
  })

  test('a handler cannot wait for one that is not declared', async () => {
    const it = await reviewed((ctx) => ctx.waitForSignal('replay'))
    await expect(it.runtime.result(it.id)).rejects.toThrow(
      "signal 'replay': task 'review' declares no signal of this name, did you mean reply?",
    )
  })

  test('a type without declarations takes any, beside one with them', async () => {
    const plain = defineTask({ type: 'plain', input: z.null() }, (ctx) => ctx.waitForSignal('any'))
    const other = defineTask(contract, () => null)
    const { runtime } = await realRuntime({ tasks: [plain, other] })
    const receipt = await runtime.submit(plain, null)
    await runtime.signal(receipt, 'any', { what: 'ever' })
    expect(await runtime.result(receipt)).toEqual({ what: 'ever' })
  })
})

describe('approvals whose values a task type declares (docs/semantics.md 12.1)', () => {
  const asks = (ctx: TaskContext) => ctx.requestApproval('publish', 'it')

  test('reach the handler as their schema returns them, and may leave the value out', async () => {
    const it = await reviewed(asks)
    const id = await it.approvalId()
    await expect(it.runtime.approvals.approve(id, { value: { title: 5 } })).rejects.toThrow(
      "the value of approval 'publish' of task 'review' does not fit its schema: value.title: Invalid input: expected string, received number; nothing was stored",
    )
    await it.runtime.approvals.approve(id, { by: 'Ada', value: { title: 'four' } })
    expect(await it.runtime.result(it.id)).toEqual({ asked: true, by: 'Ada', value: { title: 4 } })
    const bare = await reviewed(asks)
    await bare.runtime.approvals.approve(await bare.approvalId(), { by: 'Ada' })
    expect(await bare.runtime.result(bare.id)).toEqual({ asked: true, by: 'Ada' })
  })

  test('a stored value that does not fit fails the task, and its retry asks again', async () => {
    const it = await reviewed(asks)
    await it.stranger.approve({ value: 'no title' })
    await expect(it.runtime.result(it.id)).rejects.toThrow(
      "the stored value of approval 'publish' of task 'review' does not fit its schema: value: Invalid input: expected object, received string. Retry the task, and approve it again",
    )
    const again = await it.runtime.retry(it.id)
    const open = await found(async () => (await it.runtime.approvals.list({ task: again })).approvals[0])
    await it.runtime.approvals.approve(open.approvalId, { value: { title: 'four' } })
    expect(await it.runtime.result(again)).toMatchObject({ value: { title: 4 } })
  })

  test('the value of a rejection is feedback, whatever it is', async () => {
    const it = await reviewed((ctx) =>
      ctx.feedback.length > 0 ? ctx.feedback[0]?.value : ctx.requestApproval('publish', 'it'),
    )
    await it.runtime.approvals.reject(await it.approvalId(), { value: 5 })
    expect(await it.runtime.result(it.id)).toBe(5)
  })

  test('a handler cannot request one that is not declared', async () => {
    const it = await reviewed((ctx) => ctx.requestApproval('publsh', 'it'))
    await expect(it.runtime.result(it.id)).rejects.toThrow(
      "approval 'publsh': task 'review' declares no approval of this name, did you mean publish?",
    )
  })
})

describe('emits that a task type declares (docs/semantics.md 9)', () => {
  test('refuse what does not fit, and store nothing', async () => {
    const it = await reviewed(async (ctx) => {
      await ctx.emit({ token: 'a' })
      return ctx.emit({ token: 5 }).catch((error: Error) => error.message)
    })
    expect(await it.runtime.result(it.id)).toBe(
      "what task 'review' emits does not fit its schema: value.token: Invalid input: expected string, received number; nothing was stored",
    )
    expect((await it.runtime.emitted(it.id)).items).toMatchObject([{ data: { token: 'a' } }])
  })

  test('are checked again when they are read, unless the reader wants them as they are', async () => {
    const old: TaskDefinition = defineTask({ type: 'review', input: z.null() }, async (ctx) => {
      await ctx.emit({ token: 'a', old: true })
      await ctx.emit({ token: 5 })
    })
    const database = join(folder(), 'store.db')
    const { runtime, close } = await realRuntime({ tasks: [old], database })
    const receipt = await runtime.submit('review', null)
    await runtime.result(receipt)
    await close()
    const mended = defineTask(contract, () => null)
    const { runtime: reader } = await realRuntime({ tasks: [mended], database })
    const read: unknown[] = []
    const reading = (async () => {
      for await (const item of reader.output(receipt)) if (item.type === 'chunk') read.push(item.data)
    })()
    await expect(reading).rejects.toThrow(
      "what task 'review' emitted (seq 2) does not fit the schema of its emits: value.token: Invalid input: expected string, received number. Let the schema accept it, go on with after: 2, or read without the schema: check: false",
    )
    expect(read).toEqual([{ token: 'a' }])
    await expect(reader.emitted(receipt)).rejects.toMatchObject({ code: 'schema_mismatch' })
    expect((await reader.emitted(receipt, { check: false })).items).toMatchObject([
      { data: { token: 'a', old: true } },
      { data: { token: 5 } },
    ])
    expect(await all(reader.output(receipt, { check: false }))).toHaveLength(2)
    expect(await all(reader.output(receipt, { after: 2 }))).toEqual([])
  })
})

describe('schemas of signals, approvals and emits', () => {
  test('are named with what is wrong when the type is defined', () => {
    const define = (more: object) => () => defineContract({ type: 'review', input: z.null(), ...more })
    expect(define({ signals: z.string() })).toThrow(
      "task 'review': signals: an object of schemas by name, such as { reply: z.object({ … }) }",
    )
    expect(define({ approvals: { publish: 'text' } })).toThrow(
      'task \'review\': approvals.publish: a schema, such as z.string(); given "text"',
    )
    expect(define({ signals: { '*a': z.null() } })).toThrow('with * at most at its end')
    expect(define({ signals: { '$ku0/x': z.null() } })).toThrow(/does not begin with/)
    expect(define({ emits: 5 })).toThrow("task 'review': emits: a schema; given 5")
    expect(define({ signals: {}, approvals: undefined })).not.toThrow()
  })

  test('that are asynchronous or that throw are refused with what to do', async () => {
    const task = defineTask(
      {
        type: 'odd',
        input: z.null(),
        signals: {
          late: z.string().refine(async () => true),
          broken: {
            '~standard': {
              version: 1,
              vendor: 'test',
              validate: (): never => {
                throw new Error('no')
              },
            },
          },
        },
      },
      (ctx) => ctx.waitForSignal('late'),
    )
    const { runtime } = await realRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await expect(runtime.signal(receipt, 'late', 'a')).rejects.toThrow(
      "the schema of signal 'late' of task 'odd' returned a promise, because it is asynchronous or throws; signals, approvals and emits are checked at once: leave out its asynchronous checks, and make them in a step",
    )
    await expect(runtime.signal(receipt, 'broken', 'a')).rejects.toThrow(
      "the schema of signal 'broken' of task 'odd' failed: no",
    )
  })
})

async function realRuntime({
  tasks,
  database = ':memory:',
}: {
  readonly tasks: readonly TaskDefinition[]
  readonly database?: string
}) {
  const store = await openStore(`sqlite:${database}`, { thread: false, checked: false })
  const runtime = await createRuntime({ store, tasks, telemetry: false, logger: false, strict: false })
  const close = async () => {
    await runtime.stop({ drain: false })
    await store.close()
  }
  onTestFinished(close)
  return { runtime, store, close }
}

async function found<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const seen = await look()
    if (seen !== undefined) return seen
    await new Promise((resolve) => setImmediate(resolve))
  }
}
