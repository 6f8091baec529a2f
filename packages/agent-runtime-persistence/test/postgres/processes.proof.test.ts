import { join } from 'node:path'
import type { Claim, ExecutionStore } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { slowness } from '../../../../tools/cpu/slowness.ts'
import { openStore, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const config = {
  leaseTtlMs: 4_000,
  heartbeatIntervalMs: 500,
  presenceIntervalMs: 500,
  presenceTtlMs: 3_000,
  maxCrashes: 50,
}

test('three processes share tasks, and are killed one after the other: each task ends once, and nothing is lost', async () => {
  const url = (await sharedServer()).newStore()
  const store = await openStore(url, { config })
  let count = 0
  let opened = 0
  const start = (slot: number) =>
    ChildStore.open({
      path: url,
      config,
      worker: { workerId: `worker ${(opened += 1)}`, capacity: 4, types: ['work', `only ${slot}`] },
      settles: true,
    })
  const submit = (type: string, tasks: number) =>
    store.write({
      kind: 'submit',
      tasks: Array.from({ length: tasks }, () => ({
        type,
        lane: 'normal' as const,
        input: 'null',
        idempotencyKey: `task ${(count += 1)}`,
      })),
    })
  const living = await Promise.all([0, 1, 2].map(start))
  const all = [...living]
  for (const slot of [0, 1, 2, 0, 1]) {
    const victim = living[slot] as ChildStore
    const before = victim.claims.length
    await submit('work', 40)
    await submit(`only ${slot}`, 8)
    await victim.heard(({ claimed }) => claimed !== undefined, before + 1)
    await victim.kill()
    const next = await start(slot)
    living[slot] = next
    all.push(next)
  }
  const ended = async () => (await store.read({ kind: 'stats' })).totals.completed === count
  const waiting = Promise.withResolvers<void>()
  store.listen({ published: () => void ended().then((it) => (it ? waiting.resolve() : undefined)) })
  store.interest({ types: ['task.completed'], tasks: [] })
  if (await ended()) waiting.resolve()
  await waiting.promise
  expect(await Promise.all(living.map((child) => child.end()))).toEqual([0, 0, 0])

  const tokens = new Set<string>()
  for (const { taskId, fencingToken } of all.flatMap(({ claims }): readonly Claim[] => claims)) {
    expect(tokens.has(`${taskId} ${fencingToken}`)).toBe(false)
    tokens.add(`${taskId} ${fencingToken}`)
  }
  const { tasks } = await store.read({ kind: 'tasks', filter: { limit: 1_000 } })
  expect(tasks).toHaveLength(count)
  for (const { taskId } of tasks) {
    const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 1_000 })) ?? []
    expect(events.filter(({ type }) => type === 'task.completed')).toHaveLength(1)
  }
  await store.close()
  expect(await verifyStore(url)).toMatchObject({ faults: [], ok: true, tasks: count })
})

test('a task that is submitted in one process starts in another that is idle, long before that would look for it', async () => {
  const url = (await sharedServer()).newStore()
  const [one, two] = [await openStore(url, { config }), await openStore(url, { config })]
  let credit = 1
  const started: ((claim: Claim) => void)[] = []
  two.listen({ claimed: ([claim]) => claim !== undefined && started.shift()?.(claim) })
  await two.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 100, types: ['*'] }] })
  two.demand('w', credit)
  const waits: number[] = []
  for (let n = 0; n < 21; n += 1) {
    const claimed = new Promise<Claim>((resolve) => void started.push(resolve))
    const at = performance.now()
    await one.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: 'null' }] })
    const { leaseId } = await claimed
    waits.push(performance.now() - at)
    await two.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
    two.demand('w', (credit += 1))
  }
  await Promise.all([one.close(), two.close()])
  // Without being told it would look every 500 ms. The first wait is that for the other to be known.
  const median = waits.slice(1).toSorted((a, b) => a - b)[10] ?? 0
  expect(median / slowness()).toBeLessThan(250)
})

test('T16 a process that follows all events has those of two others that commit at once, each once, in the order of commits', async () => {
  const url = (await sharedServer()).newStore()
  const [one, two, follower] = [
    await openStore(url, { config, thread: false }),
    await openStore(url, { config, thread: false }),
    await openStore(url, { config, thread: false }),
  ]
  const heard: string[] = []
  const all = Promise.withResolvers<void>()
  const tasks = 300
  follower.listen({
    published: (events) => {
      heard.push(...events.map(({ taskId }) => taskId))
      if (heard.length >= tasks) all.resolve()
    },
  })
  follower.interest({ types: ['task.queued'], tasks: [] })
  let left = tasks
  const submit = async (store: ExecutionStore) => {
    while (left > 0) {
      left -= 1
      await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: 'null' }] })
    }
  }
  await Promise.all([one, two, one, two, one, two].map(submit))
  await all.promise
  // The numbers in ids rise with the commits.
  expect(heard).toEqual([...new Set(heard)].toSorted())
  expect(heard).toHaveLength(tasks)
  await Promise.all([one, two, follower].map((store) => store.close()))
})

test('a cancel reaches the holder in another process, and a process that dies is noticed without waiting for its leases', async () => {
  const url = (await sharedServer()).newStore()
  const long = { ...config, leaseTtlMs: 60_000, presenceTtlMs: 60_000 }
  const child = await ChildStore.open({ path: url, config: long, worker: { workerId: 'w', capacity: 2 } })
  const store = await openStore(url, { config: long })
  const [first, second] = await store.write({
    kind: 'submit',
    tasks: [
      { type: 'work', lane: 'normal', input: '1' },
      { type: 'work', lane: 'normal', input: '2' },
    ],
  })
  await child.heard(({ claimed }) => claimed !== undefined, 2)
  await store.write({ kind: 'cancel', taskId: first?.accepted === true ? first.taskId : '' })
  expect((await child.heard(({ noticed }) => noticed !== undefined)).noticed).toMatchObject({
    verdict: 'canceled',
  })
  const requeued = new Promise<string>((resolve) =>
    store.listen({ published: ([event]) => event !== undefined && resolve(event.taskId) }),
  )
  store.interest({ types: ['task.requeued'], tasks: [] })
  await child.kill()
  expect(await requeued).toBe(second?.accepted === true ? second.taskId : '')
  await store.close()
})

test.each([
  ['a file', () => Promise.resolve(`sqlite:${join(scratchFolder(), 'it.db')}`)],
  ['PostgreSQL', async () => (await sharedServer()).newStore()],
] as const)('5.7 a cancel reaches the holder in another process within 200 ms, on %s', async (_, place) => {
  const url = await place()
  const [one, two] = [
    await openStore(url, { config, thread: false }),
    await openStore(url, { config, thread: false }),
  ]
  const times = 11
  let claimed = Promise.withResolvers<string>()
  let noticed = Promise.withResolvers<void>()
  two.listen({
    claimed: ([claim]) => claimed.resolve(claim?.taskId ?? ''),
    noticed: () => noticed.resolve(),
  })
  await two.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: times, types: ['*'] }] })
  two.demand('w', times)
  const waits: number[] = []
  for (let n = 0; n < times; n += 1) {
    claimed = Promise.withResolvers()
    noticed = Promise.withResolvers()
    await one.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: 'null' }] })
    const taskId = await claimed.promise
    const at = performance.now()
    await one.write({ kind: 'cancel', taskId })
    await noticed.promise
    waits.push(performance.now() - at)
  }
  await Promise.all([one.close(), two.close()])
  const median = waits.toSorted((a, b) => a - b)[(times - 1) / 2] ?? Number.POSITIVE_INFINITY
  expect(median / slowness()).toBeLessThan(200)
})

test('the task of a process that dies goes back within a second', async () => {
  const url = (await sharedServer()).newStore()
  const long = { ...config, leaseTtlMs: 60_000, presenceTtlMs: 60_000 }
  const store = await openStore(url, { config: long })
  let requeued = Promise.withResolvers<void>()
  store.listen({ published: () => requeued.resolve() })
  store.interest({ types: ['task.requeued'], tasks: [] })
  const waits: number[] = []
  for (let n = 0; n < 5; n += 1) {
    const type = `work ${n}`
    const child = await ChildStore.open({
      path: url,
      config: long,
      worker: { workerId: `w ${n}`, capacity: 1, types: [type] },
    })
    await store.write({ kind: 'submit', tasks: [{ type, lane: 'normal', input: 'null' }] })
    await child.heard(({ claimed }) => claimed !== undefined)
    requeued = Promise.withResolvers<void>()
    await child.kill()
    const at = performance.now()
    await requeued.promise
    waits.push(performance.now() - at)
  }
  await store.close()
  // Half a second until it is looked for, and a quarter to see that it does not come back.
  const median = waits.toSorted((a, b) => a - b)[2] ?? Number.POSITIVE_INFINITY
  expect(median / slowness()).toBeLessThan(1_000)
})
