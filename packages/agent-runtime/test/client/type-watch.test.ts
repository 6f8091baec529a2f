import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createClient, createRuntime, createWorker, defineContract, defineTask } from '../../src/index.ts'
import { folder } from '../real-processes.ts'

/** A log that resolves once so many warnings about task types have come. */
function warnings(count: number) {
  const said: object[] = []
  const all = Promise.withResolvers<readonly object[]>()
  const quiet = () => undefined
  const warn = (fields: object, message: string) => {
    if (!message.startsWith('a worker knows this task type differently')) return
    said.push(fields)
    if (said.length === count) all.resolve(said)
  }
  return { logger: { debug: quiet, info: quiet, warn, error: quiet }, said, all: all.promise }
}

const mail = { type: 'mail', input: z.object({ to: z.string() }) }

test('8.11 a client and a worker that know a task type differently say in which settings, when they start', async () => {
  const store = `sqlite:${join(folder(), 'store.db')}`
  const sent = defineTask({ ...mail, timeoutMs: 5_000, retry: { attempts: 3 } }, () => 'sent')
  await using worker = await createWorker({ store, tasks: [sent], thread: false, logger: false })
  const [row] = Object.keys(worker.pool.stats().workers)
  const ofClient = warnings(2)
  const other = defineContract({
    type: 'mail',
    input: z.object({ to: z.string(), cc: z.string() }),
    lane: 'batch',
  })
  await using client = await createClient({ store, tasks: [other], thread: false, logger: ofClient.logger })
  expect(client.info.kind).toBe('sqlite')
  expect(await ofClient.all).toMatchObject([
    { type: 'mail', setting: 'input', workerId: row },
    { type: 'mail', setting: 'lane', here: 'batch', there: 'normal', workerId: row },
  ])
  const ofRuntime = warnings(2)
  const again = defineTask({ ...mail, timeoutMs: 6_000, retry: { attempts: 3 }, model: 'big' }, () => 'sent')
  await using runtime = await createRuntime({
    store,
    tasks: [again],
    thread: false,
    logger: ofRuntime.logger,
  })
  expect(await ofRuntime.all).toMatchObject([
    { type: 'mail', setting: 'model', here: 'big' },
    { type: 'mail', setting: 'timeoutMs', here: '6000', there: '5000' },
  ])
  expect((await runtime.workers()).map(({ settings }) => settings?.['mail']?.['lane'])).toEqual([
    'normal',
    'normal',
  ])
})

test('8.11 a client that knows only the contract of a task type says nothing of what workers alone decide', async () => {
  const store = `sqlite:${join(folder(), 'store.db')}`
  const sent = defineTask({ ...mail, timeoutMs: 5_000, retry: { attempts: 3 } }, () => 'sent')
  await using worker = await createWorker({ store, tasks: [sent], thread: false, logger: false })
  expect(worker.info.kind).toBe('sqlite')
  const { logger, said } = warnings(1)
  await using client = await createClient({ store, tasks: [defineContract(mail)], thread: false, logger })
  // Reads of a process are answered in their order.
  await client.workers()
  await client.workers()
  expect(said).toEqual([])
})
