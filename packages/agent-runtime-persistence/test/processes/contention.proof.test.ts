import { join } from 'node:path'
import { type Claim, type ExecutionConfigInput, type LeaseNotice } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scaledMs } from '../../../../tools/cpu/slowness.ts'
import { openStore } from '../../src/index.ts'
import { commitOf } from '../helpers/connection-of.ts'
import { contended } from '../fixtures/contended.ts'
import { clean, OwnStore } from '../helpers/own-store.ts'
import { Program } from '../helpers/program.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

/** What so many processes of a fixture say at their end, who begin when all of them have started: on a busy machine that takes seconds. */
async function atOnce<Said>(
  count: number,
  fixture: string,
  ...args: readonly string[]
): Promise<readonly Said[]> {
  const programs = Array.from({ length: count }, () => new Program(fixture, ...args))
  await Promise.all(programs.map((program) => program.said('ready')))
  for (const { child } of programs) child.stdin?.end('go\n')
  await Promise.all(programs.map(({ ended }) => ended))
  return Promise.all(programs.map(async (program) => JSON.parse(await program.said('{')) as Said))
}

describe('several processes on one file', () => {
  test('D02 T2 two saturated processes share the file: neither fails, neither starves', async () => {
    const path = join(scratchFolder(), 'store.db')
    const [a, b] = await atOnce<{ commits: number; repeatedFlushes: number }>(2, 'saturate.ts', path, '2000')
    expect([a?.repeatedFlushes, b?.repeatedFlushes]).toEqual([0, 0])
    const least = Math.min(a?.commits ?? 0, b?.commits ?? 0)
    expect(least).toBeGreaterThan(50)
    // SQLite's own waiting gave 17 068 commits against 1. Alone they have as many; on a busy machine one of them may be kept waiting.
    expect(Math.max(a?.commits ?? 0, b?.commits ?? 0) / least).toBeLessThan(10)
  })
})

test('J02 a store opens beside a writer that hardly ever releases the lock', async () => {
  const path = join(scratchFolder(), 'store.db')
  const own = await OwnStore.open(path)
  const hog = new Program('hog-lock.ts', path)
  await hog.said('began')
  for (let n = 0; n < 3; n += 1) {
    expect(await scaledMs(async () => (await openStore(`sqlite:${path}`)).close())).toBeLessThan(5_000)
  }
  hog.child.stdin?.end()
  await hog.ended
  await clean(own, path)
})

test('D02 every transaction that may write begins as one that writes', async () => {
  const begun: string[] = []
  for (const name of ['prepare', 'exec'] as const) {
    const original: (this: Database.Database, sql: string) => unknown = Reflect.get(Database.prototype, name)
    const watched = function (this: Database.Database, sql: string) {
      if (/^(?:begin|savepoint)/i.test(sql)) begun.push(sql)
      return original.call(this, sql)
    }
    Reflect.set(Database.prototype, name, watched)
    onTestFinished(() => void Reflect.set(Database.prototype, name, original))
  }
  const environment = createVirtualEnvironment(2)
  const store = await openStore(`sqlite:${join(scratchFolder(), 'store.db')}`, { environment })
  await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
  await store.close()
  // The migration, the first write, and the registration: within that, the lock that shows that this process lives. Then what every flush runs, what a
  // look that writes nothing runs, and the end.
  expect(begun).toEqual([
    'BEGIN IMMEDIATE',
    'BEGIN IMMEDIATE',
    'BEGIN IMMEDIATE',
    'BEGIN EXCLUSIVE; ROLLBACK',
    'BEGIN IMMEDIATE',
    'BEGIN',
    'BEGIN IMMEDIATE',
  ])
})

test('D24 a store each of whose commits takes 200 ms: the queue drains, and no lease is lost', async () => {
  const config = { leaseTtlMs: 3_000, heartbeatIntervalMs: 300 }
  const path = join(scratchFolder(), 'store.db')
  const own = await OwnStore.open(path, config)
  own.store.interest({ types: ['task.completed'], tasks: [] })
  const commit = commitOf(own.store)
  const commitNow = commit.run.bind(commit)
  commit.run = (...parameters) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    return commitNow(...parameters)
  }
  const begun = performance.now()
  await own.worker('w', 4)
  const [held] = await own.submit(16)
  const ended: Promise<string>[] = []
  for (let next = 0; next < 16; next++) {
    await own.until(() => own.claims.length > next, 'the next task')
    const claim = own.claims[next] as Claim
    if (claim.taskId !== held) ended.push(own.complete(claim))
  }
  expect(new Set(await Promise.all(ended))).toEqual(new Set(['ok']))
  // It was held for longer than a lease lasts that is not renewed.
  while (performance.now() - begun < 2 * config.leaseTtlMs) await own.submit(1)
  expect(own.notices).toEqual([])
  const [claim] = own.claims
  expect(await own.complete(claim as Claim)).toBe('ok')
  expect((await own.store.read({ kind: 'stats' })).totals).toMatchObject({ completed: 16, expired: 0 })
  await clean(own, path, config)
})

describe('several processes under one quota', () => {
  test('F05 2.9 exactly as many get in as it has room for, and each took all of its quotas or none', async () => {
    const path = join(scratchFolder(), 'store.db')
    const ended = await atOnce<{ accepted: number }>(3, 'contend.ts', path, '80')
    const accepted = ended.map((it) => it.accepted)
    expect(accepted.reduce((sum, count) => sum + count, 0)).toBe(101)
    const store = await openStore(`sqlite:${path}`, { config: contended })
    onTestFinished(() => store.close())
    const held = { queued: 101, running: 0 }
    expect((await store.read({ kind: 'stats' })).quotas).toMatchObject([
      { key: 'client:ada', ...held, window: { tasks: 101 } },
      { key: 'label:team=alpha', ...held },
      { key: 'model:big', ...held, window: { tasks: 101, tokens: 707 } },
    ])
    await store.close()
    await assertClosedStore(path, contended)
  })
})

describe('a blocked event loop', () => {
  test('B03 T9 4.8 a handler that blocks the event loop past the TTL keeps its lease', async () => {
    const { store, claim } = await claimed({ leaseTtlMs: 400, heartbeatIntervalMs: 100, maxStallMs: 60_000 })
    block(1_500)
    expect(await store.write(completion(claim))).toBe('ok')
  })

  test('B03 4.8 past maxStallMs it loses it', async () => {
    const { store, claim } = await claimed({ leaseTtlMs: 400, heartbeatIntervalMs: 100, maxStallMs: 200 })
    block(2_000)
    expect(await store.write(completion(claim))).toBe('stale')
  })

  async function claimed(input: ExecutionConfigInput) {
    const { config } = parseExecutionConfig(input)
    const store = await openStore(`sqlite:${join(scratchFolder(), 'store.db')}`, { config })
    onTestFinished(() => store.close())
    const claim = Promise.withResolvers<Claim>()
    store.listen({ claimed: ([first]) => first !== undefined && claim.resolve(first) })
    await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    store.demand('w', 1)
    await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    return { store, claim: await claim.promise }
  }

  function block(ms: number): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  }

  const completion = ({ leaseId }: Claim) =>
    ({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } }) as const
})

describe('a store that cannot write', () => {
  test('B07 its handlers learn that their leases are lost before those expire', async () => {
    const path = join(scratchFolder(), 'store.db')
    const environment = createVirtualEnvironment(7)
    const store = await openStore(`sqlite:${path}`, { environment })
    const notices: LeaseNotice[] = []
    const claims: Claim[] = []
    store.listen({ noticed: (all) => notices.push(...all), claimed: (all) => claims.push(...all) })
    await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    store.demand('w', 1)
    await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    const [claim] = claims
    expect(claim).toBeDefined()

    const intruder = new Database(path)
    intruder.exec('BEGIN IMMEDIATE')
    for (let ms = 0; ms < 29_999; ms += 1_000) await pass(1_000)
    expect(notices).toMatchObject([{ leaseId: claim?.leaseId, verdict: 'lost', reason: 'not renewed' }])
    intruder.exec('ROLLBACK')
    intruder.close()
    await store.close()

    async function pass(ms: number): Promise<void> {
      environment.clock.advanceBy(ms)
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
    }
  })
})
