import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRuntime } from '../../src/index.ts'
import { folder, run } from '../real-processes.ts'

const program = new URL('../processes/clock.ts', import.meta.url)

test('processes that share a schedule and are killed leave no time out and run none twice', async () => {
  const database = join(folder(), 'store.db')
  const first = run(program, database)
  await first.said('ready')
  // Either may be the one that fires; the second dies in the middle of a run.
  const second = run(program, database, '--die-after', '1')
  expect(await second.ended).toMatchObject({ signal: 'SIGKILL' })
  first.process.kill('SIGKILL')
  await first.ended
  const third = run(program, database)
  await third.said('ran 2,')

  await using runtime = await createRuntime({
    store: `sqlite:${database}`,
    tasks: [],
    workers: 0,
    logger: false,
  })
  // It fires no more while it and its tasks are read.
  await runtime.schedules.pause('clock')
  const schedule = await runtime.schedules.get('clock')
  const { tasks } = await runtime.list()
  const { anchorAt = 0 } = { ...schedule?.timing } as { anchorAt?: number }
  const times = tasks.map(({ scheduledFor = 0 }) => scheduledFor - anchorAt)
  expect(times.toReversed()).toEqual(times.map((_, n) => (n + 1) * 1_000))
  expect(schedule).toMatchObject({ runs: times.length, missed: 0, skipped: 0, rejected: 0 })
})
