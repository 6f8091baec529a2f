import { createRuntime } from '@ku0/agent-runtime'
import { expect, test } from 'vitest'
import type { JobTarget } from '../../src/jobs/index.ts'
import { realSystem } from '../../src/system.ts'
import { JobLauncher } from '../../src/worker/job-launcher.ts'
import { scan } from '../project/job-tasks.ts'

const withoutWorkers = () =>
  createRuntime({
    store: 'sqlite::memory:',
    thread: false,
    tasks: [scan],
    workers: 0,
    strict: false,
    logger: false,
    config: { queueDepthLimit: 5_000, batchBackpressureThreshold: 5_000 },
  })

test('a job is started for a task that is due, however many tasks were submitted after it for later', async () => {
  await using runtime = await withoutWorkers()
  const due = await runtime.submit(scan, 1, { lane: 'batch' })
  await runtime.submitMany(
    Array.from({ length: 1_100 }, (_, n) => ({
      task: scan,
      input: n,
      options: { lane: 'batch' as const, delayMs: 3_600_000 },
    })),
  )
  const started = Promise.withResolvers<string>()
  const target: JobTarget = {
    name: 'nowhere',
    start: ({ taskId }) => {
      started.resolve(taskId)
      return Promise.resolve({ target: 'nowhere', id: taskId })
    },
    stop: () => Promise.resolve(true),
    state: () => Promise.resolve('running'),
  }
  const control = new AbortController()
  const launcher = new JobLauncher({
    runtime,
    target,
    types: ['scan'],
    most: 1,
    call: {
      signal: control.signal,
      system: realSystem,
      print: { isJson: true, item: () => undefined } as never,
    },
  })
  const running = launcher.run()
  expect(await started.promise).toBe(due.taskId)
  control.abort()
  await running
})

test('it ends when it is to, also while a service does not answer', async () => {
  await using runtime = await withoutWorkers()
  await runtime.submit(scan, 1, { lane: 'batch' })
  const asked = Promise.withResolvers<void>()
  const target: JobTarget = {
    name: 'silent',
    start: () => {
      asked.resolve()
      return new Promise(() => undefined)
    },
    stop: () => Promise.resolve(true),
    state: () => Promise.resolve('unknown'),
  }
  const control = new AbortController()
  const call = { signal: control.signal, system: realSystem, print: { isJson: true } as never }
  const running = new JobLauncher({ runtime, target, types: ['scan'], most: 1, call }).run()
  await asked.promise
  control.abort()
  await running
  expect((await runtime.stats()).depth.batch).toBe(1)
})
