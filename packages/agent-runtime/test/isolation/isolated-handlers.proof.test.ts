import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  createRuntime,
  defineSupervisor,
  type Runtime,
  type RuntimeOptions,
  TaskFailed,
} from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { kinds, pipelines, tasks } from './programs/tasks.ts'

async function runtimeOf(more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks,
    logger: false,
    signals: false,
    workers: { count: 1, capacity: 2 },
    ...more,
    config: { abortGraceMs: 300, ...more.config },
  })
  onTestFinished(() => runtime.stop({ drain: false }).then(() => undefined))
  return runtime
}

async function failureOf(runtime: Runtime, type: string, input: unknown = {}): Promise<TaskFailed> {
  const receipt = await runtime.submit(type, input)
  const failure = await runtime.result(receipt).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(TaskFailed)
  return failure as TaskFailed
}

async function eventTypes(runtime: Runtime, taskId: string): Promise<readonly string[]> {
  const types: string[] = []
  for await (const { type } of runtime.events(taskId)) types.push(type)
  return types
}

/** Resolves with the first event of the type. */
function heard(runtime: Runtime, type: string): Promise<{ readonly taskId: string }> {
  return new Promise((found) => {
    const listening = runtime.on(type as 'task.killed', (event) => {
      listening[Symbol.dispose]()
      found(event)
    })
  })
}

const linesOf = (file: string) => readFileSync(file, 'utf8').trim().split('\n')

/** Resolves when the handler of `endless` goes round in its loop. Its step is committed before that, when it still hears a signal. */
async function isDeaf(file: string): Promise<void> {
  await expect.poll(() => existsSync(file) && linesOf(file)).toEqual(['begun', 'deaf'])
}

describe.each(kinds)('a task in a %s of its own (docs/isolation.md)', (kind) => {
  test('does what a handler does: steps, waits, children, branches, commands, output, usage, approvals', async () => {
    const file = join(folder(), 'notes')
    const runtime = await runtimeOf({ strict: true })
    const receipt = await runtime.submit(`whole/${kind}`, { file })
    const asked = heard(runtime, 'approval.requested')
    await runtime.signal(receipt, 'go', 42)
    await asked
    const { approvals } = await runtime.approvals.list()
    await runtime.approvals.approve(approvals[0]?.approvalId ?? '', { by: 'ann' })
    expect(await runtime.result(receipt)).toEqual({
      step: new Date(7),
      signal: 42,
      child: { n: 42 },
      stdout: 'hello\n',
      both: { one: 1, two: 2 },
      approvedBy: 'ann',
    })
    expect(linesOf(file)).toEqual(['once'])
    const chunks: unknown[] = []
    for await (const item of runtime.output(receipt)) chunks.push(item)
    expect(chunks.at(-1)).toMatchObject({ data: { at: 'end' } })
    const status = await runtime.status(receipt)
    expect(status).toMatchObject({ state: 'completed', used: { tokens: 3 } })
    expect(await runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('that never returns fails with timeout, and is killed after its grace', async () => {
    const runtime = await runtimeOf()
    const killed = heard(runtime, 'task.killed')
    const failure = await failureOf(runtime, `spin/${kind}`)
    expect(failure).toMatchObject({ kind: 'timeout' })
    const { taskId } = await killed
    expect(await eventTypes(runtime, taskId)).toEqual([
      'task.queued',
      'task.started',
      'task.failed',
      'task.killed',
    ])
    expect(runtime.leaked()).toEqual([])
    // Its slot is free again.
    expect(await runtime.result(await runtime.submit(`echo/${kind}`, 1))).toBe(1)
  })

  test('13.2 publishes and receives as a stage of a pipeline', async () => {
    const runtime = await runtimeOf({ tasks: [...tasks, ...pipelines], strict: true })
    const receipt = await runtime.submit(`line/${kind}`, null)
    expect(await runtime.result(receipt)).toMatchObject({ hears: [1, 2, 3] })
  })

  test('14.3 that runs too long falls back from model to model', async () => {
    const runtime = await runtimeOf()
    const receipt = await runtime.submit(`slow/${kind}`, null)
    expect(await runtime.result(receipt)).toEqual(['tiny', 'timeout', 3])
  })

  test('14.3 that ends its thread or process waits for a person, and goes on with their words', async () => {
    const file = join(folder(), 'notes')
    const runtime = await runtimeOf()
    const asked = heard(runtime, 'approval.requested')
    const receipt = await runtime.submit(`asks/${kind}`, { file })
    await asked
    const { approvals } = await runtime.approvals.list()
    expect(approvals[0]?.artifact).toMatchObject({ escalated: 'crash', kind: 'crashed' })
    await runtime.approvals.approve(approvals[0]?.approvalId ?? '', { feedback: 'once more' })
    expect(await runtime.result(receipt)).toEqual(['crashed', 'once more'])
    expect(linesOf(file)).toEqual(['before'])
  })

  test('that ignores its cancellation is killed, and what it had used counts', async () => {
    const file = join(folder(), 'notes')
    const runtime = await runtimeOf()
    const receipt = await runtime.submit(`endless/${kind}`, { file })
    await isDeaf(file)
    const killed = heard(runtime, 'task.killed')
    await runtime.cancel(receipt)
    await killed
    expect(await eventTypes(runtime, receipt.taskId)).toEqual([
      'task.queued',
      'task.started',
      'step.completed',
      'task.canceled',
      'task.killed',
      'task.charged',
    ])
    expect(await runtime.status(receipt)).toMatchObject({ state: 'canceled', used: { tokens: 7 } })
  })

  test('that fills its memory fails alone with hard_limit', async () => {
    const runtime = await runtimeOf()
    const beside = runtime.submit(`echo/${kind}`, 'beside')
    const failure = await failureOf(runtime, `hog/${kind}`)
    expect(failure).toMatchObject({ kind: 'hard_limit', code: 'memory_exceeded' })
    expect(failure.message).toContain('memoryMb of 48: raise memoryMb')
    expect(await runtime.result(await beside)).toBe('beside')
  })

  test('that calls process.exit, or throws where nobody catches it, fails alone with crashed', async () => {
    const runtime = await runtimeOf()
    expect(await failureOf(runtime, `exit/${kind}`)).toMatchObject({ kind: 'crashed', code: 'crashed' })
    const stray = await failureOf(runtime, `stray/${kind}`)
    expect(stray).toMatchObject({ kind: 'crashed', cause: { cause: { message: 'nobody caught this' } } })
    const explained = await runtime.explain(stray.taskId)
    expect(explained?.failure).toMatchObject({ kind: 'crashed', code: 'crashed' })
  })

  test('that crashed is tried again by its retry policy, with its recorded steps', async () => {
    const file = join(folder(), 'notes')
    const runtime = await runtimeOf()
    expect(await runtime.result(await runtime.submit(`resumes/${kind}`, { file }))).toBe(2)
    expect(linesOf(file)).toEqual(['before', 'after'])
  })

  test('that heeds its cancellation cleans up, and its thread or process is kept', async () => {
    const file = join(folder(), 'notes')
    // It has all the time that it needs on a busy machine.
    const runtime = await runtimeOf({ config: { abortGraceMs: 60_000 } })
    const recorded = heard(runtime, 'step.completed')
    const receipt = await runtime.submit(`tidy/${kind}`, { file })
    await recorded
    await runtime.cancel(receipt)
    expect(await runtime.result(await runtime.submit(`echo/${kind}`, 1))).toBe(1)
    await expect.poll(() => linesOf(file)).toEqual(['begun', 'cleaned up: canceled'])
    expect(await eventTypes(runtime, receipt.taskId)).not.toContain('task.killed')
  })

  test('that is killed takes its commands with it', async () => {
    const file = join(folder(), 'notes')
    const runtime = await runtimeOf()
    const receipt = await runtime.submit(`commands/${kind}`, { file })
    await expect.poll(() => existsSync(file)).toBe(true)
    const killed = heard(runtime, 'task.killed')
    await runtime.cancel(receipt)
    await killed
    const command = Number(linesOf(file)[0])
    await expect.poll(() => isRunning(command)).toBe(false)
  })

  test('above its CPU time is measured from outside, and ends with budget_exceeded', async () => {
    const runtime = await runtimeOf({ config: { heartbeatIntervalMs: 200, abortGraceMs: 200 } })
    const killed = heard(runtime, 'task.killed')
    const failure = await failureOf(runtime, `busy/${kind}`)
    expect(failure).toMatchObject({ kind: 'budget_exceeded' })
    await killed
  })

  test('14.2 that its supervisor stops in another process is killed after the time that this one gives it', async () => {
    const store = `sqlite:${join(folder(), 'it.db')}`
    const file = join(folder(), 'notes')
    const endless = tasks.find(({ type }) => type === `endless/${kind}`) as (typeof tasks)[number]
    const desk = defineSupervisor({
      type: 'desk',
      input: z.undefined(),
      shutdownMs: 200,
      children: { agent: { task: endless, input: () => ({ file }) } },
    })
    const here = { store, tasks: [...tasks, desk], config: { abortGraceMs: 1_000_000 } }
    const runtime = await runtimeOf(here)
    const other = await runtimeOf({ ...here, workers: 0 })
    const receipt = await runtime.submit(desk, undefined)
    await isDeaf(file)
    const killed = heard(runtime, 'task.killed')
    const { taskId } = await other.supervisors.stop(receipt, 'agent')
    expect((await killed).taskId).toBe(taskId)
  })

  test('14.2 that nobody stopped cleans up for longer than its supervisor gives it to stop', async () => {
    const file = join(folder(), 'notes')
    const sweeps = tasks.find(({ type }) => type === `sweeps/${kind}`) as (typeof tasks)[number]
    const desk = defineSupervisor({
      type: 'desk',
      input: z.undefined(),
      shutdownMs: 20,
      children: { agent: { task: sweeps, restart: 'temporary', input: () => ({ file }) } },
    })
    const runtime = await runtimeOf({ tasks: [...tasks, desk], config: { abortGraceMs: 1_000_000 } })
    await runtime.result(await runtime.submit(desk, undefined))
    await expect.poll(() => existsSync(file) && linesOf(file)).toEqual(['swept'])
  })

  test('goes back to the queue when its worker stops, even if it ignores that', async () => {
    const store = `sqlite:${join(folder(), 'it.db')}`
    const file = join(folder(), 'notes')
    const runtime = await runtimeOf({ store, config: { killGraceMs: 100, cleanupTimeoutMs: 100 } })
    const receipt = await runtime.submit(`endless/${kind}`, { file })
    await isDeaf(file)
    expect(await runtime.stop({ drain: false })).toMatchObject({ released: 1 })
    const next = await runtimeOf({ store, workers: 0 })
    expect(await next.status(receipt)).toMatchObject({ state: 'queued', attempt: 1 })
  })
})

function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !'ZX'.includes(stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3))
  } catch {
    return false
  }
}
