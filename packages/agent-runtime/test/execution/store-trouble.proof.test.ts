import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { gate, turns, virtualRuntime } from '../virtual-runtime.ts'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, describe } from 'vitest'
import { folder, run } from '../real-processes.ts'

const lockHolder = new URL('../processes/lock-holder.ts', import.meta.url)

test('F07 a process without a file descriptor left goes on with its store; what needs one fails by itself, until there are some', () => {
  const program = fileURLToPath(new URL('../processes/crowded.ts', import.meta.url))
  const args = [process.execPath, program, join(folder(), 'store.db')]
  const { stdout, stderr, status } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$0" "$@"', ...args], {
    encoding: 'utf8',
  })
  expect([stderr, status]).toEqual(['', 0])
  expect(stdout.split('\n')).toEqual([
    "some taken: EMFILE: too many open files, open '/dev/null'",
    'full: 42, spawn true EMFILE, Worker initialization failure: EMFILE',
    'free: 42, 0, opened',
    '',
  ])
})

describe('execution: trouble of the store', () => {
  test('a database that others hold for longer than the retries last fails no task: its writes are asked again', async () => {
    const database = join(folder(), 'store.db')
    const doors = { step: gate(), end: gate() }
    const task = defineTask({ type: 'patient', input: z.null() }, async (ctx) => {
      // Its time is for its function: how long the store takes to record it does not count.
      const value = await ctx.step('one', { timeoutMs: 5_000 }, () => doors.step.promise.then(() => 'stored'))
      await doors.end.promise
      return value
    })
    const { runtime, block, elapse, log } = await virtualRuntime({ tasks: [task], database })
    const receipt = await runtime.submit(task, null)
    await turns()

    for (const door of [doors.step, doors.end]) {
      const holder = run(lockHolder, database)
      await holder.said('locked')
      const refused = runtime.submit(task, null).catch((error: { code: string }) => error.code)
      door.resolve()
      await turns()
      await block(12_000)
      expect(await refused).toBe('store_busy')
      expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'running' })
      holder.process.stdin?.end()
      await holder.ended
      await elapse(500)
    }
    expect(await runtime.result(receipt)).toBe('stored')
    expect(await runtime.status(receipt.taskId)).toMatchObject({ attempt: 1, steps: 1 })
    expect(log.filter(({ level }) => level === 'error')).toEqual([])
  })
})

test('a stopping runtime takes no slot back, also when the store has not taken that it stops', async () => {
  const database = join(folder(), 'store.db')
  const doors = [gate(), gate(), gate()]
  const task = defineTask({ type: 'patient', input: z.number() }, (_, n) => doors[n]?.promise)
  const { runtime, store, block, elapse } = await virtualRuntime({
    tasks: [task],
    database,
    workers: { count: 1, capacity: 2 },
  })
  const receipts = await runtime.submitMany([0, 1, 2].map((input) => ({ task, input })))
  await turns()
  const holder = run(lockHolder, database)
  await holder.said('locked')
  const stopped = runtime.stop({ graceMs: 20_000 })
  await turns()
  await block(12_000)
  holder.process.stdin?.end()
  await holder.ended

  doors[0]?.resolve()
  await elapse(500)
  const taskId = receipts[2]?.taskId ?? ''
  const events = await store.read({ kind: 'events', taskId, after: 0, limit: 10 })
  expect(events?.map(({ type }) => type)).toEqual(['task.queued'])
  doors[1]?.resolve()
  await elapse(500)
  expect(await stopped).toEqual({ drained: true, released: 0 })
})
