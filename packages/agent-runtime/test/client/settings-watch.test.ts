import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createClient, createRuntime, createWorker, defineTask } from '../../src/index.ts'
import { folder } from '../real-processes.ts'

/** A log that keeps what it is told about settings of the store. */
function log() {
  const said: (readonly [level: string, fields: object])[] = []
  let wake = () => undefined as void
  const keep = (level: string) => (fields: object, message: string) => {
    if (!/this setting of the store|the settings of this process/.test(message)) return
    said.push([level, fields])
    wake()
  }
  const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }
  const until = async (count: number) => {
    while (said.length < count) await new Promise<void>((resolve) => (wake = resolve))
    return said
  }
  return { logger, said, until }
}

const nothing = defineTask({ type: 'nothing', input: z.null() }, () => null)
const quiet = { tasks: [nothing], thread: false, telemetry: false, strict: false } as const

test('8.12 processes with other settings of the store log each of them, whoever came first', async () => {
  const store = `sqlite:${join(folder(), 'store.db')}`
  const [ofOld, ofRecent, ofSilent] = [log(), log(), log()]
  const config = { queueDepthLimit: 900, shares: { tierPolicy: 'weighted' } } as const
  await using old = await createRuntime({ store, ...quiet, config, logger: ofOld.logger })
  await using silent = await createClient({ store, thread: false, logger: ofSilent.logger })
  const recent = await createWorker({
    store,
    ...quiet,
    config: { queueDepthLimit: 800, agingMs: 5 },
    logger: ofRecent.logger,
  })
  const name = `${process.pid} on `
  expect(await ofRecent.until(3)).toMatchObject([
    [
      'warn',
      { setting: 'queueDepthLimit', here: '800', there: '900', process: expect.stringContaining(name) },
    ],
    ['warn', { setting: 'shares', there: expect.stringContaining('weighted') }],
    ['warn', { setting: 'agingMs', here: '5' }],
  ])
  expect(await ofOld.until(3)).toMatchObject([
    [
      'warn',
      { setting: 'queueDepthLimit', here: '900', inForce: '800', process: expect.stringContaining(name) },
    ],
    ['warn', { setting: 'shares', here: expect.stringContaining('weighted') }],
    ['warn', { setting: 'agingMs', inForce: '5' }],
  ])
  expect((await silent.stats()).configurations?.map(({ settings }) => settings.queueDepthLimit)).toEqual([
    800, 900,
  ])
  await recent.stop()
  // Nobody has other ones any more: those of the first process are in force again.
  expect((await ofOld.until(4))[3]).toEqual(['info', {}])
  expect([ofSilent.said, (await old.stats()).configurations?.length]).toEqual([[], 1])
})

test('8.12 6.6 retention of another process is in force here, too, for the passes and for prune', async () => {
  const store = `sqlite:${join(folder(), 'store.db')}`
  await using old = await createRuntime({ store, ...quiet, logger: false })
  await old.result(await old.submit(nothing, null))
  await expect(old.prune()).rejects.toMatchObject({ code: 'invalid_argument' })
  const retention = { completed: { count: 1 }, keysMs: 1, everyMs: 3_600_000 }
  await using keeper = await createRuntime({
    store,
    tasks: [],
    thread: false,
    workers: 0,
    telemetry: false,
    logger: false,
    config: { retention },
  })
  await old.result(await old.submit(nothing, null))
  // Whoever commits next has them.
  expect(await old.prune({ dryRun: true })).toMatchObject({ dryRun: true })
  expect((await keeper.stats()).configurations).toMatchObject([{ inForce: true, settings: { retention } }])
})
