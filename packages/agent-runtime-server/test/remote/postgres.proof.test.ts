import { createClient, createWorker, defineTask } from '@ku0/agent-runtime'
import { openStore } from '@ku0/agent-runtime-persistence'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { sharedServer } from '../../../agent-runtime-persistence/test/helpers/postgres-server.ts'
import { serve } from '../../src/index.ts'

const config = { leaseTtlMs: 10_000, heartbeatIntervalMs: 1_000 }

test('a store on PostgreSQL takes remote workers, which outlive a restart of the server', async () => {
  const url = (await sharedServer()).newStore()
  const runs: number[] = []
  const waiting = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  const count = defineTask({ type: 'count', input: z.object({ to: z.int() }) }, async (ctx, { to }) => {
    for (let n = 0; n < to; n++)
      await ctx.step(`${n}`, async () => {
        runs.push(n)
        if (n === 1) {
          going.resolve()
          await waiting.promise
        }
      })
    return to
  })

  const start = async (port: number) => {
    const store = await openStore(url, { lines: true, config, checked: false })
    const client = await createClient({ store, config, logger: false })
    const server = await serve(client, { port, remoteWorkers: store })
    const stop = async () => {
      await server.close()
      await client.close()
      await store.close()
    }
    return { client, server, stop }
  }
  const first = await start(0)
  const worker = await createWorker({
    store: first.server.url,
    tasks: [count],
    config,
    logger: false,
    telemetry: false,
  })
  onTestFinished(() => void worker.stop({ drain: false }))
  const task = await first.client.submit(count, { to: 3 })
  await going.promise
  await first.stop()
  waiting.resolve()
  const second = await start(first.server.port)
  expect(await second.client.result(task, { timeoutMs: 20_000 })).toBe(3)
  expect(await second.client.status(task)).toMatchObject({ attempt: 1, crashes: 0 })
  expect(runs).toEqual([0, 1, 2])
  await worker.stop()
  await second.stop()
})
