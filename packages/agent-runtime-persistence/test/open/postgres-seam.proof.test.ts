import {
  CHAIN_START,
  chainText,
  type Claim,
  type ExecutionConfigInput,
  type LeaseNotice,
  type StoredEvent,
  type Write,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { runAsync } from '../../src/engine/steps.ts'
import { PostgresDatabase } from '../../src/postgres/database.ts'
import { events } from '../../src/postgres/tables.ts'
import { chainDigest } from '../../src/system.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

let server: PostgresServer
let stores = 0

beforeAll(async () => {
  server = await PostgresServer.start()
}, 120_000)

afterAll(() => server.stop())

/** A new store, which several processes open, each on a connection of its own. All of them go by one clock. */
function newStore(given: ExecutionConfigInput = {}) {
  const schema = `store_${(stores += 1)}`
  const clock = new VirtualClock()
  const { config } = parseExecutionConfig(given)
  let opened = 0

  return {
    clock,
    connect: () => server.connect(schema),
    async open() {
      const name = `process ${(opened += 1)}`
      const environment = {
        ...createVirtualEnvironment(`${schema} ${name}`),
        clock,
        timers: clock,
        digest: nodeDigest,
      }
      const connection = await server.connect(schema)
      const db = await PostgresDatabase.open({ connection, config, environment, processId: name })
      const engine = new Engine(db, { config, environment, chain: chainDigest, stalledMs: () => 0 })
      onTestFinished(() => runAsync(engine.close()))
      return new Process(engine, db, clock)
    },
  }
}

class Process {
  readonly engine: Engine
  readonly db: PostgresDatabase
  readonly clock: VirtualClock
  readonly claims: Claim[] = []
  readonly notices: LeaseNotice[] = []
  readonly events: StoredEvent[] = []
  private calls = 0

  constructor(engine: Engine, db: PostgresDatabase, clock: VirtualClock) {
    this.engine = engine
    this.clock = clock
    this.db = db
  }

  /** Takes its turns until it has nothing left to do at once. */
  async turn(): Promise<ReadonlyMap<number, unknown>> {
    const answers = new Map<number, unknown>()
    do {
      // A moment is left to the others after each commit.
      this.clock.advanceBy(this.engine.restMs())
      const turn = await runAsync(this.engine.take())
      if (turn.failed !== undefined) throw turn.failed
      this.claims.push(...turn.claims)
      this.notices.push(...turn.notices)
      this.events.push(...turn.events)
      for (const answer of turn.answers)
        if ('error' in answer) throw answer.error
        else answers.set(answer.call, answer.value)
    } while (this.engine.ready)
    return answers
  }

  /** Writes in one flush, and gives the outcomes. */
  async write(...operations: Write[]): Promise<readonly unknown[]> {
    const calls = operations.map((operation) => {
      this.engine.write((this.calls += 1), operation)
      return this.calls
    })
    const answers = await this.turn()
    return calls.map((call) => answers.get(call))
  }

  /** Starts a worker with so many slots, and takes what it is given. */
  async work(workerId: string, capacity: number): Promise<readonly Claim[]> {
    await this.write({ kind: 'registerWorkers', workers: [{ workerId, capacity, types: ['*'] }] })
    return this.demand(workerId, capacity)
  }

  async demand(workerId: string, credit: number): Promise<readonly Claim[]> {
    this.engine.setDemand(workerId, credit)
    await this.turn()
    return this.claims.splice(0)
  }
}

function submission(n: number, more: object = {}): Write<'submit'> {
  return { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: String(n), ...more }] }
}

function step(leaseId: string, key: string, result: string): Write<'recordStep'> {
  return { kind: 'recordStep', leaseId, key, position: 0, durationMs: 1, result }
}

function settled(leaseId: string, output: string): Write<'settle'> {
  return { kind: 'settle', leaseId, settlement: { as: 'completed', output } }
}

test('a task is submitted, claimed, goes through a step and is settled, through the engine that SQLite has', async () => {
  const store = newStore()
  const one = await store.open()
  const [receipt] = await one.write(submission(7, { idempotencyKey: 'order 7' }))
  expect(receipt).toMatchObject([{ accepted: true, sequence: 1, deduplicated: false }])
  const [claim] = await one.work('w', 1)
  expect(claim).toMatchObject({ sequence: 1, type: 'work', attempt: 1, fencingToken: 1, workerId: 'w' })
  expect(JSON.parse(claim?.submission ?? '{}')).toMatchObject({ type: 'work', input: 7 })

  const leaseId = claim?.leaseId ?? ''
  expect(await one.write(step(leaseId, 'charge', '"paid"'))).toEqual([{ fenced: 'ok' }])
  // A step that was recorded answers with its memo.
  expect(await one.write(step(leaseId, 'charge', '"again"'))).toEqual([{ fenced: 'ok', memo: '"paid"' }])
  expect(await one.write(settled(leaseId, '"done"'))).toEqual(['ok'])
  // The same settlement again has the same answer, another one comes too late, and so does a step.
  expect(
    await one.write(settled(leaseId, '"done"'), settled(leaseId, '"else"'), step(leaseId, 'b', '1')),
  ).toEqual(['ok', 'stale', { fenced: 'stale' }])
  expect(await one.write(submission(7, { idempotencyKey: 'order 7' }))).toMatchObject([
    [{ accepted: true, sequence: 1, deduplicated: true }],
  ])
})

test('what one process has committed another finds when it opens, and goes on with', async () => {
  const store = newStore()
  const one = await store.open()
  await one.write(submission(1), submission(2, { lane: 'interactive' }), submission(3))
  const [first] = await one.work('a', 1)
  expect(first?.sequence).toBe(2)
  await one.write(step(first?.leaseId ?? '', 'fetch', '[1]'))

  const two = await store.open()
  const claims = await two.work('b', 2)
  expect(claims.map(({ sequence }) => sequence)).toEqual([1, 3])
  expect(claims.map(({ fencingToken, dispatch }) => [fencingToken, dispatch])).toEqual([
    [1, 2],
    [1, 3],
  ])
  await two.write(...claims.map(({ leaseId }) => settled(leaseId, 'null')))
  // The first goes on where it was: what another wrote has moved neither its lease nor its task.
  expect(await one.write(step(first?.leaseId ?? '', 'fetch', '[2]'))).toEqual([{ fenced: 'ok', memo: '[1]' }])
  expect(await one.write(settled(first?.leaseId ?? '', 'null'))).toEqual(['ok'])
})

test('what another process commits is published, and its tasks are given new numbers', async () => {
  const store = newStore()
  const [one, two] = [await store.open(), await store.open()]
  await runAsync(two.engine.setInterest({ types: 'all', tasks: [] }))
  await two.turn()
  await one.write(submission(1, { input: '"first"' }))
  await one.work('a', 1)
  expect(await two.write(submission(2))).toMatchObject([[{ accepted: true, sequence: 2 }]])
  expect(two.events.map(({ taskId, seq, type }) => [one.db.ids.taskNumber(taskId), seq, type])).toEqual([
    [1, 1, 'task.queued'],
    [1, 2, 'task.started'],
    [2, 1, 'task.queued'],
  ])
})

test('a lease that another process has swept is lost to its holder, and its task is claimed with a higher token', async () => {
  const store = newStore({ leaseTtlMs: 1_000, heartbeatIntervalMs: 400 })
  const [one, two] = [await store.open(), await store.open()]
  await one.write(submission(1))
  const [claim] = await one.work('a', 1)
  const [step1] = await one.write(step(claim?.leaseId ?? '', 'charge', '"paid"'))
  expect(step1).toEqual({ fenced: 'ok' })

  store.clock.advanceBy(2_000)
  const [next] = await two.work('b', 1)
  expect(next).toMatchObject({ sequence: 1, attempt: 2, fencingToken: 2, replays: true })
  // Its memo stands, whoever holds the task.
  expect(await two.write(step(next?.leaseId ?? '', 'charge', '"twice"'))).toEqual([
    { fenced: 'ok', memo: '"paid"' },
  ])
  expect(await one.write(settled(claim?.leaseId ?? '', '"late"'))).toEqual(['stale'])
  expect(one.notices).toMatchObject([{ leaseId: claim?.leaseId, verdict: 'lost' }])
  expect(await two.write(settled(next?.leaseId ?? '', '"done"'))).toEqual(['ok'])
})

test('every event hangs on the one before, and a value that is too long stands in a blob', async () => {
  const store = newStore({ maxInlineBytes: 64 })
  const one = await store.open()
  const long = JSON.stringify('x'.repeat(100))
  await one.write(submission(1, { input: long }))
  const [claim] = await one.work('w', 1)
  expect(JSON.parse(claim?.submission ?? '{}')).toMatchObject({ input: JSON.parse(long) as string })
  await one.write(step(claim?.leaseId ?? '', 'long', long))
  expect(await one.write(step(claim?.leaseId ?? '', 'long', '1'))).toEqual([{ fenced: 'ok', memo: long }])

  const connection = await store.connect()
  onTestFinished(() => connection.end())
  const rows = await events.select(connection, 'ORDER BY task, seq')
  let hash = CHAIN_START
  for (const { task, seq, type, at, data, hash: stored } of rows) {
    hash = chainDigest(hash, chainText(task, seq, type, at, data))
    expect(Buffer.from(stored).equals(hash)).toBe(true)
  }
  expect(rows.map(({ type, blob }) => [type, blob !== null])).toEqual([
    ['task.queued', true],
    ['task.started', false],
    ['step.completed', true],
  ])
})

test('what is not written for it yet is refused, and nothing of it is done', async () => {
  const one = await newStore().open()
  await expect(one.write({ kind: 'putClient', name: 'ada' })).rejects.toMatchObject({ code: 'store_schema' })
})
