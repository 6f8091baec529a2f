import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, findStuck, type TaskContext } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const input = z.null()
const minute = 60_000

const hang = defineTask(
  { type: 'hang', input },
  (ctx) =>
    new Promise((_, reject) => {
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
    }),
)
const talk = defineTask({ type: 'talk', input }, (ctx) => ctx.waitForSignal('go'))

test('8.6 the watchdog reports a stuck task once, while it stays stuck', async () => {
  const { runtime, elapse } = await virtualRuntime({
    tasks: [hang, talk],
    workers: { types: ['hang'] },
    watchdog: { everyMs: minute, types: { hang: { runningMs: 3 * minute } } },
    config: { schedulerTickMs: 5_000 },
  })
  const found: string[] = []
  runtime.on('task.stuck', ({ taskId, data: { what, type, tasks, forMs, why } }) => {
    found.push(`${taskId} ${type} ${what} ${tasks} ${forMs} ${why}`)
  })
  await runtime.submit(hang, null, { taskId: 'h' })
  await elapse(3 * minute)
  expect(found).toEqual([])
  await elapse(minute)
  expect(found).toEqual([expect.stringMatching(/^h hang running 1 2400\d\d runs on /)])
  await runtime.submit(talk, null, { taskId: 't' })
  await elapse(10 * minute)
  expect(found.slice(1)).toEqual([
    expect.stringMatching(/^t talk no worker 1 \d+ no worker runs type talk; start one that runs it$/),
  ])
})

test('8.6 a task that reports its progress is not stuck, and is so once it falls silent', async () => {
  const begun = Promise.withResolvers<TaskContext>()
  const report = defineTask({ type: 'report', input }, (ctx) => {
    begun.resolve(ctx)
    return new Promise((_, reject) => {
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
    })
  })
  const { runtime, elapse } = await virtualRuntime({
    tasks: [report],
    watchdog: { everyMs: minute, runningMs: 2 * minute },
    config: { schedulerTickMs: 5_000 },
  })
  const found: string[] = []
  runtime.on('task.stuck', ({ data: { what, forMs } }) => {
    found.push(`${what} ${forMs}`)
  })
  await runtime.submit(report, null)
  const ctx = await begun.promise
  for (let reports = 0; reports < 4; reports += 1) {
    await elapse(minute)
    await ctx.heartbeat({ progress: 0.5 })
  }
  await elapse(2 * minute)
  expect(found).toEqual([])
  await elapse(minute)
  expect(found).toEqual([expect.stringMatching(/^running 1800\d\d$/)])
})

test('8.6 a warning of the log, without the reason, says it where nobody listens', async () => {
  const { runtime, log, elapse } = await virtualRuntime({
    tasks: [talk],
    workers: 0,
    watchdog: { everyMs: minute },
  })
  const { taskId } = await runtime.submit(talk, null)
  await elapse(2 * minute)
  expect(log.filter(({ message }) => message.startsWith('a task is stuck'))).toEqual([
    {
      level: 'warn',
      message: 'a task is stuck; runtime.explain or agent-runtime show says why',
      fields: { taskId, what: 'no worker', type: 'talk', tasks: 1, forMs: minute },
    },
  ])
})

test('8.6 nothing looks without the option, and findStuck refuses limits that are none', async () => {
  const { runtime, log, elapse } = await virtualRuntime({ tasks: [talk], workers: 0 })
  await runtime.submit(talk, null)
  await elapse(10 * minute)
  expect(log).toEqual([])
  expect(await findStuck(runtime)).toMatchObject({ ok: false, found: [{ what: 'no worker' }] })
  await expect(findStuck(runtime, { queuedMs: -1 })).rejects.toMatchObject({ code: 'invalid_argument' })
  await expect(findStuck(runtime, { types: { talk: { runs: 1 } as never } })).rejects.toThrow(
    "findStuck type 'talk' option runs: no such option",
  )
  await expect(virtualRuntime({ tasks: [talk], watchdog: { everyMs: 0 } })).rejects.toThrow('everyMs')
})
