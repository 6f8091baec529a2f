import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { expect, test } from 'vitest'
import { slowness } from '../../../../tools/cpu/slowness.ts'
import { openStore } from '../../src/index.ts'
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

  const ends = { completed: 8e15, failed: -1, canceled: -1 }
  const slices: number[] = []
  let answer = await store.write({ kind: 'prune', after: 0 })
  while (answer.next !== undefined) {
    const before = process.cpuUsage()
    answer = await store.write({ kind: 'prune', after: answer.next, excess: answer.excess, ends })
    const { user, system } = process.cpuUsage(before)
    slices.push((user + system) / 1_000)
  }
  await store.close()
  expect(slices.length).toBeGreaterThan(8)
  const median = slices.toSorted((a, b) => a - b)[Math.floor(slices.length / 2)] ?? Number.NaN
  expect(median / slowness()).toBeLessThan(20)
})
