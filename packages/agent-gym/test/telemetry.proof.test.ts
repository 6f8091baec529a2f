// Telemetry of a real runtime on a real store, read through a real OpenTelemetry SDK.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineTask, type Runtime, type RuntimeOptions } from '@ku0/agent-runtime'
import { metricCatalogue } from '@ku0/agent-runtime-telemetry'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Sdk } from '../../agent-runtime-telemetry/test/sdk.ts'

const secret = z.object({ secret: z.string() })
const input = { secret: 'hunter2' }
const review = defineTask({ type: 'review', input: secret }, async (ctx, { secret: word }) => {
  const read = await ctx.step('read', () => word.length)
  return ctx.step('judge', () => ({ read, word }))
})
const broken = defineTask({ type: 'broken', input: secret }, (_ctx, { secret: word }) => {
  throw new TypeError(`cannot read ${word}`)
})
const patient = defineTask({ type: 'patient', input: secret }, async (ctx) => {
  await ctx.step('begin', () => 'begun')
  await once(ctx.signal, 'abort')
})

let folder: string
let sdk: Sdk
let logged: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'telemetry-'))
  sdk = new Sdk()
  logged = []
})
afterEach(async () => {
  await sdk[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('a task that goes well is measured and traced, linked to where it was submitted', async () => {
  await using runtime = await start({ tasks: [review] })
  const { answer: receipt, context } = await sdk.inSpan(() => runtime.submit(review, input))
  await runtime.result(receipt.taskId)

  const counts = await countsByName()
  expect(counts).toMatchObject({
    'agent_runtime.queue.depth': 0,
    'agent_runtime.queue.wait_time': 1,
    'agent_runtime.task.duration': 1,
    'agent_runtime.step.duration': 2,
    'agent_runtime.worker.in_flight': 0,
    'messaging.client.sent.messages': 1,
    'messaging.process.duration': 1,
  })
  expect(catalogued(counts)).toEqual([])

  const spans = await sdk.spans()
  expect(spans.map(({ name }) => name)).toEqual(['step read', 'step judge', 'process review'])
  const lease = spans.at(-1)
  expect(lease?.links.map((link) => link.context.spanId)).toEqual([context.spanId])
  expect(spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
    lease?.spanContext().spanId,
    lease?.spanContext().spanId,
    undefined,
  ])
  expect(logged).toEqual([])
  expect(JSON.stringify(spans.map(({ attributes, status }) => ({ attributes, status })))).not.toContain(
    'hunter2',
  )
})

test('an error is a line each, and counted by its kind', async () => {
  await using runtime = await start({ tasks: [broken] })
  const { taskId } = await runtime.submit(broken, input)
  await expect(runtime.result(taskId)).rejects.toThrow('cannot read')
  await runtime.submit('nobody', input)
  await runtime.submit(broken, { secret: 1 } as never)
  await runtime.stop()

  expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: 'task.failed', kind: 'error', errorName: 'TypeError', taskId },
    { event: 'task.rejected', reason: 'unknown_task_type', type: 'nobody' },
    { event: 'task.rejected', reason: 'invalid_payload', type: 'broken' },
  ])
  expect(logged.join('')).not.toContain('hunter2')
  const sent = await sdk.points('messaging.client.sent.messages')
  expect(sent.map(({ attributes }) => attributes['error.type'])).toEqual([
    undefined,
    'unknown_task_type',
    'invalid_payload',
  ])
  const [duration] = await sdk.points('agent_runtime.task.duration')
  expect(duration?.attributes).toMatchObject({
    'agent_runtime.task.state': 'failed',
    'error.type': 'TypeError',
  })
})

test('a cancel is measured until its handler has stopped', async () => {
  await using runtime = await start({ tasks: [patient] })
  const { taskId } = await runtime.submit(patient, input)
  await begun(runtime, taskId)
  await runtime.cancel(taskId)
  await runtime.stop()

  expect(await countsByName()).toMatchObject({
    'agent_runtime.cancel.duration': 1,
    'messaging.process.duration': 1,
  })
  const lease = (await sdk.spans()).at(-1)
  expect(lease?.attributes).toMatchObject({ 'agent_runtime.lease.end_reason': 'canceled' })
})

describe('after a process was killed', () => {
  test('the next one measures the resume, and its span is linked to where the task was submitted', async () => {
    const store = `sqlite:${join(folder, 'runtime.db')}`
    const { taskId, context } = await submitOnly(store)
    await killAfterFirstStep(store)

    await using runtime = await start({ store, tasks: [finishing] })
    await runtime.result(taskId)
    expect(await countsByName()).toMatchObject({
      'agent_runtime.resume.duration': 1,
      'agent_runtime.lease.expirations': 1,
      'agent_runtime.step.replays': 1,
    })
    expect(await sdk.points('agent_runtime.lease.expirations')).toMatchObject([
      { attributes: { 'agent_runtime.lease.end_reason': 'owner_dead' } },
    ])
    expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: 'lease.expired', reason: 'owner_dead', taskId },
    ])
    const lease = (await sdk.spans()).at(-1)
    expect(lease?.attributes).toMatchObject({
      'agent_runtime.task.attempt': 2,
      'agent_runtime.step.replays': 1,
    })
    expect(lease?.links.map((link) => link.context.spanId)).toEqual([context.spanId])
  })

  /** The same type as in the process that is killed; this one comes to an end. */
  const finishing = defineTask({ type: 'fragile', input: secret }, async (ctx) => {
    await ctx.step('begin', () => 'begun')
    return ctx.step('finish', () => 'finished')
  })

  async function submitOnly(store: string) {
    await using runtime = await start({ store, tasks: [finishing], workers: 0 })
    const { answer, context } = await sdk.inSpan(() => runtime.submit(finishing, input))
    return { taskId: answer.taskId, context }
  }
})

async function killAfterFirstStep(store: string): Promise<void> {
  const child: ChildProcess = fork(new URL('./fragile-process.ts', import.meta.url), [store], {
    execArgv: [],
  })
  await once(child, 'message')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function start(options: Partial<RuntimeOptions> & Pick<RuntimeOptions, 'tasks'>): Promise<Runtime> {
  const line = (fields: object) => void logged.push(JSON.stringify(fields))
  const { meterProvider, tracerProvider } = sdk
  return createRuntime({
    store: 'sqlite::memory:',
    telemetry: { meterProvider, tracerProvider },
    logger: { debug() {}, info() {}, warn: line, error: line },
    ...options,
  })
}

async function begun(runtime: Runtime, taskId: string): Promise<void> {
  for await (const { type } of runtime.events(taskId)) if (type === 'step.completed') return
}

/** Each metric with how often it was recorded, or what it stands at. */
async function countsByName(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of (await sdk.metrics()).keys()) {
    for (const { value } of await sdk.points(name)) {
      counts[name] =
        (counts[name] ?? 0) + (typeof value === 'number' ? value : (value as { count: number }).count)
    }
  }
  return counts
}

/** Those that the catalogue does not have. */
function catalogued(counts: Record<string, number>): string[] {
  const known = new Set<string>(Object.values(metricCatalogue).map(({ name }) => name))
  return Object.keys(counts).filter((name) => !known.has(name))
}
