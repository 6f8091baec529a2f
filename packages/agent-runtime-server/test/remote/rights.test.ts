import { createClient, createWorker, defineSupervisor, defineTask } from '@ku0/agent-runtime'
import type { Claim } from '@ku0/agent-runtime-core'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openLine } from '@ku0/agent-runtime-persistence/lines'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { systemEnvironment } from '../../../agent-runtime-persistence/src/system.ts'
import type { Caller } from '../../src/access/caller.ts'
import type { Scope } from '../../src/index.ts'
import { quietLine, storeOverLine } from './memory-line.ts'

const { config } = parseExecutionConfig({ retention: { completed: { ageMs: 1_000 }, everyMs: 1_000 } })

/** A store that has rules of retention, over a line whose token has these scopes. */
async function lineWith(...scopes: readonly Scope[]) {
  return lineAs({ name: 'it', scopes: new Set(scopes) })
}

async function lineAs(caller: Caller) {
  const { digest } = systemEnvironment()
  const environment = createVirtualEnvironment('rights', { digest })
  const { lines, behind } = await storeOverLine(config, environment)
  onTestFinished(() => behind.close())
  const over = await openLine('http://localhost', environment, lines.dialAs(caller))
  return { ...over, lines, behind, environment }
}

test('a line prunes with the scope that a prune over HTTP needs', async () => {
  const prune = { kind: 'prune', tasks: [1], dryRun: false } as const
  const operator = await lineWith('work', 'read', 'submit', 'operate')
  const refused = { code: 'line_refused', message: expect.stringContaining('the scope admin') as string }
  await expect(operator.store.write(prune)).rejects.toMatchObject(refused)
  await expect(operator.store.write({ kind: 'foldLedger', until: 0 })).rejects.toMatchObject(refused)
  const admin = await lineWith('admin')
  const looks = [
    { kind: 'newestKept', groups: [] },
    { kind: 'prunable', groups: [], keysUntil: 0, after: 0 },
  ] as const
  for (const look of looks) {
    await expect(operator.store.read(look)).rejects.toMatchObject(refused)
    expect(await admin.store.read(look)).not.toHaveProperty('next')
  }
  expect(await admin.store.write(prune)).toMatchObject({ pruned: { completed: 0 } })
})

test('a worker whose token may not prune leaves that to the server, and says nothing of it', async () => {
  const { store, line, lines, environment } = await lineWith('work')
  const log: string[] = []
  const write = (_: object, message: string) => void log.push(message)
  const worker = await createWorker({
    store,
    tasks: [defineTask({ type: 'work', input: z.null() }, () => null)],
    config,
    environment,
    telemetry: false,
    logger: { debug: write, info: write, warn: write, error: write },
  })
  onTestFinished(async () => void (await worker.stop({ drain: false })))
  const { clock } = environment
  for (let until = clock.now() + 5_000; clock.now() < until;) {
    clock.advanceBy(100)
    await quietLine({ line, lines })
  }
  expect(lines.passed.filter((frame) => frame.startsWith('up') && frame.includes('"prunable"'))).toHaveLength(
    1,
  )
  expect(log.filter((message) => message.includes('retention'))).toEqual([])
})

test('X14 14.3 a process whose token is bound to task types hands over to no other, and says no settings of others', async () => {
  const bound = { name: 'it', scopes: new Set(['work'] as const), types: new Set(['quick', 'other']) }
  const { store, line, lines, behind } = await lineAs(bound)
  const refused = "the token 'it' is bound to the task types quick, other, and careful is none of them"
  const worker = { workerId: 'w', capacity: 2, types: ['quick'] }
  const says = (settings: Record<string, Record<string, string>>) =>
    store.write({ kind: 'registerWorkers', workers: [{ ...worker, settings }] })
  await expect(says({ careful: {} })).rejects.toMatchObject({ code: 'line_refused', message: refused })
  await says({ quick: {} })

  const claims: Claim[] = []
  store.listen({ claimed: (given) => void claims.push(...given) })
  const task = { type: 'quick', lane: 'normal', input: 'null' } as const
  await behind.write({ kind: 'submit', tasks: [task, task] })
  store.demand('w', 2)
  while (claims.length < 2) await quietLine({ line, lines })
  const decided = { category: 'crash', kind: 'timeout', strategy: 'fallback_agent' } as const
  const ended = async ({ leaseId, taskId }: Claim, other: string) => {
    const settlement = {
      as: 'retry',
      error: '{"message":"too quick","name":"Error"}',
      delayMs: 0,
      recovery: { ...decided, task: other },
    } as const
    await store.write({ kind: 'settle', leaseId, settlement })
    return behind.read({ kind: 'task', taskId })
  }
  const [first, second] = claims as [Claim, Claim]
  expect(await ended(first, 'other')).toMatchObject({ state: 'queued' })
  expect(lines.errors).toEqual([])
  expect(await ended(second, 'careful')).toMatchObject({ state: 'failed', kind: 'timeout' })
  expect(lines.errors).toMatchObject([{ code: 'line_refused', message: refused }])
})

/** How the retry of a supervisor ends on a worker whose token has these scopes; its second child makes its input so. */
async function retryOn(
  scopes: readonly Scope[],
  input: (given: string, before: { readonly first?: string }) => string,
) {
  const { store, line, lines, environment } = await lineWith('work')
  const dial = (...may: readonly Scope[]) =>
    openLine('http://localhost', environment, lines.dialAs({ name: 'other', scopes: new Set(may) }))
  let fails = true
  const first = defineTask({ type: 'first', input: z.null() }, () => 'first')
  const second = defineTask({ type: 'second', input: z.string() }, (_ctx, given) => {
    if (fails) throw new Error('not today')
    return given
  })
  const pair = defineSupervisor({
    type: 'pair',
    input: z.string(),
    maxRestarts: 0,
    children: {
      first: { task: first, input: () => null },
      second: { task: second, after: ['first'], input },
    },
  })
  const options = { config, environment, logger: false } as const
  const tasks = [pair, first, second]
  const terms = { tasks, telemetry: false, ...options } as const
  const worker = await createWorker({ store, ...terms })
  const operator = await dial('read', 'submit', 'operate')
  const client = await createClient({ store: operator.store, tasks: [pair], ...options })
  onTestFinished(() => client.close())
  const ended = async (taskId: string) => {
    for (;;) {
      environment.clock.advanceBy(10)
      await quietLine({ line, lines })
      const status = await client.status(taskId)
      if (status?.state === 'failed' || status?.state === 'completed') return status
    }
  }
  const { taskId } = await client.submit(pair, 'given')
  expect(await ended(taskId)).toMatchObject({ state: 'failed' })
  await worker.stop({ drain: false })
  fails = false
  // Another process has never run the supervisor that was retried.
  const next = await dial(...scopes)
  const other = await createWorker({ store: next.store, ...terms })
  onTestFinished(async () => void (await other.stop({ drain: false })))
  const again = await client.retry(taskId)
  return ended(again.taskId)
}

test('a supervisor whose token may only work is retried with the children that had completed', async () => {
  expect(await retryOn(['work'], (given) => given)).toMatchObject({ state: 'completed' })
})

test('the retry of a supervisor whose child takes results needs the scope read', async () => {
  const input = (_: string, before: { readonly first?: string }) => before.first ?? ''
  expect(await retryOn(['work'], input)).toMatchObject({
    state: 'failed',
    error: { code: 'line_refused', message: expect.stringContaining('the scope read') as string },
  })
  expect(await retryOn(['work', 'read'], input)).toMatchObject({ state: 'completed' })
})
