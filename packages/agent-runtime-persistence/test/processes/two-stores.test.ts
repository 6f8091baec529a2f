import { childName } from '@ku0/agent-runtime-core'
import { hold, submission, termsOf } from '@ku0/agent-runtime-conformance'
import { describe, expect, test } from 'vitest'
import { twoProcesses } from '../helpers/two-processes.ts'

const fiveMinutes = 300_000

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

  test('8.10 a process drains the worker of another, which takes no task until that is taken back', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('w', 2)
    await b.worker('b', 1, ['other'])
    expect(await b.write({ kind: 'askDrain', workerId: 'w', draining: true })).toBe(1)
    await b.submit()
    await a.pass(1_000)
    expect([a.claims.length, a.drains]).toEqual([0, [{ workerId: 'w', draining: true }]])
    const states = async () => (await a.read({ kind: 'workers' })).map(({ state }) => state)
    expect(await states()).toEqual(['idle', 'draining'])
    // It lives on as any other, and no sign of life takes the drain back.
    await a.pass(6_000)
    expect([a.claims.length, await states()]).toEqual([0, ['idle', 'draining']])
    expect(await b.write({ kind: 'askDrain', workerId: 'w', draining: false })).toBe(1)
    await a.pass(1_000)
    expect([a.claims.length, b.claims.length, b.drains]).toEqual([1, 0, []])
  })

  test('3.10 a pause by one process holds in the other, until any resumes', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('w', 1)
    expect(await b.write({ kind: 'pauseQueue', types: ['work'], lanes: [], paused: true })).toBe(1)
    await b.submit()
    await a.pass(1_000)
    expect([a.claims.length, (await a.stats()).paused]).toMatchObject([0, [{ type: 'work' }]])
    expect(await b.write({ kind: 'pauseQueue', types: ['work'], lanes: [], paused: false })).toBe(1)
    await a.pass(1_000)
    expect([a.claims.length, (await a.stats()).paused]).toEqual([1, []])
  })

  test('11.1 a client keeps its row, whoever is numbered by which process first', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses({ config: { shares: {} } })
    await a.accepted({ client: 'y', delayMs: 1_000 })
    await b.worker('b', 1)
    await a.write({ kind: 'putClient', name: 'x', credits: 5 })
    await b.pass(2_000)
    await b.settle(b.claims[0])
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
    await a.settle(a.claims[9])
    await a.pass(500)
    expect(last()).toEqual([[1, 3], [2]])
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

  test('5.7 the reason of the cancel comes with it, and the id that its submitter gave the task', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('a', 1)
    await a.accepted({ taskId: 'mine' })
    await a.claim()
    await b.cancel('mine', 'too slow')
    await a.until(() => a.notices.length > 0, 'a notice')
    expect(a.notices).toMatchObject([{ taskId: 'mine', verdict: 'canceled', reason: 'too slow' }])
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

  test('another process goes on with a task where the first one stopped: steps, checkpoint, output', async () => {
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
    await scene.settle(scene.claims[0])
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
    await b.settle(b.claims.at(-1))
    b.free('b')
    await a.store.close()
    await b.pass(4_900)
    expect(await b.hasClaim()).toBe(false)
    await b.pass(300)
    expect(await b.claim()).toMatchObject({ sequence: 1, attempt: 1 })
  })
})
