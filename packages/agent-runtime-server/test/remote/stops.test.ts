import { createWorker, defineTask, type StopOptions } from '@ku0/agent-runtime'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { systemEnvironment } from '../../../agent-runtime-persistence/src/system.ts'
import { quietLine, storeOverLine } from './memory-line.ts'

const { config } = parseExecutionConfig({
  drainGraceMs: 30_000,
  killGraceMs: 5_000,
  cleanupTimeoutMs: 10_000,
})

/** A worker over a line on time that the test moves, with a task that runs until its door opens. */
async function workerOverLine() {
  const { digest } = systemEnvironment()
  const environment = createVirtualEnvironment('stops', { digest })
  const { store, line, lines, behind } = await storeOverLine(config, environment)
  const [started, door] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const log: { readonly message: string; readonly left?: readonly string[]; readonly tasks?: number }[] = []
  const write = (fields: object, message: string) => void log.push({ message, ...fields })
  const task = defineTask({ type: 'held', input: z.null() }, () => {
    started.resolve()
    return door.promise
  })
  const worker = await createWorker({
    store,
    tasks: [task],
    config,
    environment,
    telemetry: false,
    logger: { debug: write, info: write, warn: write, error: write },
  })
  onTestFinished(async () => {
    void worker.stop()
    void worker.stop()
    await elapse(1_000)
    await behind.close()
  })
  /** Calls over a line that is dark are under way for ever. */
  const quiet = async () => {
    if (!lines.isDark) await quietLine({ line, lines })
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  const { clock } = environment
  const elapse = async (ms: number) => {
    const target = clock.now() + ms
    for (let next = clock.nextAt; next !== undefined && next <= target; next = clock.nextAt) {
      clock.advanceTo(next)
      if (clock.nextAt === next) clock.advanceBy(0.001)
      await quiet()
    }
    clock.advanceTo(target)
    await quiet()
  }
  const submit = async () => {
    await behind.write({ kind: 'submit', tasks: [{ type: 'held', lane: 'normal', input: 'null' }] })
    await started.promise
    await quiet()
  }
  /** Stops it, and says how long that took and how it ended. */
  const stop = async (options: StopOptions) => {
    const ended: { readonly afterMs: number; readonly report: object }[] = []
    const since = clock.now()
    void worker.stop(options).then((report) => ended.push({ afterMs: clock.now() - since, report }))
    for (let n = 0; n < 120 && ended.length === 0; n += 1) await elapse(500)
    return ended[0]
  }
  return { worker, lines, door, log, submit, stop, quiet, elapse }
}

const warning = 'the store did not answer in time, and the stop did not wait for it'

test('5.6 a worker whose server is gone stops within its grace times, and names what it left', async () => {
  const { lines, submit, stop, log } = await workerOverLine()
  await submit()
  lines.isDark = true
  const ended = await stop({})
  // The lease ended while it waited.
  expect(ended?.report).toEqual({ drained: false, released: 1 })
  expect(ended?.afterMs).toBeLessThanOrEqual(45_500)
  expect(log.at(-1)).toMatchObject({
    message: expect.stringContaining(warning),
    left: ['the removal of its workers'],
    tasks: 1,
  })
})

test('5.6 a worker stops in that time whose task has ended without an answer, or that is not to drain', async () => {
  const settling = await workerOverLine()
  await settling.submit()
  settling.lines.isDark = true
  settling.door.resolve()
  await settling.quiet()
  const first = await settling.stop({ graceMs: 2_000 })
  expect(first?.report).toEqual({ drained: false, released: 1 })
  expect(first?.afterMs).toBeLessThanOrEqual(17_500)

  const idle = await workerOverLine()
  idle.lines.isDark = true
  const second = await idle.stop({ drain: false })
  expect(second?.report).toEqual({ drained: true, released: 0 })
  expect(second?.afterMs).toBeLessThanOrEqual(15_500)
  expect(idle.log.at(-1)).toMatchObject({ message: expect.stringContaining(warning), tasks: 0 })
})

test('a server that comes back within the grace loses nothing of a stop', async () => {
  const { worker, lines, submit, door, elapse, log } = await workerOverLine()
  await submit()
  lines.isDark = true
  const stopped = worker.stop()
  await elapse(5_000)
  lines.isDark = false
  lines.cut()
  door.resolve()
  await elapse(5_000)
  expect(await stopped).toEqual({ drained: true, released: 0 })
  expect(log.filter(({ message }) => message.includes(warning))).toEqual([])
})
