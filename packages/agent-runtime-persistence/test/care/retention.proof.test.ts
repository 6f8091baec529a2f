import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Scene } from '@ku0/agent-runtime-conformance'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { expect, test } from 'vitest'
import { slowness } from '../../../../tools/cpu/slowness.ts'
import { openStore } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { rounds } from '../helpers/retention.ts'

test('6.6 the file stays as large as what it keeps', async () => {
  const sizeAfter = async (count: number) => {
    const path = join(scratchFolder(), 'kept.db')
    await rounds(path, count, 30)
    return statSync(path).size
  }
  const [few, many] = [await sizeAfter(3), await sizeAfter(9)]
  // What failed stays: 1 task of each round.
  expect(many / few).toBeLessThan(1.3)
})

test('6.6 a commit of a pass takes less than 20 ms of processor time, so that nobody waits for longer', async () => {
  const { config } = parseExecutionConfig({
    queueDepthLimit: 10_000,
    batchBackpressureThreshold: 10_000,
    retention: { completed: { count: 1 } },
  })
  const path = join(scratchFolder(), 'slices.db')
  const store = await openStore(`sqlite:${path}`, {
    config,
    durability: 'normal',
    thread: false,
    checked: false,
  })
  const [tasks, capacity] = [1_500, 100]
  const all = Promise.withResolvers<void>()
  let [credit, ended] = [capacity, 0]
  const run = async (leaseId: string) => {
    for (const key of ['one', 'two'])
      await store.write({ kind: 'recordStep', leaseId, key, position: 0, durationMs: 1, result: '"x"' })
    await store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: '1' } })
    store.demand('w', (credit += 1))
    ended += 1
    if (ended === tasks) all.resolve()
  }
  store.listen({
    claimed: (claims) => {
      for (const { leaseId } of claims) run(leaseId).catch(all.reject)
    },
  })
  await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity, types: ['*'] }] })
  const task = { type: 'work', lane: 'normal', input: '1' } as const
  await store.write({ kind: 'submit', tasks: Array.from({ length: tasks }, () => task) })
  store.demand('w', credit)
  await all.promise

  const newest = [{ state: 'completed', count: 1, from: tasks }] as const
  const slices: number[] = []
  for (let first = 1; first < tasks;) {
    const some = Array.from({ length: Math.min(1_000, tasks - first) }, (_, n) => first + n)
    const before = process.cpuUsage()
    const { looked } = await store.write({ kind: 'prune', tasks: some, newest })
    const { user, system } = process.cpuUsage(before)
    slices.push((user + system) / 1_000)
    first += looked
  }
  await store.close()
  expect(slices.length).toBeGreaterThan(8)
  const median = slices.toSorted((a, b) => a - b)[Math.floor(slices.length / 2)] ?? Number.NaN
  expect(median / slowness()).toBeLessThan(20)
})

test.each(['sqlite', 'postgres'])(
  '6.6 on %s a store of many slices is counted and walked through to the task',
  async (kind) => {
    const { config } = parseExecutionConfig({
      queueDepthLimit: 100_000,
      batchBackpressureThreshold: 100_000,
      retention: {
        canceled: { count: 5_001 },
        types: { audit: { canceled: 'forever' }, ping: { canceled: { count: 2_501 } } },
      },
    })
    const url =
      kind === 'sqlite' ? `sqlite:${join(scratchFolder(), 'many.db')}` : (await sharedServer()).newStore()
    const store = await openStore(url, { config, thread: false })
    const scene = new Scene(store, config, createVirtualEnvironment('slices').clock, { time: 'real' })
    const types = ['audit', 'ping', 'work', 'mail']
    for (let part = 0; part < 12; part += 1) {
      const tasks = Array.from(
        { length: 1_000 },
        (_, n) => ({ type: types[n % 4] as string, lane: 'normal', input: 'null' }) as const,
      )
      const receipts = await store.write({ kind: 'submit', tasks })
      const taskIds = receipts.flatMap((receipt) => (receipt.accepted ? [receipt.taskId] : []))
      await store.write({ kind: 'cancelMany', taskIds })
    }
    // So that a slice begins with a task of a group.
    const [last] = await store.write({
      kind: 'submit',
      tasks: [{ type: 'mail', lane: 'normal', input: 'null' }],
    })
    await store.write({ kind: 'cancel', taskId: last?.accepted ? last.taskId : '' })
    const { tasks, newest } = await scene.due()
    expect(newest).toEqual([
      { state: 'canceled', except: ['audit', 'ping'], count: 5_001, from: 2_003 },
      { state: 'canceled', type: 'ping', count: 2_501, from: 1_998 },
    ])
    const isDue = (n: number) => (n % 4 === 2 ? n < 1_998 : n % 4 !== 1 && n < 2_003)
    expect(tasks).toEqual(Array.from({ length: 2_003 }, (_, n) => n + 1).filter(isDue))
    expect(await scene.prune()).toEqual({ completed: 0, failed: 0, canceled: 1_499 })
    expect(await scene.due()).toEqual({ tasks: [], newest })
    await store.close()
  },
)

test.each(['sqlite', 'postgres'])(
  '6.6 on %s there may be a thousand types with rules of their own for each state',
  async (kind) => {
    const names = Array.from({ length: 1_000 }, (_, n) => `type ${n}`)
    const { config } = parseExecutionConfig({
      queueDepthLimit: 10_000,
      batchBackpressureThreshold: 10_000,
      retention: {
        canceled: { count: 2 },
        types: Object.fromEntries(
          names.map((name, n) => [
            name,
            {
              completed: { count: n + 1, ageMs: 1_000 + n },
              failed: { count: n + 1 },
              canceled: { count: 1 + (n % 2) },
            },
          ]),
        ),
      },
    })
    const url =
      kind === 'sqlite' ? `sqlite:${join(scratchFolder(), 'types.db')}` : (await sharedServer()).newStore()
    const store = await openStore(url, { config, thread: false })
    const scene = new Scene(store, config, createVirtualEnvironment('types').clock, { time: 'real' })
    for (const types of [names, names, ['other', 'other', 'other'], ['last']]) {
      const tasks = types.map((type) => ({ type, lane: 'normal', input: 'null' }) as const)
      const receipts = await store.write({ kind: 'submit', tasks })
      const taskIds = receipts.flatMap((receipt) => (receipt.accepted ? [receipt.taskId] : []))
      await store.write({ kind: 'cancelMany', taskIds })
    }
    const { tasks, newest } = await scene.due()
    expect(newest).toHaveLength(1_001)
    expect(tasks).toEqual(
      [...names.keys()]
        .filter((n) => n % 2 === 0)
        .map((n) => n + 1)
        .concat(2_001, 2_002),
    )
    expect(await scene.prune()).toEqual({ completed: 0, failed: 0, canceled: 502 })
    expect((await scene.due()).tasks).toEqual([])
    await store.close()
  },
)
