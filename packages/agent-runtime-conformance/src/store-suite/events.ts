import {
  canonical,
  CHAIN_START,
  chainText,
  foldRunOrder,
  orderOfHistory,
  eventCatalogue,
  type EventType,
} from '@ku0/agent-runtime-core'
import { testDigest } from '@ku0/agent-runtime-core/testing'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function events({ rule, timed, twice, expect }: Suite): void {
  /** A life with everything in it: steps, a retry, a yield, a crash, a cancel, a rejection. */
  async function busyLife(scene: Scene): Promise<readonly string[]> {
    await scene.worker('w', 1)
    const one = await scene.accepted({ input: '{"a":[true,null,"é"],"b":1}', labels: { z: '1', a: '2' } })
    let claim = await scene.claim()
    await scene.step(claim, 'first', '{"n":1}', 0)
    await scene.write({
      kind: 'failStep',
      leaseId: claim.leaseId,
      key: 'second',
      position: 1,
      durationMs: 3,
      error: '{"message":"no"}',
    })
    await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '{"c":1}' })
    await scene.settle(claim, { as: 'retry', error: '{"message":"once more"}', delayMs: 500 })
    scene.free('w')
    await scene.pass(500)
    claim = await scene.claim()
    await scene.release(claim)
    scene.free('w')
    await scene.claim()
    await scene.jump(30_000)
    scene.free('w')
    claim = await scene.claim()
    const two = await scene.accepted({ lane: 'batch', delayMs: 10 })
    await scene.settle(claim, { as: 'completed', output: '{"ok":true}' })
    scene.free('w')
    await scene.pass(100)
    claim = await scene.claim()
    await scene.cancel(two, 'enough')
    await scene.write({ kind: 'abortSettled', leaseId: claim.leaseId, how: 'leaked', afterMs: 30_000 })
    const three = await scene.submit({ refused: { reason: 'invalid_payload', message: 'no "quotes"' } })
    return [one, two, three.taskId]
  }
  const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

  timed('1.3, I15 every transition is one event with the next seq, without a gap', async (scene) => {
    for (const taskId of await busyLife(scene)) {
      const history = await scene.history(taskId)
      expect(history.map(({ seq }) => seq)).toEqual(history.map((_, n) => n + 1))
    }
  })

  timed('6.2 the integrity chain verifies by recomputation', async (scene) => {
    for (const taskId of await busyLife(scene)) {
      const { sequence } = await scene.task(taskId)
      let tail: Uint8Array = CHAIN_START
      for (const { seq, type, at, data, hash } of await scene.history(taskId)) {
        const text = new TextEncoder().encode(chainText(sequence, seq, type, at, data))
        const bytes = new Uint8Array(tail.length + text.length)
        bytes.set(tail)
        bytes.set(text, tail.length)
        tail = testDigest.sha256(bytes)
        expect(`${seq} ${hash}`).toBe(`${seq} ${hex(tail)}`)
      }
    }
  })

  timed('6.2 the data of every event is canonical JSON', async (scene) => {
    for (const taskId of await busyLife(scene))
      for (const { data } of await scene.history(taskId)) expect(data).toBe(canonical(JSON.parse(data)))
  })

  timed('1.6 every stored name is in the catalogue as stored', async (scene) => {
    const seen = new Set<EventType>()
    for (const taskId of await busyLife(scene))
      for (const type of await scene.eventTypes(taskId)) seen.add(type)
    expect([...seen].filter((type) => !eventCatalogue[type].stored)).toEqual([])
    expect(seen.size).toBe(10)
  })

  timed(
    'C05 events are in order although the clock stands still, and their times are the store’s',
    async (scene) => {
      const at = scene.now
      const claim = await scene.running()
      await scene.step(claim, 'a', '1')
      await scene.settle(claim)
      const history = await scene.history(claim.taskId)
      expect(history.map((event) => [event.seq, event.type, event.at])).toEqual([
        [1, 'task.queued', at],
        [2, 'task.started', at],
        [3, 'step.completed', at],
        [4, 'task.completed', at],
      ])
    },
  )

  twice(
    'H12 3.8, 6.2 two equal runs give the same order hash, faults included; ids and times do not count',
    async (play) => {
      const runs: string[] = []
      for (const seed of ['one', 'one', 'two'])
        await play(
          async (scene) => {
            if (seed === 'two') await scene.pass(1_234)
            const hashes: string[] = []
            for (const taskId of await busyLife(scene)) {
              const history = await scene.history(taskId)
              const parsed = history.map(({ seq, type, data }) => ({
                seq,
                type,
                data: JSON.parse(data) as object,
              }))
              hashes.push(orderOfHistory(parsed as never, testDigest).hash)
            }
            runs.push(foldRunOrder(hashes, testDigest))
          },
          { seed },
        )
      expect(runs[1]).toBe(runs[0])
      expect(runs[2]).toBe(runs[0])
    },
  )

  twice(
    '3.8, I21 the same seed and script give the same stored bytes, ids and hashes included',
    async (play) => {
      const runs: string[] = []
      for (let n = 0; n < 2; n++)
        await play(async (scene) => {
          const histories = []
          for (const taskId of await busyLife(scene)) histories.push(await scene.history(taskId))
          runs.push(JSON.stringify(histories))
        })
      expect(runs[1]).toBe(runs[0])
    },
  )

  timed('6.2 another behaviour is another order hash', async (scene) => {
    const [one, two] = [await scene.running(), await scene.running()]
    await scene.step(one, 'a', '1')
    await scene.step(two, 'a', '2')
    const hashes = await Promise.all(
      [one, two].map(async ({ taskId }) => {
        const history = await scene.history(taskId)
        return orderOfHistory(
          history.map((it) => ({ ...it, data: JSON.parse(it.data) as never })),
          testDigest,
        ).hash
      }),
    )
    expect(hashes[0] === hashes[1]).toBe(false)
  })

  rule('published events are the stored ones, after the commit, in order', async (scene) => {
    scene.store.interest({ types: 'all', tasks: [] })
    const claim = await scene.running()
    await scene.step(claim, 'a', '1')
    await scene.settle(claim)
    const stored = await scene.history(claim.taskId)
    expect(scene.events).toMatchObject(stored)
    expect(scene.events).toHaveLength(stored.length)
    expect(scene.events.some(({ elsewhere }) => elsewhere === true)).toBe(false)
  })

  timed(
    '1.3 the names of leases and preemptions are published from the row they belong to',
    async (scene) => {
      scene.store.interest({ types: 'all', tasks: [] })
      await busyLife(scene)
      const names = scene.events.map(({ type, data, also = [] }) => {
        const { reason, leaseId } = JSON.parse(data) as { reason?: string; leaseId?: string }
        const why =
          type === 'task.requeued'
            ? ` ${reason}`
            : type === 'task.canceled'
              ? ` ${leaseId !== undefined}`
              : ''
        return `${type}${why}: ${also.join(' ')}`
      })
      expect([...new Set(names)].toSorted()).toEqual([
        'checkpoint.created: ',
        'step.completed: ',
        'step.failed: ',
        'task.canceled true: lease.released',
        'task.completed: lease.released',
        'task.leaked: ',
        'task.queued: ',
        'task.rejected: ',
        'task.requeued expired: lease.expired',
        'task.requeued retry: lease.released',
        'task.requeued yielded: lease.released task.preempted',
        'task.started: lease.acquired',
      ])
    },
  )

  rule('a listener gets only events that it asked for', async (scene) => {
    await scene.settle(await scene.running())
    expect(scene.events).toEqual([])
  })

  rule('an interest in names lets those through, by either name, of every task', async (scene) => {
    scene.store.interest({ types: ['lease.acquired', 'task.completed'], tasks: [] })
    await scene.settle(await scene.running())
    await scene.settle(await scene.running())
    expect(scene.events.map(({ type }) => type)).toEqual([
      'task.started',
      'task.completed',
      'task.started',
      'task.completed',
    ])
  })

  rule('an interest in tasks lets all of theirs through', async (scene) => {
    const mine = await scene.running()
    scene.store.interest({ types: [], tasks: [mine.taskId] })
    await scene.settle(await scene.running())
    await scene.step(mine, 'a', '1')
    await scene.settle(mine)
    expect(scene.events.map(({ taskId, type }) => [taskId, type])).toEqual([
      [mine.taskId, 'step.completed'],
      [mine.taskId, 'task.completed'],
    ])
  })

  rule('an interest in a task of the submitter’s own id is by that id', async (scene) => {
    scene.store.interest({ types: [], tasks: ['mine'] })
    await scene.submit({ taskId: 'mine' })
    await scene.submit({ taskId: 'other' })
    expect(scene.events.map(({ taskId }) => taskId)).toEqual(['mine'])
  })

  rule('an interest replaces the one before', async (scene) => {
    scene.store.interest({ types: 'all', tasks: [] })
    await scene.submit()
    scene.store.interest({ types: ['task.canceled'], tasks: [] })
    await scene.submit()
    scene.store.interest({ types: [], tasks: [] })
    await scene.submit()
    expect(scene.events).toHaveLength(1)
  })

  rule('a listener that was disposed of gets nothing more, the others do', async (scene) => {
    const heard: string[] = []
    const listening = scene.store.listen({
      published: (all) => void heard.push(...all.map(({ type }) => type)),
    })
    scene.store.interest({ types: 'all', tasks: [] })
    await scene.submit()
    listening[Symbol.dispose]()
    await scene.submit()
    expect(heard).toEqual(['task.queued'])
    expect(scene.events).toHaveLength(2)
  })
}
