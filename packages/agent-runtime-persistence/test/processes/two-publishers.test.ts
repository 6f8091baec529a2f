import { type StoredEvent } from '@ku0/agent-runtime-core'
import { Scene, takeSnapshot } from '@ku0/agent-runtime-conformance'
import { describe, expect, test } from 'vitest'
import { twoProcesses } from '../helpers/two-processes.ts'

describe('the events of the other process on a file', () => {
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

  test('an interest gets events of the other process too, and no others', async () => {
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

  test('a write that was handed over before a close is done, right after a commit too', async () => {
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
})
