import assert from 'node:assert/strict'
import { join } from 'node:path'
import {
  childName,
  type Claim,
  type Environment,
  type ExecutionConfigInput,
  type StoredEvent,
  type Timer,
  type Timers,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { hold, Scene, submission, takeSnapshot, termsOf } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws, everyNth } from '../../../tools/draws.ts'
import { openStore } from '../src/index.ts'
import { nodeDigest, scratchFolder } from './scratch-folder.ts'
import { assertTables } from './tables.ts'

const fiveMinutes = 300_000

/** A process as far as its store sees it: a wall clock that may be wrong, timers that stand still while it is stopped. */
class Process {
  readonly scene: Scene
  private readonly timers: StoppableTimers

  constructor(scene: Scene, timers: StoppableTimers) {
    this.scene = scene
    this.timers = timers
  }

  /** It does nothing more until it is woken: no heartbeat, no sweep. */
  stop(): void {
    this.timers.stopped = true
  }

  /** It goes on: what should have run meanwhile runs now. */
  wake(): void {
    this.timers.stopped = false
    for (const run of this.timers.missed.splice(0)) run()
  }
}

class StoppableTimers implements Timers {
  stopped = false
  readonly missed: (() => void)[] = []
  private readonly inner: Timers

  constructor(inner: Timers) {
    this.inner = inner
  }

  after(delayMs: number, run: () => void): Timer {
    return this.inner.after(delayMs, () => {
      if (this.stopped) this.missed.push(run)
      else run()
    })
  }
}

/** Two stores on one file in one virtual boot: one monotonic time, a wall clock each. */
export async function twoProcesses(
  options: { skews?: readonly [number, number]; config?: ExecutionConfigInput } = {},
): Promise<[Process, Process]> {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const { config } = parseExecutionConfig(options.config ?? {})
  onTestFinished(() => assertTables(path, config))
  const open = async (seed: string, skew: number) => {
    const view = clock.withSkew(skew)
    const timers = new StoppableTimers(view)
    const environment: Environment = {
      ...createVirtualEnvironment(seed),
      digest: nodeDigest,
      clock: view,
      timers,
    }
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    onTestFinished(() => store.close())
    return new Process(new Scene(store, config, clock, { digest: nodeDigest }), timers)
  }
  const [first, second] = options.skews ?? [0, 0]
  const pair: [Process, Process] = [await open('first', first), await open('second', second)]
  onTestFinished(async () => {
    for (const { scene } of pair) assert.deepEqual(await scene.violations(), [])
  })
  // Both have had their first look around, and know of each other.
  await pair[0].scene.pass(1_000)
  return pair
}

describe('two processes on one file (docs/semantics.md 4.7, 4.10, 5.7)', () => {
  test('B09 J01 each task is claimed once, whoever asks for it', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses({ config: { maxInFlightPerWorker: 100 } })
    await a.submitMany(60)
    await b.submitMany(60)
    await Promise.all([a.worker('a', 30, ['*'], 7), b.worker('b', 30, ['*'], 5)])
    const settled = new Set<string>()
    for (let turn = 0; a.claims.length + b.claims.length < 120; turn++) {
      const scene = turn % 2 === 0 ? a : b
      const id = turn % 2 === 0 ? 'a' : 'b'
      const open = scene.claims.filter(({ leaseId }) => !settled.has(leaseId))
      for (const claim of open) settled.add(claim.leaseId)
      expect(new Set(await Promise.all(open.map((claim) => scene.settle(claim))))).not.toContain('stale')
      if (open.length > 0) scene.free(id, open.length)
      await a.pass(20)
      expect(turn).toBeLessThan(500)
    }
    const sequences = [...a.claims, ...b.claims].map(({ sequence }) => sequence)
    expect(sequences.toSorted((x, y) => x - y)).toEqual(Array.from({ length: 120 }, (_, n) => n + 1))
    expect(Math.min(a.claims.length, b.claims.length)).toBeGreaterThan(10)
    const dispatches = [...a.claims, ...b.claims].map(({ dispatch }) => dispatch)
    expect(new Set(dispatches).size).toBe(120)
  })
  test('3.1 across processes the order of tasks holds: lanes strict, first in, first out', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    for (const lane of ['batch', 'normal', 'interactive', 'normal'] as const) await a.accepted({ lane })
    const order: number[] = []
    for (let turn = 0; turn < 4; turn++) {
      const scene = turn % 2 === 0 ? b : a
      if (turn < 2) await scene.worker('w', 1)
      else scene.free('w')
      const claim = await scene.claim()
      order.push(claim.sequence)
      await scene.settle(claim)
    }
    expect(order).toEqual([3, 2, 4, 1])
  })

  test('11.1 a client keeps its row, whoever is numbered by which process first', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses({ config: { shares: {} } })
    await a.accepted({ client: 'y', delayMs: 1_000 })
    await b.worker('b', 1)
    await a.write({ kind: 'putClient', name: 'x', credits: 5 })
    await b.pass(2_000)
    await b.settle(b.claims[0] as Claim)
    await a.pass(100)
    for (const { store } of [a, b]) {
      const clients = await store.read({ kind: 'clients', limit: 10 })
      expect(clients.map(({ name, credits, spent }) => [name, credits, spent])).toEqual([
        ['x', 5, 0],
        ['y', 1_000, 1],
      ])
    }
  })

  test.each([{}, { shares: {} }])(
    '11.1 a client is what both processes have said of it, with %j',
    async (config) => {
      const [{ scene: a }, { scene: b }] = await twoProcesses({ config })
      await a.write({ kind: 'putClient', name: 'x', credits: 5 })
      await b.write({ kind: 'putClient', name: 'x', tier: 'contracted' })
      await a.write({ kind: 'putClient', name: 'x', credits: 7 })
      const put = await b.write({ kind: 'putClient', name: 'x', tier: 'contracted' })
      expect(put).toMatchObject({ as: 'put', client: { credits: 7, tier: 'contracted' } })
    },
  )

  test('3.9 in two processes two suspects run at once, and no more', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.submitMany(3)
    await a.worker('a', 4, ['*'], 0)
    for (let life = 1; life <= 3; life++) {
      a.free('a', 3)
      await a.until(() => a.claims.length === 3 * life, 'the three')
      await a.jump(30_000)
    }
    await a.pass(500)
    a.free('a', 3)
    await b.worker('b', 4)
    await a.pass(500)
    const last = () => [a.claims.slice(9), b.claims].map((claims) => claims.map(({ sequence }) => sequence))
    expect(last()).toEqual([[1], [2]])
    await a.settle(a.claims[9] as Claim)
    await a.pass(500)
    expect(last()).toEqual([[1, 3], [2]])
  })

  for (const skews of draws<readonly (readonly [number, number])[]>(
    [],
    [
      [fiveMinutes, -fiveMinutes],
      [-fiveMinutes, fiveMinutes],
      [0, fiveMinutes],
      [0, -fiveMinutes],
    ],
  ))
    test(`4.7 with wall clocks off by ${skews.join(' and ')} ms, a lease that is renewed is taken from nobody`, async () => {
      const [{ scene: a }, { scene: b }] = await twoProcesses({ skews })
      await a.worker('a', 1)
      await b.worker('b', 1)
      await a.submitMany(2)
      await a.pass(100_000)
      expect([...a.claims, ...b.claims]).toHaveLength(2)
      expect([...a.notices, ...b.notices]).toEqual([])
      for (const scene of [a, b])
        for (const claim of scene.claims) expect(await scene.settle(claim)).toBe('ok')
    })

  for (const skews of everyNth(
    [
      [fiveMinutes, -fiveMinutes],
      [-fiveMinutes, fiveMinutes],
    ] as const,
    draws(2, 1),
  ))
    test(`4.7 with wall clocks off by ${skews.join(' and ')} ms, one that is not renewed expires after its TTL and one tick`, async () => {
      const [first, { scene: b }] = await twoProcesses({ skews })
      const a = first.scene
      await a.worker('a', 1)
      const taskId = await a.accepted()
      const claim = await a.claim()
      await b.worker('b', 1)
      first.stop()
      const left = claim.expiresAt - claim.acquiredAt
      await b.pass(left - 1)
      expect(await b.state(taskId)).toBe('running')
      await b.pass(101)
      expect(await b.claim()).toMatchObject({ taskId, attempt: 2, crashes: 1, fencingToken: 2 })
      const [lease] = await b.read({ kind: 'leases', taskId })
      expect(lease).toMatchObject({ status: 'failed', endReason: 'expired', workerId: 'a' })

      first.wake()
      expect(await a.settle(claim, { as: 'completed', output: '"late"' })).toBe('stale')
      expect(a.notices).toMatchObject([
        { leaseId: claim.leaseId, taskId, verdict: 'lost', reason: 'expired' },
      ])
      expect(await b.settle(b.claims[0] as never, { as: 'completed', output: '"in time"' })).toBe('ok')
      expect(await a.task(taskId)).toMatchObject({ state: 'completed', output: '"in time"' })
    })

  test('B04 4.7 both judge a lease alike, to the millisecond', async () => {
    const [first, second] = await twoProcesses({ skews: [fiveMinutes, -fiveMinutes] })
    await first.scene.worker('a', 1)
    await first.scene.accepted()
    const claim = await first.scene.claim()
    first.stop()
    second.stop()
    await first.scene.jump(claim.expiresAt - claim.acquiredAt - 1)
    second.wake()
    expect(await second.scene.cancel('nobody')).toEqual({ canceled: false })
    expect(await second.scene.state(claim.taskId)).toBe('running')
    await first.scene.jump(1)
    first.wake()
    expect(await first.scene.settle(claim)).toBe('stale')
  })

  test('a process that is stopped is not gone: its lease runs out, it is not taken over', async () => {
    const [first, { scene: b }] = await twoProcesses()
    await first.scene.worker('a', 1)
    const taskId = await first.scene.accepted()
    await first.scene.claim()
    first.stop()
    await b.pass(25_000)
    expect(await b.state(taskId)).toBe('running')
    await b.pass(10_000)
    expect(await b.task(taskId)).toMatchObject({ state: 'queued', attempt: 2 })
    expect(await b.read({ kind: 'leases', taskId })).toMatchObject([{ endReason: 'expired' }])
  })

  test('5.7 a cancel reaches the handler in the other process in less than a second', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('a', 1)
    const taskId = await a.accepted()
    const claim = await a.claim()
    expect(await b.cancel(taskId, 'by another')).toEqual({ canceled: true, state: 'canceled' })
    const at = a.now
    await a.until(() => a.notices.length > 0, 'a notice')
    expect(a.now - at).toBeLessThan(1_000)
    expect(a.notices).toMatchObject([{ leaseId: claim.leaseId, taskId, verdict: 'canceled' }])
    expect(await a.settle(claim)).toBe('stale')
    expect(b.notices).toEqual([])
  })

  test('5.7 the reason of the cancel comes with it', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('a', 1)
    const taskId = await a.accepted()
    await a.claim()
    await b.cancel(taskId, 'too slow')
    await a.until(() => a.notices.length > 0, 'a notice')
    expect(a.notices).toMatchObject([{ verdict: 'canceled', reason: 'too slow' }])
  })

  test('5.5, 5.7 a parent canceled in one process takes its children in the other with it; one that ends there wakes it', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    const parent = await a.running({ type: 'parent' })
    const { leaseId } = parent
    for (const key of ['one', 'two'])
      await a.write({
        kind: 'spawn',
        leaseId,
        key,
        position: 0,
        policy: 'cancel',
        submission: { type: 'child', lane: 'normal', input: 'null' },
      })
    await b.worker('b', 2, ['child'])
    const [one, two] = [await b.claim(), await b.claim()]
    const name = childName('one')
    await a.write({
      kind: 'suspend',
      leaseId,
      waits: [{ key: name, position: 0, kind: 'child', name }],
      stay: false,
    })
    a.free(parent.workerId)
    await b.settle(one, { as: 'completed', output: '1' })
    expect((await a.claim()).taskId).toBe(parent.taskId)
    await a.cancel(parent.taskId, 'enough')
    await b.pass(1_000)
    expect(b.notices).toEqual([
      {
        leaseId: two.leaseId,
        taskId: two.taskId,
        verdict: 'canceled',
        reason: 'its parent was canceled: enough',
      },
    ])
    expect(await b.settle(two)).toBe('stale')
  })

  test('a task submitted in one process is picked up by the other without a heartbeat in between', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await b.worker('b', 1)
    const at = a.now
    const taskId = await a.accepted({ input: '{"a":1}' })
    expect(await b.claim()).toMatchObject({
      taskId,
      submission: '{"input":{"a":1},"lane":"normal","type":"work"}',
    })
    expect(b.now - at).toBeLessThan(200)
  })

  test('what a task did under one process, another goes on with: steps, checkpoint, output', async () => {
    const [first, { scene: b }] = await twoProcesses()
    const { scene: a } = first
    await a.worker('a', 1)
    await a.accepted()
    const claim = await a.claim()
    await a.step(claim, 'one', '"by a"')
    await a.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '"half"' })
    await a.write({ kind: 'appendOutput', leaseId: claim.leaseId, chunks: ['1', '2'] })
    first.stop()
    await b.worker('b', 1)
    await b.pass(31_000)
    const next = await b.claim()
    expect(next).toMatchObject({ steps: 1, checkpoint: '"half"', attempt: 2, fencingToken: 2 })
    expect(await b.step(next, 'one', '"by b"')).toEqual({ fenced: 'ok', memo: '"by a"' })
    await b.step(next, 'two', '"by b"')
    await b.write({ kind: 'appendOutput', leaseId: next.leaseId, chunks: ['3'] })
    first.wake()
    expect(await a.step(claim, 'three', '"too late"')).toEqual({ fenced: 'stale' })
    expect(await a.write({ kind: 'appendOutput', leaseId: claim.leaseId, chunks: ['4'] })).toBe('stale')
    const chunks = await a.read({ kind: 'output', taskId: claim.taskId, after: 0, limit: 10 })
    expect(chunks?.map(({ seq, attempt, data }) => [seq, attempt, data])).toEqual([
      [1, 1, '1'],
      [2, 1, '2'],
      [3, 2, '3'],
    ])
  })

  test('D08 F01 2.2, 2.9 the limits hold for both together', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses({
      config: { queueDepthLimit: 6, batchBackpressureThreshold: 3 },
    })
    const verdicts: string[] = []
    for (let n = 0; n < 10; n++) {
      const receipt = await (n % 2 === 0 ? a : b).submit({ lane: n < 6 ? 'batch' : 'normal' })
      verdicts.push(receipt.accepted ? 'accept' : receipt.reason)
    }
    expect(verdicts).toEqual([
      ...Array.from({ length: 3 }, () => 'accept'),
      ...Array.from({ length: 3 }, () => 'backpressure'),
      ...Array.from({ length: 3 }, () => 'accept'),
      'queue_full',
    ])
  })

  test('10.3 a circuit holds for both together, whatever their wall clocks say, and one probe is one', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses({ skews: [0, fiveMinutes] })
    const held = await hold(a)
    const terms = termsOf({ limits: { hard: { cpuTimeUs: 1 } } })
    const sample = { computeUs: 2 }
    await a.write({ kind: 'report', leaseId: held.leaseId, terms, sample, heartbeat: true })
    expect(await b.submit()).toMatchObject({ reason: 'circuit_open' })
    await a.pass(29_000)
    expect(await b.submit()).toMatchObject({ reason: 'circuit_open' })
    await a.pass(1_000)
    const [one, other] = await Promise.all([a.submit(), b.submit()])
    expect([one.accepted, other.accepted].filter(Boolean)).toHaveLength(1)
  })

  test('10.6 an agent’s report in one process sheds an agent of the other', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    const terms = termsOf()
    const swarm = { route: 'work', terms, maxAgents: 3, sharedBudget: {}, threshold: 0.2 }
    await a.write({ kind: 'putSwarm', name: 's', terms: swarm })
    const first = await hold(a, { swarm: 's', agent: 'first' })
    const second = await hold(b, { swarm: 's', agent: 'second', lane: 'batch' })
    const sample = { memoryBytes: 1e12 }
    await a.write({ kind: 'report', leaseId: first.leaseId, terms, sample, heartbeat: true })
    await a.pass(100)
    expect(b.notices).toMatchObject([{ leaseId: second.leaseId, verdict: 'canceled' }])
    expect(await a.state(first.taskId)).toBe('running')
    const third = { ...submission({ swarm: 's', agent: 'third' }), profile: terms }
    expect(await b.write({ kind: 'startLease', submission: third })).toMatchObject({
      receipt: { reason: 'swarm_overloaded' },
    })
  })

  test('10.1 a lease that its caller holds is seen and canceled from another process', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    const { taskId, leaseId } = await hold(a)
    expect(await b.task(taskId)).toMatchObject({ state: 'running', held: true })
    await b.cancel(taskId, 'enough')
    await a.pass(100)
    expect(a.notices).toMatchObject([{ leaseId, verdict: 'canceled', reason: 'enough' }])
  })

  test('2.7 a key and an id used in one process are taken in the other', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    const first = await a.submit({ idempotencyKey: 'k', taskId: 'x' })
    expect(await b.submit({ idempotencyKey: 'k' })).toEqual({ ...first, deduplicated: true })
    expect(await b.submit({ idempotencyKey: 'k', input: '1' })).toMatchObject({
      reason: 'idempotency_conflict',
    })
    expect(await b.submit({ taskId: 'x' })).toMatchObject({ reason: 'already_exists' })
  })

  test('F05 I19 a quota holds for both together', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses({
      config: { quotaConfig: { models: { big: { maxInFlight: 2, onExceeded: 'defer' } } } },
    })
    await a.submitMany(6, { model: 'big' })
    await a.worker('a', 4)
    await b.worker('b', 4)
    await a.pass(1_000)
    expect(a.claims.length + b.claims.length).toBe(2)
    const scene = a.claims.length > 0 ? a : b
    await scene.settle(scene.claims[0] as never)
    await a.pass(1_000)
    expect(a.claims.length + b.claims.length).toBe(3)
  })

  test('2.8 a provider that refused one process is heeded by the other, and after a restart', async () => {
    const [first, { scene: b }] = await twoProcesses()
    const { scene: a } = first
    await a.worker('a', 1)
    await b.submitMany(3, { model: 'big' })
    await a.accepted({ model: 'small' })
    const claim = await a.claim()
    await b.worker('b', 1)
    const other = await b.claim()
    expect([claim, other].map(({ sequence }) => sequence)).toEqual([1, 2])
    await a.write({
      kind: 'settle',
      leaseId: claim.leaseId,
      settlement: { as: 'rate_limited', error: '{}', delayMs: 5_000 },
      backOff: { keys: ['model:big'], retryAfterMs: 5_000 },
    })
    await b.settle(other)
    b.free('b')
    expect(await b.claim()).toMatchObject({ sequence: 4 })
    await b.settle(b.claims.at(-1) as never)
    b.free('b')
    await a.store.close()
    await b.pass(4_900)
    expect(await b.hasClaim()).toBe(false)
    await b.pass(300)
    expect(await b.claim()).toMatchObject({ sequence: 1, attempt: 1 })
  })

  /** What either process hears of a life in which both have a part. */
  async function sharedLife(a: Scene, b: Scene): Promise<void> {
    for (const scene of [a, b]) scene.store.interest({ types: 'all', tasks: [] })
    await a.worker('a', 1)
    await a.accepted({ input: JSON.stringify('x'.repeat(2_000)) })
    let claim = await a.claim()
    await a.step(claim, 'one', '1')
    await b.accepted({ delayMs: 50 })
    await a.settle(claim, { as: 'retry', error: '{}', delayMs: 0 })
    a.free('a')
    claim = await a.claim()
    await b.cancel(claim.taskId)
    await b.submit({ refused: { reason: 'invalid_payload', message: 'no' } })
    a.free('a')
    claim = await a.claim()
    await a.release(claim)
    await a.pass(1_000)
  }

  test('events of the other process are published as its own are, marked, without a gap, in the order of commits', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses({ config: { maxInlineBytes: 1_000 } })
    await sharedLife(a, b)
    const facts = ({ taskId, seq, type, at, data, hash, also = [] }: StoredEvent) => ({
      taskId,
      seq,
      type,
      at,
      data,
      hash,
      also,
    })
    expect(b.events.map(facts)).toEqual(a.events.map(facts))
    expect(a.events.some(({ elsewhere }) => elsewhere === true)).toBe(true)
    for (const [index, event] of a.events.entries())
      expect(event.elsewhere === true).not.toBe(b.events[index]?.elsewhere === true)
    const { tasks } = await takeSnapshot(a.store)
    expect(a.events).toHaveLength(tasks.reduce((sum, { events }) => sum + events.length, 0))
  })

  test('1.3 a task that is poisoned is published by the same names in both', async () => {
    const [first, { scene: b }] = await twoProcesses({ config: { maxCrashes: 1 } })
    const { scene: a } = first
    for (const scene of [a, b]) scene.store.interest({ types: ['lease.expired'], tasks: [] })
    await a.worker('a', 1)
    await a.accepted()
    await a.claim()
    await a.jump(30_000)
    await b.pass(1_000)
    expect(a.events).toMatchObject([{ type: 'task.failed', also: ['lease.expired'] }])
    expect(b.events).toMatchObject([{ type: 'task.failed', also: ['lease.expired'] }])
  })

  test('an interest hears of the other process too, and of nothing else', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    const mine = await a.accepted()
    await a.pass(1_000)
    b.store.interest({ types: ['task.rejected'], tasks: [mine] })
    await a.accepted()
    await a.cancel(mine)
    await a.submit({ refused: { reason: 'invalid_payload', message: 'no' } })
    await a.pass(1_000)
    expect(b.events.map(({ type, elsewhere }) => [type, elsewhere])).toEqual([
      ['task.canceled', true],
      ['task.rejected', true],
    ])
  })

  test('9.1 output of the other process is emitted, each chunk once, in order, whoever writes meanwhile', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('a', 1)
    const taskId = await a.accepted()
    const claim = await a.claim()
    const append = (...chunks: readonly string[]) =>
      a.write({ kind: 'appendOutput', leaseId: claim.leaseId, chunks })
    await append('"before"')
    for (const scene of [a, b]) scene.store.interest({ types: [], tasks: [taskId] })
    await append('1', '2')
    await b.submit()
    await a.pass(500)
    await append('3')
    await b.submit()
    await a.pass(500)
    const heard = (scene: Scene) =>
      scene.chunks.filter(({ data }) => data !== '"before"').map(({ seq }) => seq)
    expect(heard(a)).toEqual([2, 3, 4])
    expect(heard(b)).toEqual([2, 3, 4])
  })

  test('9.1 a burst of output of the other process is emitted whole', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('a', 1)
    const taskId = await a.accepted()
    const { leaseId } = await a.claim()
    b.store.interest({ types: [], tasks: [taskId] })
    const chunks = Array.from({ length: 2_500 }, (_, n) => String(n))
    await a.write({ kind: 'appendOutput', leaseId, chunks })
    await a.pass(1_000)
    expect(b.chunks.map(({ data }) => data)).toEqual(chunks)
  })

  test('both see the workers of both; a stopped process’s are stale', async () => {
    const [first, { scene: b }] = await twoProcesses()
    await first.scene.worker('w', 1, ['mail'])
    await b.worker('w', 2, ['index'])
    for (const scene of [first.scene, b])
      expect(
        (await scene.read({ kind: 'workers' })).map(({ workerId, capacity }) => [workerId, capacity]),
      ).toEqual([
        ['w', 1],
        ['w', 2],
      ])
    const waits = async (taskId: string) => (await b.read({ kind: 'explain', taskId }))?.waitsFor
    first.stop()
    const mail = await b.accepted({ type: 'mail' })
    const seen = (await b.read({ kind: 'workers' }))[0]?.lastSeenAt ?? 0
    await b.pass(seen + 29_999 - b.now)
    expect(await waits(mail)).toBe('slot')
    await b.pass(1)
    expect(await waits(mail)).toBe('worker')
    first.wake()
    await b.pass(1_000)
    expect(await b.state(mail)).toBe('running')
  })

  test('what was handed over before a close is done, right after a commit too', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.submit()
    const written = a.store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    const closed = a.store.close()
    expect(await a.settled(written)).toMatchObject([{ accepted: true }])
    await a.settled(closed)
    expect(await b.depth()).toBe(2)
  })

  test('B08 a worker whose process fell silent right after it came is no black hole: all tasks go to the living', async () => {
    const [first, { scene: b }] = await twoProcesses()
    await first.scene.worker('a', 4)
    first.stop()
    await b.worker('b', 4)
    await b.submitMany(100)
    for (let taken = 0; taken < 100; taken++) {
      expect(await b.settle(await b.claim())).toBe('ok')
      b.free('b')
    }
    expect(first.scene.claims).toEqual([])
    expect(await b.stats()).toMatchObject({ totals: { completed: 100, expired: 0 } })
  })

  const delays = [
    { skews: [0, 0], alone: 60_000, together: 60_000 },
    // Of two clocks the one that shows the time first is believed.
    { skews: [fiveMinutes, 0], alone: fiveMinutes + 60_000, together: 60_000 },
    { skews: [-fiveMinutes, 0], alone: 0, together: 0 },
  ] as const
  test.each(everyNth(delays, draws(4, 1)))(
    '4.7 a delay of 60 s is counted by the wall clock of who submits, and over when that of anybody shows it: $skews',
    async ({ skews, alone, together }) => {
      for (const [submitterStops, afterMs] of [
        [true, alone],
        [false, together],
      ] as const) {
        const [first, { scene: b }] = await twoProcesses({ skews })
        await b.worker('b', 1)
        await first.scene.accepted({ delayMs: 60_000 })
        if (submitterStops) first.stop()
        if (afterMs > 0) await b.pass(afterMs - 1)
        const early = afterMs > 0 && (await b.hasClaim())
        expect(early).toBe(false)
        await b.pass(200)
        expect(await b.hasClaim()).toBe(true)
        if (submitterStops) first.wake()
      }
    },
  )

  for (const [id, jump] of everyNth(
    [
      ['C02', -3_600_000],
      ['C01', 3_600_000],
    ] as const,
    draws(2, 1),
  )) {
    test(`${id} a wall clock that jumps by ${jump} ms moves no lease: who renews keeps it, who does not loses it after its TTL`, async () => {
      const [first, { scene: b }] = await twoProcesses()
      const { scene: a } = first
      await a.worker('a', 1)
      const taskId = await a.accepted()
      const claim = await a.claim()
      b.clock.skew = jump
      await a.pass(100_000)
      expect([...a.notices, ...b.notices]).toEqual([])
      expect(await a.stats()).toMatchObject({ running: 1, totals: { expired: 0 } })
      first.stop()
      b.clock.skew += jump
      await b.worker('b', 1)
      await b.pass(24_900)
      expect(await b.state(taskId)).toBe('running')
      await b.pass(5_200)
      expect(await b.claim()).toMatchObject({ taskId, attempt: 2 })
      first.wake()
      expect(await a.settle(claim)).toBe('stale')
    })

    test(`${id} after a jump by ${jump} ms what is due by the wall clock starts within a tick`, async () => {
      const [{ scene: a }] = await twoProcesses()
      await a.worker('a', 2)
      await a.submit({ delayMs: 600_000 })
      const due = a.now + 600_000
      a.clock.skew = jump
      const left = Math.max(0, due - a.now)
      if (left > 0) await a.jump(left - 1)
      expect(await a.hasClaim()).toBe(false)
      await a.pass(jump > 0 ? 101 : 1)
      expect(await a.hasClaim()).toBe(true)
    })
  }
})
