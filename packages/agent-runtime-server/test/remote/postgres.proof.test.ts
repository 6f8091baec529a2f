import { createClient, createWorker, defineTask } from '@ku0/agent-runtime'
import { openStore } from '@ku0/agent-runtime-persistence'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { sharedServer } from '../../../agent-runtime-persistence/test/helpers/postgres-server.ts'
import { createServer, serve } from '../../src/index.ts'
import { callerOf } from '../served.ts'

/** A lease outlives a restart of the server, also on a busy machine. */
const config = { leaseTtlMs: 60_000, heartbeatIntervalMs: 1_000 }

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
  expect(await second.client.result(task, { timeoutMs: 200_000 })).toBe(3)
  expect(await second.client.status(task)).toMatchObject({ attempt: 1, crashes: 0 })
  expect(runs).toEqual([0, 1, 2])
  await worker.stop()
  await second.stop()
})

test('SEM9 a worker that speaks in requests runs durable steps and waits on PostgreSQL', async () => {
  const url = (await sharedServer()).newStore()
  const store = await openStore(url, { lines: true, config, checked: false })
  const client = await createClient({ store, config, logger: false })
  const server = createServer(client, { remoteWorkers: store })
  onTestFinished(async () => {
    await server.close()
    await client.close()
    await store.close()
  })
  const send = async (path: string, body: unknown) => callerOf(server)('POST', `/api/v1/workers${path}`, body)
  const { workerId } = (await send('', { types: ['greet'] })).json
  const claims = async () => (await send(`/${workerId}/claims`, { waitMs: 10_000 })).json.claims
  const { taskId } = await client.submit('greet', { name: 'Ann' })

  const [first] = await claims()
  const lease = `/${workerId}/leases/${first.leaseId}`
  const step = { as: 'completed', call: 1, key: 'text', position: 0, result: 'Hello Ann' }
  expect((await send(`${lease}/steps`, step)).json).toEqual({ recorded: true })
  const pause = { call: 2, waits: [{ kind: 'sleep', key: 'pause', position: 1, ms: 1 }] }
  expect((await send(`${lease}/waits`, pause)).json).toEqual({ suspended: true, resolved: [] })

  const [second] = await claims()
  expect(second.memos).toMatchObject({
    steps: [{ key: 'text', position: 0, result: 'Hello Ann' }],
    waits: [{ key: 'pause', kind: 'timer', outcome: 'fired' }],
  })
  const settle = { as: 'completed', call: 3, output: 'Hello Ann' }
  expect((await send(`/${workerId}/leases/${second.leaseId}/settle`, settle)).status).toBe(204)
  expect(await client.result(taskId)).toBe('Hello Ann')
})
